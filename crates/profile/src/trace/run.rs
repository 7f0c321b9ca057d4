//! The run of a trace: command, options, and limits.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::Moment;

/// Facts about the run as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// When it was launched: seconds since 1970-01-01 UTC.
    pub started: i64,
    /// What was recorded.
    pub layers: Vec<Layer>,
    /// How complete the page touches are; the worst of all processes.
    pub pages: PagesSeen,
    /// The caches before the launch.
    pub state: StartState,
    /// When it was ready; `None` if it never was.
    pub ready_at: Option<Moment>,
    /// When its first process had ended, or the recording was over.
    pub ended_at: Moment,
    /// How its first process ended; [`Run::known_end`] returns whether that is known.
    pub end: RunEnd,
    /// The readiness condition, as on the command line.
    pub readiness: String,
    /// Events that were lost, because a buffer of the kernel was full.
    pub lost_events: u64,
    /// How often a thread was stopped for the recording.
    pub stops: u64,
    /// How long threads were stopped for the recording, all together, in nanoseconds: a lower bound of its overhead.
    pub stopped: u64,
    /// `uname -r`.
    pub kernel: String,
    /// Processors that may be used.
    pub processors: u32,
    /// Whether the file is complete; `false` when writing it failed (a full disk, an interrupt).
    pub complete: bool,
    /// Notes on the recording, a sentence each.
    pub notes: Vec<String>,
}

impl Run {
    /// The value of [`Run::readiness`] of a trace imported from perf.
    const READINESS_OF_IMPORTS: &str = "its end";

    /// How its first process ended; `None` if unknown: recordings of perf do not contain it, and
    /// [`Run::end`] then only shows whether the end was recorded.
    pub fn known_end(&self) -> Option<RunEnd> {
        (self.readiness != Self::READINESS_OF_IMPORTS).then_some(self.end)
    }

    /// When it was ready and how it ended, for display. `readiness` is [`Run::readiness`] prepared for the output,
    /// `time` formats times. Without a time of readiness it may still have been ready: recordings of perf do not contain it.
    pub fn outcome(&self, readiness: &str, time: impl Fn(Moment) -> String) -> String {
        let over = time(self.ended_at);
        let Some(end) = self.known_end() else {
            return match self.ready_at {
                Some(at) => format!("after {}, when it ended; how it ended is unknown", time(at)),
                None => format!("unknown: the recording was over before it ended, after {over}"),
            };
        };
        let how = end.words();
        match self.ready_at {
            Some(at) if self.readiness == "exit" => format!("after {}, when it ended; {how}", time(at)),
            Some(at) => format!("after {} ({readiness}); {how}, after {over}", time(at)),
            None => format!("never ({readiness}); {how}, after {over}"),
        }
    }
}

/// A kind of recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Stages of the loader, initialisers, main, ready.
    Phases,
    /// First touches of file pages.
    Pages,
    /// First calls of functions.
    Functions,
    /// Names looked up, reads, what came from the disk.
    Files,
}

impl Layer {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Phases, Self::Pages, Self::Functions, Self::Files];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Phases => "phases",
            Self::Pages => "pages",
            Self::Functions => "functions",
            Self::Files => "files",
        }
    }
}

/// How complete the page touches are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PagesSeen {
    /// Each page's first touch: fault-around was off for all private file mappings.
    Each,
    /// The kernel mapped up to 16 pages at once (fault-around), of which only the requested one is seen. Since Linux 6.18 it may map
    /// a whole large folio where fault-around found no mapped page (`finish_fault` in `mm/memory.c`).
    FaultAround,
    /// Not recorded.
    #[default]
    None,
}

/// The caches before the launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartState {
    /// As they happened to be.
    #[default]
    AsIs,
    /// Page cache, dentries and inodes dropped.
    Cold,
    /// The program's own files evicted, without root.
    FilesEvicted,
}

impl StartState {
    /// As people read it.
    pub fn words(self) -> &'static str {
        match self {
            Self::AsIs => "the caches as they were",
            Self::Cold => "from cold caches",
            Self::FilesEvicted => "with its own files evicted",
        }
    }
}

/// How the first process came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal that we did not send.
    Signalled(i32),
    /// By us, after it was ready.
    #[default]
    EndedWhenReady,
    /// By us, because it was not ready within the limit.
    TimedOut,
    /// By us, because we were interrupted.
    Interrupted,
}

impl RunEnd {
    /// As people read it.
    pub fn words(self) -> String {
        match self {
            Self::Exited(code) => format!("it exited with code {code}"),
            Self::Signalled(signal) => format!("signal {signal} killed it"),
            Self::EndedWhenReady => "it was ended then".to_owned(),
            Self::TimedOut => "it was ended at its time limit".to_owned(),
            Self::Interrupted => "the recording was interrupted".to_owned(),
        }
    }
}
