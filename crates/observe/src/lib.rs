//! What a start asked of the kernel, and what its loader did by its own account: for comparing a program before and after a change.
//!
//! Both need neither root nor other tools. Not obvious: a launch takes each child of this process for its
//! program's, so one thing is observed at a time.

pub mod loader_log;
pub mod syscalls;
