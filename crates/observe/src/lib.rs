//! System calls and loader activity of a start: for comparing a program before and after a change.
//!
//! Both need neither root nor other tools. Not obvious: a launch counts every new child of this process as its
//! program's, so only one start is observed at a time.

pub mod loader_log;
pub mod syscalls;
