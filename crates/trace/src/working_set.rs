//! One recorded start: its working set.
//!
//! Names and page fills are recorded at the same time and joined by (device, inode) afterwards. Without fills
//! (no root, or a file system whose inode numbers differ from the tracepoint's, such as btrfs and overlayfs), the
//! pages resident at the end substitute for them: the same set after a cold start, without their order.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use coldstart_host::rights::AskedRights;
use coldstart_launch::{CommandLine, LaunchOptions, Launched, launch};
use coldstart_profile::{NameKind, NameUse, PageSource, WorkingSet};

use crate::files::{FileCollector, Span};
use crate::{NameFollower, NameLog, PageFillRecorder, SeenRequest, TraceError};

/// A recorded start.
#[derive(Debug)]
pub struct Recording {
    /// Its reads.
    pub working_set: WorkingSet,
    /// How the start went.
    pub launched: Launched,
    /// What was left out and why.
    pub notes: RecordingNotes,
}

/// Limits of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingNotes {
    /// Why page-cache fills could not be recorded; then pages come from residency, ordered by file only.
    pub no_fills: Option<String>,
    /// Events that did not fit the kernel's buffer.
    pub lost_events: u64,
    /// Pages that entered the page cache during the start, of files whose names were not seen: other programs' reads,
    /// and those of processes that our filter does not understand (32-bit code, io_uring).
    pub unnamed_pages: u64,
    /// Why a file system's metadata blocks are not in the working set, a sentence for each device.
    pub no_metadata: Vec<String>,
    /// Files whose residency cannot be trusted (not owned by the caller) and that are therefore left out.
    pub unknown_files: Vec<String>,
    /// Files that were opened or executed and that give rights to the programs in them (set-user-ID, set-group-ID, capabilities); also
    /// those that the caller may not read. Without root, they did not give them while they were observed.
    pub privileged_files: Vec<PathBuf>,
    /// Files that the program opened but that are memory-backed (tmpfs).
    pub memory_files: u64,
}

/// `CLOCK_MONOTONIC`, also the clock of page fills.
pub(crate) fn monotonic_now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// Starts a program, observes it until it is ready, ends it, and collects its reads.
///
/// For a cold start's working set the caller makes the caches cold first: previously resident pages appear only as far
/// as they follow from the opened files.
///
/// # Errors
/// See [`TraceError`]. A program that fails is not an error here: the recording says how it ended.
pub fn record_working_set(command: &CommandLine, options: &LaunchOptions) -> Result<Recording, TraceError> {
    let mut notes = RecordingNotes::default();
    let fills = PageFillRecorder::start().map_err(|error| notes.no_fills = Some(with_source(&error))).ok();

    let follower = NameFollower::start(NameLog::follow)?;
    let watch = |child: &mut std::process::Command| follower.watch(child);
    let started = SystemTime::now();
    let started_at = monotonic_now();
    let mut ready_at = None;
    let launched = launch(command, options, Some(&watch), &mut || ready_at = Some(monotonic_now()));
    let ended_at = monotonic_now();
    let names = follower.finish();
    let launched = launched?;
    let names = names?;

    let span = Span { started, from: started_at, to: ready_at.unwrap_or(ended_at) };
    let fills = match fills.map(PageFillRecorder::finish).transpose() {
        Ok(Some((fills, lost))) => {
            notes.lost_events = lost;
            Some(fills)
        }
        Ok(None) => None,
        Err(error) => {
            notes.no_fills = Some(with_source(&error));
            None
        }
    };
    let source = if fills.is_some() { PageSource::PageCacheFills } else { PageSource::Residency };
    let mut collector = FileCollector::new(span, fills, &mut notes).inside(options.mounts.as_deref());
    collector.add_opened(&names.names);
    collector.add_metadata();
    let mut command_words = vec![command.program.clone()];
    command_words.extend(command.arguments.iter().cloned());
    let working_set = WorkingSet {
        command: command_words,
        files: collector.finish(),
        names: name_uses(&names, span),
        source,
        duration: launched.ready_after.unwrap_or_else(|| ended_at.saturating_sub(started_at)),
    };
    notes.privileged_files = privileged_files(&names);
    Ok(Recording { working_set, launched, notes })
}

/// See [`RecordingNotes::privileged_files`].
fn privileged_files(log: &NameLog) -> Vec<PathBuf> {
    let content = log.names.iter().filter(|name| name.request == SeenRequest::Content);
    let files = content.filter_map(|name| name.file.as_ref()).filter(|file| file.is_regular);
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files.filter(|file| AskedRights::of(&file.real_path).is_ok_and(AskedRights::any)) {
        if !found.contains(&file.real_path) {
            found.push(file.real_path.clone());
        }
    }
    found
}

/// Names up to readiness; a name that was both looked up and listed counts as listed.
fn name_uses(log: &NameLog, span: Span) -> Vec<NameUse> {
    let listed: std::collections::HashSet<_> =
        log.names.iter().filter(|name| name.request == SeenRequest::Entries).map(|name| &name.path).collect();
    let mut known = std::collections::HashSet::new();
    log.names
        .iter()
        .filter(|name| name.at <= span.to && known.insert(&name.path))
        .map(|name| NameUse {
            path: name.path.clone(),
            kind: match &name.file {
                None => NameKind::Missing,
                Some(_) if listed.contains(&name.path) => NameKind::Listed,
                Some(_) => NameKind::Found,
            },
            at: name.at.saturating_sub(span.from),
        })
        .collect()
}

fn with_source(error: &TraceError) -> String {
    let source = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    format!("{error}{source}")
}
