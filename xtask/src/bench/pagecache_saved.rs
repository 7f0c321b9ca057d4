//! `coldstart pagecache save` and `restore` on 20,000 files of which random parts are in memory: how long it takes to save
//! them, and whether exactly those pages are there again.
//!
//! Which pages are in memory is asked by a Python program through mincore(2), so that nothing of what is measured judges
//! itself. Restoring drops the page cache of the whole machine, so it is done a few times only.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::pack_files::empty_directory;
use super::record::Record;
use super::runner::shown;
use super::workshop::{Workshop, text};
use crate::tools::Tool;

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[crate::tools::tool("python3", "python3")];

const FILES: u32 = 20_000;
/// Of all files; about half of it is read, which makes a cache of 1 GB.
const MEGABYTES: u32 = 2_000;
/// Restores, each from another random pattern.
const RESTORES: u32 = 3;
/// Saves before the counted ones.
const WARM_UPS: u32 = 1;
/// Asked for, on two processors.
const SECONDS: f64 = 2.0;
/// Pages that may be missing, or extra, in parts of those that were saved.
const OFF: f64 = 0.01;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "pagecache-saved")?;
    let bench = Bench { workshop, tree: text(&directory.join("tree")), directory: &directory };
    fs::create_dir_all(&bench.tree)?;
    bench.python(&["build", &bench.tree, &FILES.to_string(), &MEGABYTES.to_string()])?;
    bench.python(&["fill", &bench.tree, "0"])?;
    let mut saves = Vec::new();
    for run in 0..WARM_UPS.saturating_add(record.runs) {
        let save = bench.save()?;
        if run >= WARM_UPS {
            saves.push(save);
        }
    }
    record.add("saves", saves.into());
    let restores: Vec<Value> = (1..=RESTORES).map(|seed| bench.restore(seed)).collect::<Result<_>>()?;
    record.add("restores", restores.into());
    record.add("about", json!(["pages before and after are listed by mincore(2) through Python"]));
    fs::remove_dir_all(&directory)?;
    Ok(())
}

struct Bench<'a> {
    workshop: &'a Workshop,
    directory: &'a Path,
    tree: String,
}

impl Bench<'_> {
    fn state(&self) -> String {
        text(&self.directory.join("state"))
    }

    fn save(&self) -> Result<Value> {
        let command = self.workshop.coldstart(["pagecache", "save", "--json", &self.state(), &self.tree]);
        let said = self.workshop.runner.timed(&command)?;
        ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
        let saved: Value = serde_json::from_str(&said.stdout).context("`save` printed something else than JSON")?;
        Ok(json!({"seconds": said.seconds, "files": saved["files"], "pages": saved["pages"]}))
    }

    /// From a new pattern to the comparison of what was there with what is there again.
    fn restore(&self, seed: u32) -> Result<Value> {
        let [before, saved, after] = ["before", "saved", "after"].map(|name| text(&self.directory.join(name)));
        self.python(&["fill", &self.tree, &seed.to_string()])?;
        self.python(&["list", &self.tree, &before])?;
        self.save()?;
        self.python(&["list", &self.tree, &saved])?;
        let command = self.workshop.coldstart(["pagecache", "restore", "--json", &self.state()]);
        // A kernel that reclaims unused pages may leave fewer than 99 %: that is a result.
        let mut restored = self.workshop.runner.json(&command, &[0, 1])?;
        if let Some(missing) = restored.get_mut("missing") {
            *missing = missing.as_array().map_or(0, Vec::len).into();
        }
        self.python(&["list", &self.tree, &after])?;
        let compared = self.workshop.runner.json(&python(&["compare", &before, &saved, &after]), &[0])?;
        Ok(json!({"restored": restored, "compared": compared}))
    }

    fn python(&self, words: &[&str]) -> Result<()> {
        self.workshop.runner.run(&python(words))
    }
}

fn python(words: &[&str]) -> Vec<String> {
    let program = text(&crate::cargo::workspace().join("bench/programs/page_cache_tree.py"));
    let start = ["python3".to_owned(), program];
    start.into_iter().chain(words.iter().map(|&word| word.to_owned())).collect()
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let (saves, restores) = (record.list("saves")?, record.list("restores")?);
    let all =
        |list: &[Value], pointer: &str| list.iter().map(|part| number(part, pointer)).collect::<Result<Vec<f64>>>();
    let times = all(saves, "/seconds")?;
    let before = all(restores, "/compared/before")?;
    let back = all(restores, "/compared/back")?;
    let extra = all(restores, "/compared/extra")?;
    let parts = |pages: &[f64]| pages.iter().zip(&before).map(|(pages, before)| pages / before).collect::<Vec<f64>>();
    let worst = |what: &str, asked, parts: &[f64], value: Option<f64>| {
        let mut figure = Figure::new(what, Unit::Times, asked, value);
        figure.count = parts.len();
        figure
    };
    let (back, extra) = (parts(&back), parts(&extra));
    let least = back.iter().copied().reduce(f64::min);
    let most = extra.iter().copied().reduce(f64::max);
    let pages = all(saves, "/pages")?;
    let bytes = pages.iter().copied().reduce(f64::min).map(|pages| pages * 4096.0);
    Ok(vec![
        Figure::of_times("`coldstart pagecache save`, 20,000 files", Unit::Seconds, Asked::AtMost(SECONDS), &times),
        Figure::of_spread("the same: distance of the quartiles", &times),
        Figure::new("saved at least", Unit::Megabytes, Asked::Nothing, bytes),
        worst("of the saved pages, back after `restore`: the least", Asked::AtLeast(1.0 - OFF), &back, least),
        worst("extra pages, in parts of the saved: the most", Asked::AtMost(OFF), &extra, most),
        Figure::of_times("bringing them back", Unit::Seconds, Asked::Nothing, &all(restores, "/restored/seconds")?),
    ])
}

fn number(part: &Value, pointer: &str) -> Result<f64> {
    part.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("the record has no number `{pointer}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn the_worst_restore_is_judged() {
        let mut record = Record::begin(Benchmark::PagecacheSaved, "2025-01-02", 3).unwrap();
        let save = |seconds: f64| json!({"seconds": seconds, "files": 20_000, "pages": 250_000});
        let restore = |back, extra| json!({"restored": {"seconds": 3.0}, "compared": {"before": 1000, "back": back, "extra": extra}});
        record.add("saves", json!([save(1.0), save(3.0), save(1.5)]));
        record.add("restores", json!([restore(1000, 0), restore(980, 10)]));
        let figures = figures(&record).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what.contains(what)).unwrap();
        assert_eq!((find("pagecache save").value, find("pagecache save").is_met()), (Some(1.5), Some(true)));
        assert_eq!((find("back after").value, find("back after").is_met()), (Some(0.98), Some(false)));
        assert_eq!((find("extra").value, find("extra").is_met()), (Some(0.01), Some(true)));
        assert_eq!(find("saved at least").value, Some(1_024_000_000.0));
    }
}
