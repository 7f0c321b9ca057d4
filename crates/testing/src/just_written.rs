//! Programs that a test has just written, and starts.
//!
//! A child that another thread is just about to start has every descriptor of ours open until then, and what is open for writing
//! cannot be started (`ETXTBSY`). So another process writes them, or the start is tried again.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Copies a program; the copy can be started at once.
///
/// # Panics
/// When it cannot be copied.
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    assert!(Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status().unwrap().success());
}

/// Copies the test's own program to `to`, where every user may start it.
///
/// # Panics
/// When it cannot be copied.
#[track_caller]
pub fn copy_this_program(to: &Path) {
    copy_program(std::env::current_exe().unwrap(), to);
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A file with this content and mode; if it is a program, it can be started at once.
///
/// # Panics
/// When it cannot be written.
#[track_caller]
pub fn script(directory: &Path, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
    let path = directory.join(name);
    let mut tee = Command::new("tee").arg(&path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    tee.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
    assert!(tee.wait().unwrap().success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Runs a command whose program may have been written a moment ago.
///
/// # Panics
/// When it cannot be started.
#[track_caller]
pub fn output_of(command: &mut Command) -> Output {
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return output.unwrap(),
        }
    }
}
