//! The text values of the data model's enumerations.
//!
//! Words instead of numbers, except in events, so that a query needs no table of codes. They are part of the format:
//! a word is never given another meaning.

use coldstart_profile::trace::{FileCategory, Known, Layer, LookupKind, PagesSeen, PhaseKind, RunEnd, StartState};

/// An enumeration that is stored as a word.
pub(crate) trait Word: Copy + Sized + 'static {
    /// All of them.
    const ALL: &'static [Self];

    /// Its word.
    fn word(self) -> &'static str;

    /// The choice of a word; `None` for words that are not known.
    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.word() == word)
    }
}

impl Word for FileCategory {
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for PhaseKind {
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for Layer {
    const ALL: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for Known {
    const ALL: &'static [Self] = &[Self::Exactly, Self::EndAtMost, Self::FromTouches];

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for LookupKind {
    const ALL: &'static [Self] = &[Self::Open, Self::List, Self::Ask];

    fn word(self) -> &'static str {
        self.name()
    }
}

impl Word for PagesSeen {
    const ALL: &'static [Self] = &[Self::Each, Self::FaultAround, Self::None];

    fn word(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::FaultAround => "fault-around",
            Self::None => "none",
        }
    }
}

impl Word for StartState {
    const ALL: &'static [Self] = &[Self::AsIs, Self::Cold, Self::FilesEvicted];

    fn word(self) -> &'static str {
        match self {
            Self::AsIs => "as-is",
            Self::Cold => "cold",
            Self::FilesEvicted => "files-evicted",
        }
    }
}

/// The word of an end and the number that belongs to it.
pub(crate) fn run_end(end: RunEnd) -> (&'static str, Option<i32>) {
    match end {
        RunEnd::Exited(code) => ("exited", Some(code)),
        RunEnd::Signalled(signal) => ("signalled", Some(signal)),
        RunEnd::EndedWhenReady => ("ended-when-ready", None),
        RunEnd::TimedOut => ("timed-out", None),
        RunEnd::Interrupted => ("interrupted", None),
    }
}

/// The other way round; `None` for words that are not known, and where the number is missing.
pub(crate) fn run_end_of(word: &str, number: Option<i32>) -> Option<RunEnd> {
    Some(match (word, number) {
        ("exited", Some(code)) => RunEnd::Exited(code),
        ("signalled", Some(signal)) => RunEnd::Signalled(signal),
        ("ended-when-ready", None) => RunEnd::EndedWhenReady,
        ("timed-out", None) => RunEnd::TimedOut,
        ("interrupted", None) => RunEnd::Interrupted,
        _ => return None,
    })
}

/// Layers, divided by commas.
pub(crate) fn layers(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.word()).collect::<Vec<_>>().join(",")
}

/// The other way round; `None` for words that are not known.
pub(crate) fn layers_of(words: &str) -> Option<Vec<Layer>> {
    words.split(',').filter(|word| !word.is_empty()).map(Layer::of).collect()
}
