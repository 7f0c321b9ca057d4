//! The record of a benchmark: one JSON file with the whole output of the tools, and the circumstances.
//!
//! The tools' output is stored unchanged, unknown members included. Figures are not stored but computed from it each
//! time, so a mistake in them can be fixed without new runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::benchmark::Benchmark;
use super::surroundings::{Machine, Sources, load, utc};

const SCHEMA: &str = "coldstart-bench.record/1";

/// One benchmark, carried out once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    schema: String,
    pub(super) benchmark: Benchmark,
    /// The day the series began, `YYYY-MM-DD`, UTC.
    pub(super) day: String,
    /// When this benchmark began, UTC.
    pub(super) begun: String,
    /// How long it took, beds included.
    pub(super) seconds: f64,
    /// Counted runs asked for.
    pub(super) runs: u32,
    pub(super) sources: Sources,
    pub(super) machine: Machine,
    /// Load average over the minute before.
    pub(super) load_before: f64,
    /// What the bed said of itself; `None` for those that need no bed.
    pub(super) bed: Option<Value>,
    /// What the tools printed, by what it is.
    parts: BTreeMap<String, Value>,
}

impl Record {
    /// A record without parts, begun now.
    pub(super) fn begin(benchmark: Benchmark, day: &str, runs: u32) -> Result<Self> {
        Ok(Self {
            schema: SCHEMA.to_owned(),
            benchmark,
            day: day.to_owned(),
            begun: utc("%Y-%m-%dT%H:%M:%SZ")?,
            seconds: 0.0,
            runs,
            sources: Sources::these()?,
            machine: Machine::this()?,
            load_before: load()?,
            bed: None,
            parts: BTreeMap::new(),
        })
    }

    pub(super) fn add(&mut self, name: &str, part: Value) {
        self.parts.insert(name.to_owned(), part);
    }

    /// # Errors
    /// When there is no such part.
    pub(super) fn part(&self, name: &str) -> Result<&Value> {
        self.parts.get(name).with_context(|| format!("the record has no part `{name}`"))
    }

    /// A part that is a list.
    ///
    /// # Errors
    /// When there is no such part, or it is something else.
    pub(super) fn list(&self, name: &str) -> Result<&[Value]> {
        let list = self.part(name)?.as_array().with_context(|| format!("the record's part `{name}` is not a list"))?;
        Ok(list)
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Value> {
        self.parts.values()
    }
}

/// The directory of the records and tables.
pub(super) struct Results {
    directory: PathBuf,
}

impl Results {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The day's table.
    pub(super) fn table(&self, day: &str) -> PathBuf {
        self.directory.join(format!("{day}.md"))
    }

    /// Writes beside the target and renames. A record of the same benchmark and day is replaced.
    pub(super) fn save(&self, record: &Record) -> Result<()> {
        fs::create_dir_all(&self.directory)?;
        let file = self.directory.join(format!("{}-{}.json", record.day, record.benchmark));
        if file.exists() {
            eprintln!("bench: replacing {}", file.display());
        }
        // Not indented: 200 samples of 20 lines each would be read by nobody.
        // Where the workspace lies says nothing about the figures and much about whoever ran them.
        let workspace = format!("{}/", crate::cargo::workspace().display());
        write_whole(&file, serde_json::to_string(record)?.replace(&workspace, "").as_bytes())
    }

    /// The day's records, in the benchmarks' order.
    ///
    /// # Errors
    /// When one cannot be read or is no record.
    pub(super) fn of_day(&self, day: &str) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        for benchmark in Benchmark::known() {
            let file = self.directory.join(format!("{day}-{benchmark}.json"));
            if file.exists() {
                records.push(read(&file)?);
            }
        }
        Ok(records)
    }

    /// The days of which there are records, oldest first.
    pub(super) fn days(&self) -> Result<Vec<String>> {
        let mut days = std::collections::BTreeSet::new();
        if self.directory.is_dir() {
            for entry in fs::read_dir(&self.directory)? {
                days.extend(entry?.file_name().to_str().and_then(day_of).map(str::to_owned));
            }
        }
        Ok(days.into_iter().collect())
    }
}

/// The day in a record's file name.
fn day_of(name: &str) -> Option<&str> {
    let (day, rest) = name.strip_suffix(".json")?.split_at_checked(10)?;
    let benchmark = rest.strip_prefix('-')?;
    Benchmark::known().iter().any(|known| known.to_string() == benchmark).then_some(day)
}

fn read(file: &Path) -> Result<Record> {
    let record: Record = serde_json::from_slice(&fs::read(file)?)
        .with_context(|| format!("{} is not a record of a benchmark", file.display()))?;
    ensure!(record.schema == SCHEMA, "{} has the schema {}, not {SCHEMA}", file.display(), record.schema);
    Ok(record)
}

/// Writes beside the file and renames, so that the file is always whole.
pub(super) fn write_whole(file: &Path, bytes: &[u8]) -> Result<()> {
    let growing = file.with_extension("partial");
    fs::write(&growing, bytes)?;
    fs::rename(&growing, file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::new(directory.path().join("results"));
        assert!(results.days().unwrap().is_empty());
        let mut record = Record::begin(Benchmark::Precision, "2025-01-02", 3).unwrap();
        record.add("rounds", serde_json::json!([{"times": [0.123_456_789_012_345_67]}]));
        results.save(&record).unwrap();
        std::fs::write(results.directory().join("2025-01-03-notes.json"), "{}").unwrap();
        std::fs::write(results.table("2025-01-04"), "").unwrap();
        assert_eq!(results.days().unwrap(), ["2025-01-02"]);
        assert_eq!(results.of_day("2025-01-02").unwrap(), [record.clone()]);
        assert!(results.of_day("2025-01-03").unwrap().is_empty());
        assert_eq!(record.list("rounds").unwrap().len(), 1);
        assert!(record.part("measurement").is_err());
    }

    #[test]
    fn a_file_that_is_no_record_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::new(directory.path().to_owned());
        std::fs::write(directory.path().join("2025-01-02-precision.json"), "{}").unwrap();
        let error = results.of_day("2025-01-02").unwrap_err();
        assert!(format!("{error:#}").contains("2025-01-02-precision.json is not a record"), "{error:#}");
    }
}
