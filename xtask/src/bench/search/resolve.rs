//! `search-resolve`: `coldstart resolve` against `ldd`, hot.
//!
//! ldd has the loader itself map every library and relocate none; `resolve` reads the files and never runs the program.
//! Both print to /dev/null.

use anyhow::{Context, Result, ensure};

use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, State};
use super::super::record::Record;
use super::super::runner::{shown, words};
use super::super::workshop::Workshop;

/// What is resolved: a name, also of its part in the record, and the file.
pub(in crate::bench) const PROGRAMS: [(&str, &str); 4] = [
    ("zenity", "/usr/bin/zenity"),
    ("inkscape", "/usr/bin/inkscape"),
    ("soffice", "/usr/lib/libreoffice/program/soffice.bin"),
    ("chromium", "/usr/lib/chromium/chromium"),
];

/// Part of ldd's time that is allowed: five times as fast.
const OF_LDD: f64 = 0.2;

/// The commands' places in the measurement.
const LDD: usize = 0;
const COLDSTART: usize = 1;

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let mut arguments = words(["--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    for (name, file) in PROGRAMS {
        let resolve = workshop.coldstart(["resolve", file]);
        let said = workshop.runner.said(&resolve)?;
        ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&resolve), said.status, said.stderr.trim());
        let measurement = workshop.measure(&arguments, &[resolve], &words(["ldd", file]))?;
        record.add(name, measurement);
    }
    record.add("about", words(["commands: A ldd, B coldstart resolve"]).into());
    Ok(())
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, _) in PROGRAMS {
        let measurement = Measurement::from_json(record.part(name)?).with_context(|| name.to_owned())?;
        for (command, tool) in [(LDD, "ldd"), (COLDSTART, "coldstart resolve")] {
            let times = measurement.times(command, State::Hot);
            let what = format!("`{tool}` of {name}, hot");
            figures.push(Figure::of_times(what, Unit::Milliseconds, Asked::Nothing, &times));
        }
        let ratio = measurement.comparison(COLDSTART, State::Hot).and_then(|comparison| comparison.estimate());
        let pairs = measurement.ratio(COLDSTART, LDD, State::Hot).pairs;
        let what = format!("`coldstart resolve` / `ldd` of {name}, hot");
        figures.push(Figure::of_estimate(what, Unit::Times, Asked::AtMost(OF_LDD), ratio, pairs));
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    #[test]
    fn each_program_is_judged() {
        let mut record = Record::begin(Benchmark::SearchResolve, "2025-01-02", 2).unwrap();
        for (name, _) in PROGRAMS {
            record.add(name, sample("hot", &[&[0.04, 0.05], &[0.01, 0.0125]]));
        }
        let figures = figures(&record).unwrap();
        assert_eq!(figures.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [false; PROGRAMS.len()]);
        assert_eq!((figures.len(), figures[2].value, figures[2].count), (3 * PROGRAMS.len(), Some(0.25), 2));
    }
}
