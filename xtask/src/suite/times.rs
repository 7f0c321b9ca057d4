//! How long each test took the last time, so that the longest begin first.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::run::{Outcome, Test};
use crate::cargo::target_directory;

/// Seconds by `PACKAGE::BINARY::NAME`.
pub(super) struct Times {
    seconds: BTreeMap<String, f64>,
}

impl Times {
    /// Of the last run in this build directory; of none where there is no record.
    pub(super) fn read() -> Self {
        let text = place().and_then(|place| std::fs::read(place).ok());
        Self { seconds: text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default() }
    }

    /// The tests that took longest first, and before them those that have never run.
    pub(super) fn longest_first<'a>(&self, mut tests: Vec<Test<'a>>) -> Vec<Test<'a>> {
        let seconds = |test: &Test<'_>| self.seconds.get(&key(test)).copied().unwrap_or(f64::INFINITY);
        tests.sort_by(|one, other| seconds(other).total_cmp(&seconds(one)));
        tests
    }

    /// Takes in how long a test took.
    pub(super) fn note(&mut self, outcome: &Outcome<'_>) {
        self.seconds.insert(key(&outcome.test), Duration::as_secs_f64(&outcome.took));
    }

    /// Keeps them for the next run. It only makes that faster, so that nothing is said when it fails.
    pub(super) fn write(&self) {
        if let (Some(place), Ok(text)) = (place(), serde_json::to_vec(&self.seconds)) {
            let _ = std::fs::write(place, text);
        }
    }
}

fn key(test: &Test<'_>) -> String {
    format!("{}::{}::{}", test.binary.package, test.binary.name, test.name)
}

fn place() -> Option<PathBuf> {
    Some(target_directory().ok()?.join("test-times.json"))
}
