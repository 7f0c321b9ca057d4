//! The commands, one file each.

pub(crate) mod down;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod up;
pub(crate) mod verify;
