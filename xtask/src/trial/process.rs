//! Running a program for what it says, in a plain environment and with a limit in time.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};

/// Seconds after which a program counts as hanging.
const PATIENCE: &str = "300";

/// A command that is ended after a while, with an environment that is the same on each machine. `home` is for what the
/// program keeps of its user.
pub(super) fn command(home: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", PATIENCE]).arg(program);
    command
        .env_clear()
        .env("HOME", home)
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LANG", "C.UTF-8")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

/// What a program prints to stdout.
///
/// # Errors
/// When it cannot be started, or fails; with what it said.
pub(super) fn stdout(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    ensure!(output.status.success(), "{}", ending(&output));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How a program ends and all that it says, stdout first.
///
/// # Errors
/// When it cannot be started.
pub(super) fn said(command: &mut Command) -> Result<String> {
    Ok(ending(&output(command)?))
}

fn output(command: &mut Command) -> Result<Output> {
    command.output().with_context(|| format!("cannot start {command:?}"))
}

fn ending(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{stdout}{stderr}", output.status)
}

/// The text with each run of hexadecimal digits behind `0x` replaced: addresses differ from run to run.
pub(super) fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result.push_str("[ADDR]");
        result.push_str(part.trim_start_matches(|character: char| character.is_ascii_hexdigit()));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_addresses_are_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut shell = command(directory.path(), "sh");
        let said = said(shell.args(["-c", "echo at 0x7f00aBcd:; pwd >&2; exit 3"])).unwrap();
        let expected = format!("exit status: 3\nat [ADDR]:\n{}\n", directory.path().display());
        assert_eq!(without_addresses(&said), expected);
        assert!(stdout(command(directory.path(), "sh").args(["-c", "exit 3"])).is_err());
    }
}
