//! System facilities of the bed, one file each.

pub(crate) mod fuse_connection;
pub(crate) mod interrupt;
pub(crate) mod loop_device;
pub(crate) mod mounts;
pub(crate) mod process;
pub(crate) mod queue;
pub(crate) mod users;
