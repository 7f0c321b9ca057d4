//! Every kernel facility coldstart uses, one file each, behind safe functions.

pub mod become_program;
pub mod block_device;
pub mod cachestat;
pub mod datagram;
pub mod detached;
pub mod drop_caches;
pub mod empty_process;
pub mod facility_error;
pub mod fault_recorder;
pub mod fiemap;
pub mod file_view;
mod guarded_ranges;
pub mod guardian;
pub mod held_pages;
pub mod memory_group;
pub mod mincore;
pub mod syscall_observer;
pub mod tracing;
pub mod wait;
pub mod write_back;
