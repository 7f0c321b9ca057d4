//! The count of files on long walks: on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::charset::shows_utf_8;

/// A style in characters that the locale has.
pub(crate) fn progress_style(template: &str) -> Option<ProgressStyle> {
    let style = ProgressStyle::with_template(template).ok()?;
    Some(if shows_utf_8() { style } else { style.progress_chars("#>-").tick_chars("|/-\\ ") })
}

/// Counts files.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins to count, while it is not known how many there will be: a walk goes on meanwhile.
    pub(crate) fn new() -> Self {
        Self::begin(None, "{spinner} {human_pos} files, {elapsed}")
    }

    /// Begins to count up to `total`.
    pub(crate) fn of(total: usize) -> Self {
        Self::begin(Some(total as u64), "{spinner} {human_pos} of {human_len} files, {elapsed}")
    }

    fn begin(total: Option<u64>, template: &str) -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        if let Some(style) = progress_style(template) {
            bar.set_style(style);
        }
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar }
    }

    /// One more is looked at.
    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the count away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
