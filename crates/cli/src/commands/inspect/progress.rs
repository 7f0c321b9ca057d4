//! The progress bar of long walks: on a terminal only.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A walk of fewer files is over before a bar would be read.
const LONG_WALK: u64 = 50;

/// Counts files.
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar for this many files; 0 when the number is not known before.
    pub(super) fn new(files: u64) -> Self {
        let is_shown = std::io::stderr().is_terminal() && (files == 0 || files >= LONG_WALK);
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target((files > 0).then_some(files), target);
        let template = if files > 0 { "{bar:30} {pos}/{len} files, {eta} left" } else { "{pos} files" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// One more is done.
    pub(super) fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
