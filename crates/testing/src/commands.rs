//! Other programs: whether they are there, what they print, and compilers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::output_of;

/// Whether a program can be started.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok()
}

/// Runs a command that has to succeed, and gives what it printed.
///
/// # Panics
/// When it cannot be started, or does not exit with 0.
#[track_caller]
pub fn succeed(command: &mut Command) -> String {
    let output = output_of(command);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a command prints, or why it did not succeed, which includes its messages.
///
/// # Errors
/// When it cannot be started, or does not exit with 0.
pub fn attempt(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Compiles a source to `path`, whose directory is made: C++ if the compiler's name ends with `++`, else C. The source is gone
/// afterwards.
///
/// # Panics
/// When it does not compile.
#[track_caller]
pub fn compile(compiler: &str, path: &Path, source: &str, options: &[&str]) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut source_path = path.as_os_str().to_owned();
    source_path.push(if compiler.ends_with("++") { ".cc" } else { ".c" });
    std::fs::write(&source_path, source).unwrap();
    succeed(Command::new(compiler).arg("-o").arg(path).arg(&source_path).args(options));
    std::fs::remove_file(&source_path).unwrap();
    path.to_owned()
}

/// Starts a command with its output thrown away, kills it (SIGKILL) after a while, and waits for its end. It may have ended by then.
///
/// # Panics
/// When it cannot be started.
#[track_caller]
pub fn kill_after(command: &mut Command, time: Duration) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A report's words with single spaces: where its lines break depends on how long the paths in it are.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
