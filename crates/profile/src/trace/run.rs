//! The run of a trace: its command, its conditions, and the completeness of the recording.

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
    /// How its first process ended; [`Run::known_end`] tells whether that is known.
    pub end: RunEnd,
    /// The readiness condition, as on the command line.
    pub readiness: String,
    /// Events that were lost, because a buffer of the kernel was full.
    pub lost_events: u64,
    /// How often a thread was stopped for the recording.
    pub stops: u64,
    /// Total time that threads were stopped for the recording, in nanoseconds: a lower bound of its cost.
    pub stopped: u64,
    /// `uname -r`.
    pub kernel: String,
    /// Processors that may be used.
    pub processors: u32,
    /// Whether all that was recorded is in the file; `false` when the writing broke off (a full disk, an interrupt).
    pub complete: bool,
    /// Notes about the recording, a sentence each.
    pub notes: Vec<String>,
}

impl Run {
    /// The value of [`Run::readiness`] in a trace imported from perf.
    const READINESS_OF_IMPORTS: &str = "its end";

    /// How its first process came to its end; `None` where nobody knows: a recording of perf does not say it, and
    /// [`Run::end`] then says no more than whether the end was recorded.
    pub fn known_end(&self) -> Option<RunEnd> {
        (self.readiness != Self::READINESS_OF_IMPORTS).then_some(self.end)
    }

    /// When it was ready and how it ended, as people read it. `readiness` is [`Run::readiness`] made fit for where
    /// the words go, `time` writes times. No moment of readiness does not mean that it never was ready: recordings of
    /// perf do not say.
    pub fn outcome(&self, readiness: &str, time: impl Fn(Moment) -> String) -> String {
        let over = time(self.ended_at);
        let Some(end) = self.known_end() else {
            return match self.ready_at {
                Some(at) => format!("after {}, when it ended; how it ended is not known", time(at)),
                None => format!("not known: the recording was over before it ended, after {over}"),
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
    /// The kernel mapped up to 16 pages at once (fault-around), of which only the one that was asked for is seen.
    /// Since Linux 6.18 it may map a whole large folio where fault-around found nothing ready (`finish_fault` in
    /// `mm/memory.c`).
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
            Self::Signalled(signal) => format!("signal {signal} ended it"),
            Self::EndedWhenReady => "it was ended then".to_owned(),
            Self::TimedOut => "it was ended when its time was over".to_owned(),
            Self::Interrupted => "the recording was interrupted".to_owned(),
        }
    }
}
