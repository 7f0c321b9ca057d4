//! One start of the program, with the files it asked for and what it printed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_host::descriptor;
use coldstart_launch::{CommandLine, End, LaunchOptions, Output, launch};
use coldstart_trace::{NameFollower, NameLog, SeenRequest};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::error::AppError;
use crate::speedup::sameness::Start;

/// A start that was watched.
pub(crate) struct ObservedStart {
    /// How it ended, and what it printed.
    pub(crate) start: Start,
    /// Whether it counts as a start: it became ready, whatever its exit code.
    pub(crate) is_ready: bool,
    /// Real paths of regular files that were opened for reading or executed.
    pub(crate) opened: BTreeSet<PathBuf>,
    /// Names that were asked for, as the program spelled them, in the order of their first use.
    pub(crate) asked: Vec<PathBuf>,
    /// Number of calls that named a file.
    pub(crate) calls: u64,
    /// Of these, those that found nothing, or asked again for what had been asked already.
    pub(crate) vain: u64,
    /// Directories in which a look-up failed, and those that were listed.
    pub(crate) searched: BTreeSet<PathBuf>,
}

/// Starts the program with more variables, and watches it.
///
/// # Errors
/// If it cannot be started or watched, or was interrupted.
pub(crate) fn observed(
    command: &CommandLine,
    options: &LaunchOptions,
    environment: &[(OsString, Option<OsString>)],
) -> Result<ObservedStart, AppError> {
    // In memory: it needs no writable directory, and a kill leaves nothing.
    let kept = memfd_create("output", MemfdFlags::CLOEXEC)
        .map_err(io::Error::from)
        .context("cannot keep the program's output for comparison")?;
    let mut options = LaunchOptions { output: Output::File(descriptor::path(&kept)), ..options.clone() };
    options.environment.extend_from_slice(environment);
    let follower = NameFollower::start(NameLog::follow)?;
    let watch = |child: &mut std::process::Command| follower.watch(child);
    let launched = launch(command, &options, Some(&watch), &mut || {});
    let names = follower.finish();
    let launched = launched?;
    let names = names?;
    let output = std::fs::read(descriptor::path(&kept)).context("cannot read the program's output back")?;
    let was_cut = matches!(launched.end, End::Ended | End::TimedOut);
    let opened = names.names.iter().filter(|name| name.request == SeenRequest::Content);
    let opened = opened.filter_map(|name| name.file.as_ref()).filter(|file| file.is_regular);
    Ok(ObservedStart {
        start: Start { end: launched.end.to_string(), output, was_cut, check: None },
        is_ready: launched.ready_after.is_some(),
        vain: (names.names.iter().filter(|name| name.failed).count() as u64).saturating_add(names.repeats),
        searched: {
            let failed = names.names.iter().filter(|name| name.failed).filter_map(|name| name.path.parent());
            let listed =
                names.names.iter().filter(|name| name.request == SeenRequest::Entries).map(|name| name.path.as_path());
            failed.chain(listed).map(Path::to_owned).collect()
        },
        opened: opened.map(|file| file.real_path.clone()).collect(),
        calls: (names.names.len() as u64).saturating_add(names.repeats),
        asked: names.names.into_iter().map(|name| name.path).collect(),
    })
}
