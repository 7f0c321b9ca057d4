//! What verbs tell while they work: notes and errors as they come, the count of files on a terminal only.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use coldstart_app::observer::Observer;

use crate::error::{CliError, Complaints};
use crate::output;
use crate::output::charset::shows_utf_8;

/// A style in characters that the locale has.
pub(crate) fn progress_style(template: &str) -> Option<ProgressStyle> {
    let style = ProgressStyle::with_template(template).ok()?;
    Some(if shows_utf_8() { style } else { style.progress_chars("#>-").tick_chars("|/-\\ ") })
}

/// Shows on the terminal what a verb tells.
#[derive(Default)]
pub(crate) struct Console {
    bar: Mutex<Option<ProgressBar>>,
    complaints: Mutex<Complaints>,
}

impl Console {
    /// Whether errors were told.
    pub(crate) fn has_errors(&self) -> bool {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).count() > 0
    }

    /// The errors that were told.
    pub(crate) fn into_complaints(self) -> Complaints {
        self.complaints.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Console {
    fn begin(&self, total: Option<usize>) {
        let bar = match total {
            None => begin(None, "{spinner} {human_pos} files, {elapsed}"),
            Some(total) => begin(Some(total as u64), "{spinner} {human_pos} of {human_len} files, {elapsed}"),
        };
        *self.bar.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
    }

    fn step(&self) {
        if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            bar.inc(1);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.bar.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }

    fn error(&self, error: CliError) {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).add(error);
    }

    fn note(&self, text: &str) {
        output::note(text);
    }

    fn hint(&self, text: &str) {
        output::hint(text);
    }
}

fn begin(total: Option<u64>, template: &str) -> ProgressBar {
    let is_shown = std::io::stderr().is_terminal();
    let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(total, target);
    if let Some(style) = progress_style(template) {
        bar.set_style(style);
    }
    if is_shown {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    bar
}
