//! The counter of files or bytes in long work, on a terminal only.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::charset::shows_utf_8;

/// A style with characters of the locale.
pub(crate) fn progress_style(template: &str) -> Option<ProgressStyle> {
    let style = ProgressStyle::with_template(template).ok()?;
    Some(if shows_utf_8() { style } else { style.progress_chars("#>-").tick_chars("|/-\\ ") })
}

/// Begins to count files; `total` is `None` while a walk goes on.
pub(crate) fn counting(total: Option<usize>) -> ProgressBar {
    let template = match total {
        None => "{spinner} {human_pos} files, {elapsed}",
        Some(_) => "{spinner} {human_pos} of {human_len} files, {elapsed}",
    };
    shown(total.map(|total| total as u64), template)
}

/// Begins to count bytes.
pub(crate) fn counting_bytes(total: u64) -> ProgressBar {
    shown(Some(total), "{spinner} {decimal_bytes} of {decimal_total_bytes}, {elapsed}")
}

fn shown(total: Option<u64>, template: &str) -> ProgressBar {
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
