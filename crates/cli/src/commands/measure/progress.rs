//! The progress bar: on a terminal only, and drawn between runs only.

use std::io::IsTerminal;

use coldstart_measure::{Event, Observer};
use indicatif::{ProgressBar, ProgressDrawTarget};

use crate::commands::progress::progress_style;

/// It has no timer thread, which could disturb a timed run.
#[derive(Default)]
pub(crate) struct Progress {
    /// Created before the first run.
    bar: Option<ProgressBar>,
    labels: Vec<String>,
}

fn begin(runs: usize) -> ProgressBar {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(runs as u64), target);
    if let Some(style) = progress_style("{bar:30} {pos}/{len} runs, {eta} left  {msg}") {
        bar.set_style(style);
    }
    bar
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Begin { runs, labels } = event {
            self.bar = Some(begin(runs));
            self.labels = labels.to_vec();
        }
        let Some(bar) = &self.bar else { return };
        match event {
            Event::Begin { .. } => {}
            Event::Next { command, state, is_warm_up, attempt, .. } => {
                let label = self.labels.get(command).map_or("", String::as_str);
                let why = match (is_warm_up, attempt) {
                    (true, _) => ", warming up".to_owned(),
                    (false, 1) => String::new(),
                    (false, attempt) => format!(", attempt {attempt}"),
                };
                bar.set_message(format!("{label} {state}{why}"));
            }
            Event::Done { settles_slot, .. } => bar.inc(u64::from(settles_slot)),
            Event::GaveUp { runs, .. } => bar.inc(u64::from(runs)),
            Event::Enough { runs, .. } => bar.inc(runs as u64),
            Event::End => bar.finish_and_clear(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Also after an interrupt: a remaining bar would mix with the next output.
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
