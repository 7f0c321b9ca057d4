//! Becoming a program, for the verbs that are launchers.

use std::ffi::OsString;
use std::path::Path;

use coldstart_sys::become_program::become_program;

use crate::exit::Exit;
use crate::output::{self, path::printable};

/// Codes 127 (not found) and 126 (found, not started) are those of the shell, `env` and `timeout`, so that scripts can
/// distinguish a launcher's failure from the program's own codes.
pub(crate) fn become_the_program(words: &[OsString]) -> Exit {
    let Err(error) = become_program(words);
    let program = words.first().map(|word| printable(Path::new(word))).unwrap_or_default();
    output::complain(&output::style::ERROR, "error", &format!("cannot start `{program}`: {error}"));
    match error.kind() {
        std::io::ErrorKind::NotFound => Exit::ProgramNotFound,
        _ => Exit::ProgramNotStarted,
    }
}
