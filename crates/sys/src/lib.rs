//! Every kernel facility coldstart uses, one file each, behind safe functions.

pub mod detached;
pub mod syscall_observer;
