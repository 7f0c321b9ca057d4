//! Running a command that has to end: with a deadline, and with 2 GiB of address space.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of the commands takes on a machine with other work.
const DEADLINE: Duration = Duration::from_secs(120);
/// KiB of address space.
const ADDRESS_SPACE: &str = "2097152";

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// Which signal.
    pub(crate) signal: Option<i32>,
    /// What it said to stdout.
    pub(crate) stdout: String,
    /// What it said to stderr.
    pub(crate) stderr: String,
}

/// Runs `program` with `words` in `directory`, as user 65534 if `as_nobody`.
///
/// # Panics
/// When it has not ended by the deadline.
pub(crate) fn run(program: &Path, words: &[String], directory: &Path, as_nobody: bool) -> Ended {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", ADDRESS_SPACE]);
    if as_nobody {
        command.args(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    }
    let (mut stdout, mut stderr): (File, File) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command.arg(program).args(words).current_dir(directory).env("LC_ALL", "C").env_remove("COLDSTART_HISTORY");
    command.env_remove("LD_LIBRARY_PATH");
    command.env("HOME", directory).env_remove("XDG_DATA_HOME").stdin(Stdio::null());
    let mut child = command.stdout(stdout.try_clone().unwrap()).stderr(stderr.try_clone().unwrap()).spawn().unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > DEADLINE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{words:?}: has not ended after {DEADLINE:?}: {}", text(&mut stderr));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    Ended { code: status.code(), signal: status.signal(), stdout: text(&mut stdout), stderr: text(&mut stderr) }
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
