//! Programs that were written a moment ago.

use std::io::ErrorKind;
use std::process::{Command, Output};

/// Runs a command, whose program may have been written a moment ago: a child that another thread is just about to start has it
/// open until then.
pub(crate) fn output_of(command: &mut Command) -> Output {
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return output.unwrap(),
        }
    }
}
