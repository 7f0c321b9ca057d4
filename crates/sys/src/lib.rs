//! Every kernel facility coldstart uses, one file each, behind safe functions.

pub mod become_program;
pub mod beside;
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
pub mod huge_pages;
pub mod memory_group;
pub mod mincore;
pub mod stop_filter;
pub mod syscall_observer;
pub mod time_stamp;
pub mod tracing;
pub mod userfault;
pub mod wait;
pub mod wake_latency;
pub mod write_back;
