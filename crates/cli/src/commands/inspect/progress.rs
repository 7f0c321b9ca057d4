//! The count of files on long walks: on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Counts files. How many there will be is not known: the walk goes on meanwhile.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Begins to count.
    pub(super) fn new() -> Self {
        let is_shown = std::io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {human_pos} files, {elapsed}") {
            bar.set_style(style);
        }
        if is_shown {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar }
    }

    /// One more is looked at.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the count away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
