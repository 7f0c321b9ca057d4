//! A program and its bound copies: built, checked for equal output, counted, timed in alternating order.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, State};
use super::super::record::Record;
use super::super::workshop::Workshop;
use super::binding::{Bound, Mode, absolute_by_patchelf, bind};
use super::calls::{Calls, count};
use super::start::Start;

/// The name of the program as it was.
const PLAIN: &str = "plain";
/// The name of the peer.
pub(super) const PATCHELF: &str = "absolute by patchelf";

/// One of the programs that are measured beside each other. The first is always the plain one.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: String,
    pub(super) start: Start,
    farm: Option<PathBuf>,
}

/// The programs, and what stands against some of them.
#[derive(Debug)]
pub(super) struct Variants {
    pub(super) all: Vec<Variant>,
    /// A line for each mode that was refused.
    refused: Vec<String>,
}

/// The calls of one variant, as they are recorded.
#[derive(Debug, Serialize, Deserialize)]
struct Counted {
    name: String,
    calls: Calls,
}

/// What one variant must reach. `None`: nothing is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// The variant that must reach it.
    pub(super) name: &'static str,
    pub(super) total: Option<f64>,
    pub(super) failed: Option<f64>,
    pub(super) library_probes: Option<f64>,
    pub(super) ratio: Option<f64>,
}

/// Binds the program in each of `modes`. The first is what is under test: that it is refused is an error, while another
/// mode may be refused and is left out.
///
/// # Errors
/// When binding fails, or a bound program prints something else than the plain one.
pub(super) fn prepare(workshop: &Workshop, start: &Start, modes: &[Mode]) -> Result<Variants> {
    let expected = start.printed(workshop).context("the plain program does not run")?;
    let mut variants = Variants {
        all: vec![Variant { name: PLAIN.to_owned(), start: start.clone(), farm: None }],
        refused: Vec::new(),
    };
    for (index, &mode) in modes.iter().enumerate() {
        match bind(workshop, &start.program, mode)? {
            Bound::Program { program, farm } => {
                variants.add(workshop, mode.name(), start.of(&program), farm, &expected)?;
            }
            Bound::Refused(reason) => {
                let line = format!("`bind --mode {}` was refused: {reason}", mode.name());
                ensure!(index > 0, "{line}");
                variants.refused.push(line);
            }
        }
    }
    Ok(variants)
}

impl Variants {
    /// Adds the peer that names whole paths.
    ///
    /// # Errors
    /// When it cannot be made, or prints something else than the plain one.
    pub(super) fn add_patchelf(&mut self, workshop: &Workshop) -> Result<()> {
        let plain = self.all.first().context("no plain program")?.start.clone();
        let program = absolute_by_patchelf(workshop, &plain.program)?;
        let expected = plain.printed(workshop)?;
        self.add(workshop, PATCHELF, plain.of(&program), None, &expected)
    }

    fn add(
        &mut self,
        workshop: &Workshop,
        name: &str,
        start: Start,
        farm: Option<PathBuf>,
        expected: &str,
    ) -> Result<()> {
        let printed = start.printed(workshop).with_context(|| format!("the variant `{name}` does not run"))?;
        ensure!(printed == expected, "the variant `{name}` prints {printed:?}, the plain program {expected:?}");
        self.all.push(Variant { name: name.to_owned(), start, farm });
        Ok(())
    }

    /// Counts the calls of each and puts them into the record.
    pub(super) fn count(&self, workshop: &Workshop, record: &mut Record) -> Result<()> {
        let counted = |variant: &Variant| {
            let calls = count(workshop, &variant.start, variant.farm.as_deref())?;
            Ok(Counted { name: variant.name.clone(), calls })
        };
        let counted: Vec<Counted> = self.all.iter().map(counted).collect::<Result<_>>()?;
        record.add("calls", serde_json::to_value(counted)?);
        Ok(())
    }

    /// Times them in `state` and puts the measurement into the record.
    pub(super) fn time(&self, workshop: &Workshop, record: &mut Record, state: &str) -> Result<()> {
        let (plain, others) = self.all.split_first().context("no plain program")?;
        let mut command = workshop.coldstart(["measure", "--json", "--no-history", "--state", state, "--runs"]);
        command.push(record.runs.to_string());
        for other in others {
            command.extend(["--compare".to_owned(), shell_words::join(other.start.command())]);
        }
        command.push("--".to_owned());
        command.extend(plain.start.command());
        // 1: none became ready; the figures then are empty and the warnings say why.
        let measurement = workshop.runner.json(&plain.start.within(&[], &command), &[0, 1])?;
        record.add("measurement", measurement);
        Ok(())
    }

