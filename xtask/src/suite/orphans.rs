//! Processes that outlive the test that started them come to us, as the nearest subreaper, and are reaped at once.
//!
//! Init would do so, too, but in its own time: a test that forks thousands of times uses up the process numbers of a machine whose
//! init is slow, and then no test can fork.

use std::process::Command;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, wait};

/// Set for the runner that has a reaper above it.
const REAPED: &str = "COLDSTART_SUITE_REAPED";

/// Whether a process above this one reaps orphans.
pub(crate) fn are_reaped() -> bool {
    std::env::var_os(REAPED).is_some()
}

/// Runs this same command once more and reaps orphans until it has ended.
///
/// # Errors
/// When it cannot be started, or fails.
pub(crate) fn reap_beside_the_same_command() -> Result<()> {
    set_child_subreaper(Some(getpid())).context("cannot take over orphans")?;
    let mut command = Command::new(std::env::current_exe()?);
    let runner = command.args(std::env::args_os().skip(1)).env(REAPED, "1").spawn()?;
    let runner = Pid::from_child(&runner);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((process, status))) if process == runner => {
                return if status.exit_status() == Some(0) { Ok(()) } else { bail!("the tests have failed") };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for the tests"),
        }
    }
}
