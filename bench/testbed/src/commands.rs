//! What each command does, one file a command.

pub(crate) mod down;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod up;
pub(crate) mod verify;
