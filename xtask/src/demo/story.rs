//! What was measured: the parts of the answers of `coldstart speedup` and `coldstart measure` that the demonstration shows.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

/// One disk's figures: the plain start, and the best of those with coldstart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Story {
    /// Seconds of a start before, cold.
    pub(super) before: f64,
    /// Seconds with coldstart, cold.
    pub(super) after: f64,
    /// Seconds with everything in memory.
    pub(super) hot: Option<f64>,
    /// What may be claimed.
    pub(super) verdict: Verdict,
    /// Whether all caches were dropped before, or else only the program's files.
    pub(super) is_cold: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    Faster,
    Slower,
    #[serde(other)]
    NotShown,
}

/// A fix of `coldstart speedup`: the command 1 and following of its measurement.
#[derive(Deserialize)]
struct Fix {
    proven: bool,
}

#[derive(Deserialize)]
struct Measurement {
    summaries: Vec<Summary>,
    comparisons: Vec<Comparison>,
}

#[derive(Deserialize)]
struct Summary {
    command: usize,
    state: String,
    median: Option<f64>,
}

#[derive(Deserialize)]
struct Comparison {
    command: usize,
    state: String,
    verdict: Verdict,
}

impl Story {
    /// From `coldstart speedup --json`, with the fixes that are proven only: nobody may use another one.
    ///
    /// # Errors
    /// When no start was measured, or no fix is proven.
    pub(super) fn of_speedup(answer: &Value) -> Result<Self> {
        let fixes = answer.get("fixes").context("`coldstart speedup` printed no fixes")?;
        let fixes = Vec::<Fix>::deserialize(fixes).context("coldstart printed something else than fixes")?;
        ensure!(fixes.iter().any(|fix| fix.proven), "no fix is proven to leave the program as it is");
        let measurement = answer.get("measurement").context("`coldstart speedup` printed no measurement")?;
        Self::of(measurement, |command| {
            command.checked_sub(1).and_then(|at| fixes.get(at)).is_some_and(|fix| fix.proven)
        })
    }

    /// From `coldstart measure --json`.
    ///
    /// # Errors
    /// When no start was measured.
    pub(super) fn of_measurement(answer: &Value) -> Result<Self> {
        Self::of(answer, |_| true)
    }

    /// The best of the commands that `counts`, against the first.
    fn of(answer: &Value, counts: impl Fn(usize) -> bool) -> Result<Self> {
        let measurement =
            Measurement::deserialize(answer).context("coldstart printed something else than a measurement")?;
        let median = |command, hot| {
            let summaries = measurement.summaries.iter();
            let mut of_command = summaries.filter(|found| found.command == command && (found.state == "hot") == hot);
            of_command.find_map(|found| found.median)
        };
        let commands = measurement
            .summaries
            .iter()
            .map(|summary| summary.command)
            .filter(|&command| command != 0 && counts(command));
        let best = commands.filter_map(|command| Some((command, median(command, false)?)));
        let (best, after) = best.min_by(|one, other| one.1.total_cmp(&other.1)).context("no start was measured")?;
        let mut comparisons = measurement.comparisons.iter();
        let comparison = comparisons.find(|found| found.command == best && found.state != "hot");
        Ok(Self {
            before: median(0, false).context("no plain start was measured")?,
            after,
            hot: median(0, true),
            verdict: comparison.map_or(Verdict::NotShown, |found| found.verdict),
            is_cold: measurement.summaries.iter().any(|found| found.state == "cold"),
        })
    }

    /// How many times as fast the start is.
    pub(super) fn times(&self) -> f64 {
        self.before / self.after
    }

    /// A row: before, after, hot, and the comparison.
    pub(super) fn row(&self) -> String {
        let hot = self.hot.map_or_else(|| "-".to_owned(), seconds);
        let compared = match self.verdict {
            Verdict::Faster => format!("{:.1} times as fast", self.times()),
            Verdict::Slower => "slower".to_owned(),
            Verdict::NotShown => "no gain shown".to_owned(),
        };
        format!("{:>8}  {:>14}  {hot:>8}  {compared}", seconds(self.before), seconds(self.after))
    }
}

/// The names of the columns of [`Story::row`].
pub(super) fn head() -> String {
    format!("{:>8}  {:>14}  {:>8}", "before", "with coldstart", "hot")
}

/// "1.23 s", "123 ms".
pub(super) fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    pub(in crate::demo) fn story(before: f64, after: f64, verdict: Verdict) -> Story {
        Story { before, after, hot: Some(0.2), verdict, is_cold: true }
    }

    #[test]
    fn the_best_of_several_fixes_is_shown() {
        let of =
            |command: usize, state: &str, median: f64| json!({"command": command, "state": state, "median": median});
        let mut answer = json!({"fixes": [{"proven": true}, {"proven": true}], "measurement": {
            "summaries": [of(0, "cold", 2.0), of(1, "cold", 1.0), of(2, "cold", 0.5), of(0, "hot", 0.25), of(2, "hot", 0.1)],
            "comparisons": [
                {"command": 1, "state": "cold", "verdict": "not-shown"},
                {"command": 2, "state": "cold", "verdict": "faster"},
                {"command": 2, "state": "hot", "verdict": "too-few"},
            ],
        }});
        let story = Story::of_speedup(&answer).unwrap();
        let wanted = Story { before: 2.0, after: 0.5, hot: Some(0.25), verdict: Verdict::Faster, is_cold: true };
        assert_eq!(story, wanted);
        assert!(story.row().ends_with("4.0 times as fast"), "{}", story.row());
        answer["fixes"][1]["proven"] = false.into();
        assert_eq!(
            (Story::of_speedup(&answer).unwrap().after, Story::of_measurement(&answer["measurement"]).unwrap().after),
            (1.0, 0.5)
        );
        answer["fixes"][0]["proven"] = false.into();
        assert!(Story::of_speedup(&answer).unwrap_err().to_string().contains("no fix is proven"));
        assert!(Story::of_speedup(&json!({})).is_err());
        let none = json!({"summaries": [{"command": 0, "state": "cold", "median": null}], "comparisons": []});
        assert!(Story::of_measurement(&none).is_err());
    }
}
