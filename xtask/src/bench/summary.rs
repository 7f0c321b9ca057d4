//! The day's table, made of its records.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::Value;

use super::benchmark::Benchmark;
use super::figure::{Asked, Figure, Unit};
use super::notes::notes;
use super::pack_passes;
use super::plan::Plan;
use super::record::{Record, Results, write_whole};
use super::statistics::Estimate;

/// Makes the table of `day` anew.
///
/// # Errors
/// When a record cannot be read, or the table not be written.
pub(super) fn write(results: &Results, day: &str) -> Result<()> {
    let records = results.of_day(day)?;
    write_whole(&results.table(day), markdown(day, &records).as_bytes())
}

/// The table in Markdown. A record that figures cannot be made of has a row that says why.
fn markdown(day: &str, records: &[Record]) -> String {
    let mut text = format!("# Benchmarks of {day}\n\n");
    for line in distinct(records.iter().map(|record| record.machine.line())) {
        text += &format!("- machine: {line}\n");
    }
    text += &format!("- date: {day} (UTC)\n");
    for line in distinct(records.iter().map(|record| record.sources.line())) {
        text += &format!("- sources: {line}\n");
    }
    text += "\nCold: all clean caches of the system dropped before each start. Hot: right after another start. Starts \
             with a plan or vmtouch include the reading.\nThe ratio is to the plain start in the same state (geometric \
             mean by round). *close*: the limit lies inside the 95 % interval.\n\n";
    text += "| benchmark | figure | asked for | measured median | mean ± 95 % CI | n | least – most | ratio [95 % CI] \
             | verdict |\n|---|---|---|---|---|---|---|---|---|\n";
    for record in records {
        match record.benchmark.figures(record) {
            Ok(figures) => figures.iter().for_each(|figure| text += &row(record, figure)),
            Err(error) => {
                let reason = format!("{error:#}").replace(['|', '\n'], " ");
                text += &format!("| {} | no figures: {reason} | | | | | | | not met |\n", record.benchmark);
            }
        }
    }
    for record in records.iter().filter(|record| record.benchmark == Benchmark::PackPasses) {
        text += "\n## Each pass of pack alone, and all\n\n";
        text += &pack_passes::table(record).unwrap_or_else(|error| format!("{error:#}\n"));
    }
    text += "\n## How\n\n";
    for record in records {
        text += &how(record);
    }
    let notes: Vec<String> = records.iter().flat_map(notes).collect();
    if !notes.is_empty() {
        text += "\n## What the tools said besides\n\nCommand A is the plain start, B the one with a plan, C the same by \
                 `coldstart-run`, D the one with vmtouch.";
        if records.iter().any(|record| record.benchmark == Benchmark::InspectChromium) {
            text += " In `inspect-chromium` A is readelf and B coldstart.";
        }
        text += "\n\n";
        text += &notes.concat();
    }
    text
}

fn row(record: &Record, figure: &Figure) -> String {
    let unit = figure.unit;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let asked = match figure.asked {
        Asked::Nothing => "–".to_owned(),
        Asked::Seen(value) => format!("({} seen earlier)", with_unit(value, unit)),
        Asked::AtMost(value) => format!("≤ {}", with_unit(value, unit)),
        Asked::AtLeast(value) => format!("≥ {}", with_unit(value, unit)),
        Asked::Within(_, words) => words.to_owned(),
    };
    let mean = figure.mean.map(|mean| match unit {
        // An interval of a ratio is not symmetric.
        Unit::Times => interval(mean),
        _ => format!("{} ± {}", number(mean.value, unit), measured(mean.high - mean.value, unit)),
    });
    let count = if figure.count == 0 { "–".to_owned() } else { figure.count.to_string() };
    let range = figure.range.map(|(least, most)| format!("{} – {}", number(least, unit), measured(most, unit)));
    let verdict = match (figure.is_met(), figure.is_close()) {
        (None, _) => "–",
        (Some(true), false) => "met",
        (Some(true), true) => "met, *close*",
        (Some(false), false) => "**not met**",
        (Some(false), true) => "**not met**, *close*",
    };
    format!(
        "| {} | {} | {asked} | {} | {} | {count} | {} | {} | {verdict} |\n",
        record.benchmark,
        figure.what,
        or_dash(figure.value.map(|value| measured(value, unit))),
        or_dash(mean),
        or_dash(range),
        or_dash(figure.ratio.map(interval)),
    )
}

fn interval(Estimate { value, low, high }: Estimate) -> String {
    format!("{value:.3} [{low:.3}, {high:.3}]")
}

/// A measured value, to the digits that mean something.
fn measured(value: f64, unit: Unit) -> String {
    let number = number(value, unit);
    match unit {
        Unit::Seconds => format!("{number} s"),
        Unit::Milliseconds => format!("{number} ms"),
        Unit::Megabytes | Unit::ExactMegabytes => format!("{number} MB"),
        Unit::Times | Unit::Count => number,
    }
}

fn number(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds | Unit::Times => format!("{value:.3}"),
        Unit::Milliseconds => format!("{:.3}", value * 1e3),
        Unit::Megabytes => format!("{:.1}", value / 1e6),
        Unit::ExactMegabytes => format!("{:.2}", value / 1e6),
        Unit::Count if value.fract() == 0.0 => format!("{value}"),
        // A mean of counts.
        Unit::Count => format!("{value:.1}"),
    }
}

/// A limit, as short as it can be said.
fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => format!("{value} s"),
        Unit::Milliseconds => format!("{} ms", value * 1e3),
        Unit::Megabytes | Unit::ExactMegabytes => format!("{} MB", value / 1e6),
        Unit::Count => number(value, unit),
        Unit::Times => value.to_string(),
    }
}

