//! What is said of a run: failures at once and again at the end, tests that were skipped, the slowest ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::run::Outcome;

/// How many of the slowest tests are named.
const SLOWEST: usize = 10;

/// The run so far.
pub(super) struct Report {
    begun: Instant,
    total: usize,
    passed: usize,
    /// Names and reasons.
    failed: Vec<(String, String)>,
    /// Tests that said why they do nothing here.
    skipped: Vec<(String, String)>,
    times: Vec<(Duration, String)>,
    /// How many tests there are of a binary of unit tests, or in a module of integration tests, and their time.
    groups: BTreeMap<String, (usize, Duration)>,
}

impl Report {
    pub(super) fn begin(total: usize) -> Self {
        println!("running {total} tests, each in a process of its own");
        Self {
            begun: Instant::now(),
            total,
            passed: 0,
            failed: Vec::new(),
            skipped: Vec::new(),
            times: Vec::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Takes in how a test went; says so if it failed.
    pub(super) fn add(&mut self, outcome: Outcome<'_>) {
        let binary = format!("{}::{}", outcome.test.binary.package, outcome.test.binary.name);
        let name = format!("{binary}::{}", outcome.test.name);
        let group = outcome.test.module().map_or(binary.clone(), |module| format!("{binary}::{module}"));
        let sums = self.groups.entry(group).or_default();
        *sums = (sums.0.saturating_add(1), sums.1.saturating_add(outcome.took));
        if let Some(reason) = outcome.failure {
            println!("\nFAILED {name}: {reason}\n{}\n", outcome.output.trim_end());
            self.failed.push((name.clone(), reason));
        } else {
            self.passed = self.passed.saturating_add(1);
            let skips = outcome.output.lines().filter_map(skipped);
            self.skipped.extend(skips.map(|reason| (name.clone(), reason.to_owned())));
        }
        self.times.push((outcome.took, name));
    }

    /// Says all that is left to say; the number of tests that failed.
    pub(super) fn finish(mut self) -> usize {
        for (group, (count, took)) in &self.groups {
            println!("{:8.1} s  {count:4} tests  {group}", took.as_secs_f64());
        }
        self.times.sort_by_key(|(took, _)| std::cmp::Reverse(*took));
        println!("\nslowest:");
        for (took, name) in self.times.iter().take(SLOWEST) {
            println!("{:8.1} s  {name}", took.as_secs_f64());
        }
        for (name, reason) in &self.skipped {
            println!("skipped {name}: {reason}");
        }
        let not_run = self.total.saturating_sub(self.passed).saturating_sub(self.failed.len());
        println!(
            "\n{} passed, {} failed, {} said that they skip something, {not_run} not run; {:.0} s",
            self.passed,
            self.failed.len(),
            self.skipped.len(),
            self.begun.elapsed().as_secs_f64()
        );
        for (name, reason) in &self.failed {
            println!("FAILED {name}: {reason}");
        }
        self.failed.len()
    }
}
/// Why a test says that it skips something, if this line says so: alone, or behind the test's name.
fn skipped(line: &str) -> Option<&str> {
    let (before, reason) = line.split_once("skipped: ")?;
    (before.trim().is_empty() || before.ends_with(" ... ")).then_some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_found_alone_and_behind_a_name() {
        assert_eq!(skipped("skipped: no gcc"), Some("no gcc"));
        assert_eq!(skipped("test it::a ... skipped: no gcc"), Some("no gcc"));
        assert_eq!(skipped("note: 1 file skipped: it is a link"), None);
    }
}