    /// What the table's foot says of them: which letter is which, and what was refused.
    pub(super) fn about(&self) -> Vec<Value> {
        let letters = self.all.iter().zip('A'..).map(|(variant, letter)| format!("{letter} {}", variant.name));
        let commands = format!("commands: {}", letters.collect::<Vec<_>>().join(", "));
        std::iter::once(commands).chain(self.refused.iter().cloned()).map(Value::from).collect()
    }
}

/// The names of the variants in a record, the plain one first.
pub(super) fn names(record: &Record) -> Result<Vec<String>> {
    let counted = Vec::<Counted>::deserialize(record.part("calls")?).context("`calls` holds no calls")?;
    Ok(counted.into_iter().map(|counted| counted.name).collect())
}

/// The rows of calls. `seen`: total and failed calls of the plain program in earlier measurements.
pub(super) fn figures_of_calls(record: &Record, limits: Limits, seen: Option<(f64, f64)>) -> Result<Vec<Figure>> {
    let counted = Vec::<Counted>::deserialize(record.part("calls")?).context("`calls` holds no calls")?;
    let mut figures = Vec::new();
    for Counted { name, calls } in counted {
        let limit = |limit: Option<f64>| match limit {
            Some(limit) if name == limits.name => Asked::AtMost(limit),
            _ => Asked::Nothing,
        };
        let (total, failed) = match seen {
            Some((total, failed)) if name == PLAIN => (Asked::Seen(total), Asked::Seen(failed)),
            _ => (limit(limits.total), limit(limits.failed)),
        };
        let row = |what: &str, asked, value: u64| {
            Figure::new(format!("{name}: {what}"), Unit::Count, asked, Some(value as f64))
        };
        figures.push(row("system calls", total, calls.total));
        figures.push(row("failed system calls", failed, calls.failed));
        let asked = limit(limits.library_probes);
        figures.push(row("libraries looked for in vain, the farm left out", asked, calls.failed_library_probes));
    }
    Ok(figures)
}

/// The rows of times and ratios in one state.
pub(super) fn figures_of_times(record: &Record, state: State, limits: Limits) -> Result<Vec<Figure>> {
    let measurement = Measurement::from_json(record.part("measurement")?)?;
    let shown = match state {
        State::Cold => "cold",
        State::Boot => "boot",
        State::Selective => "selective",
        State::Hot => "hot",
    };
    let mut figures = Vec::new();
    for (command, name) in names(record)?.iter().enumerate() {
        let times = measurement.times(command, state);
        figures.push(Figure::of_times(format!("{name}, {shown}"), Unit::Milliseconds, Asked::Nothing, &times));
        if command > 0 {
            let ratio = measurement.comparison(command, state).and_then(|comparison| comparison.estimate());
            let pairs = measurement.ratio(command, 0, state).pairs;
            let limit = limits.ratio.filter(|_| name == limits.name).map_or(Asked::Nothing, Asked::AtMost);
            figures.push(Figure::of_estimate(format!("{name} / plain, {shown}"), Unit::Times, limit, ratio, pairs));
        }
    }
    Ok(figures)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;
    use serde_json::json;

    /// A record of the plain program and one bound in `mode`, with its calls: all, failed, libraries looked for in vain.
    pub(in crate::bench::search) fn record(benchmark: Benchmark, mode: &str, state: &str, bound: [u64; 3]) -> Record {
        let calls = |[total, failed, probes]: [u64; 3]| {
            json!({"total": total, "failed": failed, "failed_library_probes": probes, "failed_farm_probes": 0,
                   "examples": []})
        };
        let mut record = Record::begin(benchmark, "2025-01-02", 2).unwrap();
        record.add("measurement", sample(state, &[&[0.028, 0.030], &[0.008, 0.0085]]));
        let counted =
            json!([{"name": "plain", "calls": calls([15_738, 14_326, 12_000])}, {"name": mode, "calls": calls(bound)}]);
        record.add("calls", counted);
        record
    }

    #[test]
    fn only_the_named_variant_is_judged() {
        let record = record(Benchmark::SearchDlopen, "audit", "hot", [1134, 2, 0]);
        let limits =
            Limits { name: "audit", total: Some(1140.0), failed: Some(1.0), library_probes: None, ratio: Some(0.3) };
        let calls = figures_of_calls(&record, limits, Some((15_738.0, 14_326.0))).unwrap();
        let verdicts: Vec<_> = calls.iter().map(Figure::is_met).collect();
        assert_eq!(verdicts, [None, None, None, Some(true), Some(false), None]);
        assert_eq!(calls[0].asked, Asked::Seen(15_738.0));
        let times = figures_of_times(&record, State::Hot, limits).unwrap();
        assert_eq!(times.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [true]);
        assert!((times[0].value.unwrap() - 0.029).abs() < 1e-9);
        assert_eq!(times[2].what, "audit / plain, hot");
    }
}
