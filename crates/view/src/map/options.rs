//! Display options of a map.

use coldstart_profile::trace::{FileId, Moment, Trace};

/// How a map is to look.
#[derive(Clone, Copy, Debug)]
pub struct MapOptions<'trace> {
    /// In points; kept within [`MapOptions::WIDTHS`].
    pub width: u32,
    /// In points; kept within [`MapOptions::HEIGHTS`].
    pub height: u32,
    /// Dark or light.
    pub theme: Theme,
    /// What to call the trace where two are shown: its file's name, say.
    pub label: Option<&'trace str>,
    /// A second start to draw over the first.
    pub other: Option<Overlay<'trace>>,
    /// The stretch of time that is shown; `None`: from the launch to the end of what happened.
    pub time: Option<(Moment, Moment)>,
}

/// A second start, drawn hollow over the first.
#[derive(Clone, Copy, Debug)]
pub struct Overlay<'trace> {
    /// Its trace.
    pub trace: &'trace Trace,
    /// The same object there.
    pub file: FileId,
    /// What to call it.
    pub label: Option<&'trace str>,
}

/// Dark or light.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white, as papers want it.
    #[default]
    Light,
    /// Light on black.
    Dark,
}

impl MapOptions<'_> {
    /// Narrower, the labels at the sides leave no room for the map.
    pub const WIDTHS: (u32, u32) = (720, 4096);
    /// Lower, the legend leaves no room for it.
    pub const HEIGHTS: (u32, u32) = (480, 4096);
}

impl Default for MapOptions<'_> {
    fn default() -> Self {
        Self { width: 1280, height: 800, theme: Theme::default(), label: None, other: None, time: None }
    }
}
