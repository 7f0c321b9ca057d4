//! Becoming a program, for the verbs that are launchers.

use std::ffi::OsString;

use coldstart_sys::become_program::become_program;

use crate::commands::launching::not_started;
use crate::exit::Exit;

/// Becomes the program; returns if that is not possible.
pub(crate) fn become_the_program(words: &[OsString]) -> Exit {
    let Err(error) = become_program(words);
    not_started(words, &error)
}