/// Where and how a record came about, one line.
fn how(record: &Record) -> String {
    let mut line = format!(
        "- `{}`: {} runs, begun {}, took {:.0} s, load before {:.2}, sources {}",
        record.benchmark,
        record.runs,
        record.begun,
        record.seconds,
        record.load_before,
        record.sources.line()
    );
    if let Some(bed) = &record.bed {
        line += &format!("; bed {}", bed_line(bed));
    }
    if let Some(plan) = record.part("plan").ok().and_then(|plan| Plan::from_json(plan).ok()) {
        line += &format!("; plan of {:.1} MB, read {}", plan.bytes as f64 / 1e6, when(&plan.strategy));
    }
    if let Ok(about) = record.part("about") {
        let lines = about.as_array().into_iter().flatten().filter_map(Value::as_str);
        lines.for_each(|about| line += &format!("; {about}"));
    }
    line.push('\n');
    line
}

fn when(strategy: &str) -> &str {
    match strategy {
        "blocking" => "before the program starts",
        "concurrent" => "beside the program",
        other => other,
    }
}

/// Kind, model figures and queue of a bed.
fn bed_line(bed: &Value) -> String {
    let mut line = bed.get("kind").and_then(Value::as_str).unwrap_or("of unknown kind").to_owned();
    for (name, settings) in [("model", bed.get("parameters")), ("queue", bed.get("queue"))] {
        let Some(settings) = settings.and_then(Value::as_object) else { continue };
        let listed: Vec<String> = settings
            .iter()
            .filter(|(key, _)| *key != "model")
            .map(|(key, value)| format!("{key} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect();
        // Writing to a String cannot fail.
        let _ = write!(line, " ({name}: {})", listed.join(", "));
    }
    line
}

fn distinct(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for line in lines {
        if !distinct.contains(&line) {
            distinct.push(line);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::tests::sample;
    use serde_json::json;

    fn precision() -> Record {
        let mut record = Record::begin(Benchmark::Precision, "2025-01-02", 2).unwrap();
        let round = json!({
            "coldstart": sample("hot", &[&[0.0005, 0.0006]]),
            "hyperfine": {"results": [{"times": [0.0005, 0.0006]}]},
        });
        record.add("rounds", json!([round, round]));
        record
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let mut broken = Record::begin(Benchmark::LibreofficeHdd, "2025-01-02", 7).unwrap();
        broken.bed = Some(json!({"kind": "hdd", "parameters": {"model": "hdd", "bandwidth_mb": 120.0},
                                 "queue": {"scheduler": "none", "read_ahead_kb": 128}}));
        let text = markdown("2025-01-02", &[broken, precision()]);
        let table: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(table.len(), 2 + 1 + 4);
        assert!(table.iter().all(|line| line.matches('|').count() == 10), "{text}");
        assert!(text.contains("no figures: the record has no part `measurement`"), "{text}");
        assert!(
            text.contains("bed hdd (model: bandwidth_mb 120.0) (queue: read_ahead_kb 128, scheduler none)"),
            "{text}"
        );
    }

    #[test]
    fn rows_read_as_they_should() {
        let text = markdown("2025-01-02", &[precision()]);
        let expected =
            "| precision | `true` by coldstart | – | 0.550 ms | 0.550 ± 0.092 ms | 4 | 0.500 – 0.600 ms | – | – |";
        assert!(text.contains(expected), "{text}");
        let expected = "| precision | difference of medians | within 0.1 ms or 2 % | 0.000 ms | – | 2 | – | – | met |";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("- `precision`: interference: others_bytes 1048576; samples [3,5]\n"), "{text}");
    }

    #[test]
    fn limits_ratios_and_verdicts_are_shown() {
        let record = precision();
        let ratio = Estimate { value: 0.2615, low: 0.25, high: 0.2749 };
        let mut figure = Figure::of_times("with plan, cold", Unit::Seconds, Asked::AtMost(3.4), &[3.3, 3.39, 3.6]);
        let frames = Figure::of_times("frames", Unit::Count, Asked::Nothing, &[59.0, 60.0, 60.0, 60.0]);
        assert!(row(&record, &frames).contains("| 60 | 59.8 ± 0.8 | 4 | 59 – 60 |"), "{}", row(&record, &frames));
        figure.ratio = Some(ratio);
        let shown = row(&record, &figure);
        assert!(shown.contains("| ≤ 3.4 s | 3.390 s |"), "{shown}");
        assert!(shown.contains("| 3.300 – 3.600 s | 0.262 [0.250, 0.275] | met, *close* |"), "{shown}");
        let shown = row(&record, &Figure::of_peaks("memory", Asked::AtMost(60e6), &[18.34e6, 61.2e6]));
        assert!(shown.contains("| ≤ 60 MB | 61.2 MB | – | 2 | 18.3 – 61.2 MB | – | **not met** |"), "{shown}");
        let ratio = Figure::of_estimate("a / b", Unit::Times, Asked::AtMost(0.2), Some(ratio), 7);
        let shown = row(&record, &ratio);
        assert!(shown.contains("| ≤ 0.2 | 0.262 | 0.262 [0.250, 0.275] | 7 | – | – | **not met** |"), "{shown}");
    }

    #[test]
    fn a_table_can_be_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let results = Results::new(directory.path().to_owned());
        results.save(&precision()).unwrap();
        write(&results, "2025-01-02").unwrap();
        let first = std::fs::read_to_string(results.table("2025-01-02")).unwrap();
        write(&results, "2025-01-02").unwrap();
        assert_eq!(std::fs::read_to_string(results.table("2025-01-02")).unwrap(), first);
        assert!(first.starts_with("# Benchmarks of 2025-01-02\n"));
    }
}
