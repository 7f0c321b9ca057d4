//! Launching a traced program.
//!
//! The launch is the same as for a measurement: it detects readiness and ends the whole tree. The ptrace tracer is another
//! process, which the launch does not count as the program's, because it is started before.

use std::cell::{Cell, RefCell};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use coldstart_analyse::Recorded;
use coldstart_launch::{CommandLine, End, LaunchError, LaunchOptions, Launched, launch};
use coldstart_profile::trace::{Moment, RunEnd};
use coldstart_sys::beside::{Worker, start_worker};
use coldstart_sys::huge_pages::{SmallPages, map_files_by_small_pages};
use coldstart_sys::stop_filter::stop_at_filtered_calls;
use coldstart_sys::time_stamp::monotonic_nanoseconds;
use coldstart_sys::tracing::traced;

use super::follow::{FollowOptions, Followed, follow};
use crate::TraceError;

/// How long the tracer may take at readiness to fetch the recorded times from the program.
const FETCH_LIMIT: Duration = Duration::from_secs(2);

/// The note for [`SmallPages::NotHere`].
const HUGE_PAGES: &str = "Where a file is cached in folios of 2 MiB, one touch may stand for a whole folio: huge pages are enabled for all \
                          programs (`/sys/kernel/mm/transparent_hugepage/enabled`), so the program keeps them";

/// A traced start.
pub(super) struct FollowedStart {
    pub(super) ending: Ending,
    pub(super) followed: Followed,
    /// `CLOCK_MONOTONIC` in nanoseconds when the program's process was resumed for its first `execve`.
    pub(super) launched_at: u64,
    /// When it was ready, or ended without ever being so.
    pub(super) until: u64,
}

/// How a start ended.
pub(super) enum Ending {
    /// As launches do.
    Launched(Box<Launched>),
    /// We were interrupted by this signal.
    Interrupted(i32),
}

impl FollowedStart {
    /// How it ended, as the trace says it.
    pub(super) fn end(&self) -> RunEnd {
        match &self.ending {
            Ending::Interrupted(_) => RunEnd::Interrupted,
            Ending::Launched(launched) => match launched.end {
                End::Exited(code) => RunEnd::Exited(code),
                End::Signalled(signal) => RunEnd::Signalled(signal),
                End::Ended => RunEnd::EndedWhenReady,
                End::TimedOut => RunEnd::TimedOut,
            },
        }
    }

    /// The input of the analysis.
    pub(super) fn recorded(&self) -> Recorded<'_> {
        Recorded {
            records: &self.followed.records,
            notes: &self.followed.notes,
            launched_at: self.launched_at,
            until: self.until,
            first: self.followed.first,
        }
    }

    /// A time of the monotonic clock, in nanoseconds, as a moment of the start.
    pub(super) fn moment(&self, monotonic: u64) -> Moment {
        Moment(monotonic.saturating_sub(self.launched_at))
    }
}

/// Changes the command before the filters of ours are added (another observer, say); and what is done when the follower is there.
pub(super) type Setup<'a> = (&'a dyn Fn(&mut std::process::Command), &'a dyn Fn());

/// The tracer's result; a reason where it cannot be sent.
fn sent(followed: &Followed) -> Vec<u8> {
    let unsendable = |error| {
        let trouble = Some(format!("the records could not be sent: {error}"));
        postcard::to_stdvec(&Followed { trouble, ..Followed::default() }).unwrap_or_default()
    };
    postcard::to_stdvec(followed).unwrap_or_else(unsendable)
}

/// Launches a program, traces it until it is ready, and ends it.
pub(super) fn follow_start(
    command: &CommandLine,
    launch_options: &LaunchOptions,
    options: FollowOptions,
    setup: Option<Setup<'_>>,
) -> Result<FollowedStart, TraceError> {
    let worker: RefCell<Option<std::io::Result<Worker>>> = RefCell::new(None);
    let options = RefCell::new(Some(options));
    let small_pages = Cell::new(SmallPages::Always);
    let prepare = |child: &mut std::process::Command| {
        if let Some((change, _)) = setup {
            change(child);
        }
        let Some(options) = options.borrow_mut().take() else { return };
        if options.each_page {
            small_pages.set(map_files_by_small_pages(child));
        }
        stop_at_filtered_calls(child);
        let started = traced(child).and_then(|pending| {
            start_worker(&[pending.as_fd().as_raw_fd()], move |line| sent(&follow(pending, options, line)))
        });
        *worker.borrow_mut() = Some(started);
        if let Some((_, prepared)) = setup {
            prepared();
        }
    };
    let mut ready_at = None;
    let launched = launch(command, launch_options, Some(&prepare), &mut || {
        ready_at = Some(monotonic_nanoseconds());
        if let Some(Ok(worker)) = &*worker.borrow() {
            worker.nudge(FETCH_LIMIT);
        }
    });
    let until = ready_at.unwrap_or_else(monotonic_nanoseconds);
    // Without it the child did not begin either, and the launch does not know why.
    let worker = worker.into_inner().transpose().map_err(|source| TraceError::NoFollower { source })?;
    let bytes = match worker.map(Worker::result) {
        // The launch's error is the cause of the tracer's.
        Some(Err(source)) if launched.is_ok() => return Err(TraceError::Follower { source }),
        Some(Ok(bytes)) => bytes,
        _ => Vec::new(),
    };
    let followed: Result<Followed, _> = postcard::from_bytes(&bytes);
    let ending = match (launched, &followed) {
        (Ok(launched), _) => Ending::Launched(Box::new(launched)),
        (Err(LaunchError::Interrupted { signal }), Ok(_)) => Ending::Interrupted(signal),
        // The tracer knows why it did not let the program begin; the launch only knows that it did not.
        (Err(_), Ok(Followed { trouble: Some(reason), .. })) => {
            return Err(TraceError::NotFollowed { reason: reason.clone() });
        }
        (Err(error), _) => return Err(error.into()),
    };
    let mut followed =
        followed.map_err(|error| TraceError::Follower { source: std::io::Error::other(error.to_string()) })?;
    if small_pages.get() == SmallPages::NotHere {
        followed.record_limits.push(HUGE_PAGES.to_owned());
    }
    match followed.trouble {
        // Before there was a program to follow.
        None if followed.began_at == 0 => match ending {
            Ending::Interrupted(signal) => Err(LaunchError::Interrupted { signal }.into()),
            Ending::Launched(_) => Err(TraceError::NotFollowed { reason: "it ended before it began".to_owned() }),
        },
        Some(reason) => Err(TraceError::NotFollowed { reason }),
        None => Ok(FollowedStart { ending, launched_at: followed.began_at, followed, until }),
    }
}
