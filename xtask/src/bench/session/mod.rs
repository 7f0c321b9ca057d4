//! `session`: cold starts after boot into a GNOME-like session and into a KDE-like one, of the same three programs.
//!
//! "Cold after boot" depends on what the session itself keeps in memory (the table of January 2011 has 3.38 s for Firefox under
//! GNOME and 4.03 s under KDE). Each session is started once from a cold cache, its state of the page cache saved, and that
//! state restored before each start.
//!
//! Not obvious: the sessions do not run while the programs start. Only what they left in memory counts, so the starts differ
//! in nothing else; and each measured start is one call of `coldstart measure`, because a call knows one saved state only.

mod desktop;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::bed::{Bed, BedKind, with_collection};
use super::figure::{Asked, Figure, Unit};
use super::measurement::{Measurement, State};
use super::program::{FIREFOX, LIBREOFFICE};
use super::record::Record;
use super::runner::words;
use super::statistics::ratio_estimate;
use super::workshop::{Workshop, text};
use crate::corpus::Collection;
use crate::tools::{Tool, tool};
use desktop::{Desktop, Display};

/// What must be installed besides what all slow disks need.
pub(super) const TOOLS: &[Tool] = &[
    tool("debootstrap", "debootstrap"),
    tool("Xvfb", "xvfb"),
    tool("xkbcomp", "x11-xkb-utils"),
    tool("unshare", "util-linux"),
    tool("setpriv", "util-linux"),
    tool("sysctl", "procps"),
];

/// The sessions, by the programs that they keep running.
const DESKTOPS: [Desktop; 2] = [
    Desktop { name: "GNOME-like", programs: &["metacity", "nautilus", "gnome-terminal"] },
    Desktop { name: "KDE-like", programs: &["kwin_x11", "dolphin", "konsole"] },
];
/// How much longer Firefox took after boot into KDE than into GNOME, in January 2011: 4,031.9 ms and 3,382.0 ms.
const SEEN_FIREFOX: f64 = 1.19;

/// A program that is started in both sessions.
struct Subject {
    name: &'static str,
    words: &'static [&'static str],
    /// Whether it counts as started with its first window, else with its exit.
    has_window: bool,
    /// What an earlier measurement gave for KDE / GNOME.
    seen: Option<f64>,
}

const SUBJECTS: [Subject; 3] = [
    Subject { name: "firefox (GTK)", words: FIREFOX.words, has_window: false, seen: Some(SEEN_FIREFOX) },
    Subject {
        name: "kwrite (Qt, KDE)",
        words: &["dbus-run-session", "--", "kwrite", "/root/a.txt"],
        has_window: true,
        seen: None,
    },
    Subject { name: "libreoffice (no toolkit)", words: LIBREOFFICE.words, has_window: false, seen: None },
];

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_collection(workshop, BedKind::Net, Collection::Sessions, |bed| {
        record.bed = Some(bed.status.clone());
        let display = Display::open(workshop)?;
        // The first start on this disk does work that later ones do not.
        for subject in &SUBJECTS {
            let first = starts(workshop, bed, &display, subject, &words(["--state", "hot", "--runs", "1"]))?;
            let counted = first["summaries"].as_array().is_some_and(|all| all.iter().any(|one| one["counted"] != 0));
            ensure!(counted, "{} did not become ready: {}", subject.name, first["warnings"]);
        }
        let mut sessions = Vec::new();
        let mut states = Vec::new();
        for (place, desktop) in DESKTOPS.iter().enumerate() {
            eprintln!("bench: session: {}", desktop.name);
            let file = workshop.directory.join(format!("session-{place}.pagecache"));
            let saved = desktop.save(workshop, bed, &display, &file)?;
            sessions.push(json!({"desktop": desktop.name, "programs": desktop.programs, "saved": saved}));
            states.push(format!("boot={}", text(&file)));
        }
        record.add("sessions", sessions.into());
        let of_subject = |subject: &Subject| of_subject(workshop, bed, &display, subject, &states, record.runs);
        let subjects: Vec<Value> = SUBJECTS.iter().map(of_subject).collect::<Result<_>>()?;
        record.add("subjects", subjects.into());
        Ok(())
    })
}

/// Both ends of the scale in one measurement, then the sessions by turns.
fn of_subject(
    workshop: &Workshop,
    bed: &Bed<'_>,
    display: &Display,
    subject: &Subject,
    states: &[String],
    runs: u32,
) -> Result<Value> {
    eprintln!("bench: session: {}", subject.name);
    let runs_text = runs.to_string();
    let ends = words(["--state", "cold", "--state", "hot", "--runs", &runs_text]);
    let ends = starts(workshop, bed, display, subject, &ends)?;
    let mut rounds = Vec::new();
    for round in 0..runs as usize {
        let mut of_round = vec![Value::Null; states.len()];
        for step in 0..states.len() {
            let place = (round + step) % states.len();
            let (Some(state), Some(result)) = (states.get(place), of_round.get_mut(place)) else { continue };
            *result = starts(workshop, bed, display, subject, &words(["--state", state, "--runs", "1"]))?;
        }
        rounds.push(of_round);
    }
    Ok(json!({"subject": subject.name, "ends": ends, "rounds": rounds}))
}

/// One measurement of a program. A later start that does not count leaves a gap in the figures, and its warnings in the record.
fn starts(
    workshop: &Workshop,
    bed: &Bed<'_>,
    display: &Display,
    subject: &Subject,
    arguments: &[String],
) -> Result<Value> {
    let mut arguments = arguments.to_vec();
    let variable = format!("DISPLAY={}", display.name);
    // A program without a window must not find a display: Firefox would look for a graphics card there for seconds.
    let mut command = bed.inside(subject.words);
    if subject.has_window {
        arguments.extend(["--ready".to_owned(), format!("window:{}", display.name)]);
        command = bed.inside(&[&["env", &variable], subject.words].concat());
    }
    workshop.measure(&arguments, &[], &command)
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for session in record.list("sessions")? {
        let name = session["desktop"].as_str().context("a session without a name")?;
        let saved = |what: &str| session["saved"][what].as_f64();
        let bytes = saved("pages").zip(saved("page_size")).map(|(pages, size)| pages * size);
        figures.push(Figure::new(format!("{name}: kept in memory"), Unit::Megabytes, Asked::Nothing, bytes));
    }
    for (part, subject) in record.list("subjects")?.iter().zip(&SUBJECTS) {
        let ends = Measurement::from_json(&part["ends"])?;
        let row = |shown: &str, state| {
            Figure::of_summary(format!("{}: {shown}", subject.name), Asked::Nothing, ends.summary(0, state))
        };
        figures.push(row("everything dropped", State::Cold));
        let rounds = part["rounds"].as_array().context("a subject without rounds")?;
        let mut by_desktop = Vec::new();
        for (place, desktop) in DESKTOPS.iter().enumerate() {
            let times: Vec<Option<f64>> = rounds.iter().map(|round| boot_time(&round[place])).collect();
            let counted: Vec<f64> = times.iter().copied().flatten().collect();
            let what = format!("{}: after boot, {}", subject.name, desktop.name);
            figures.push(Figure::of_times(what, Unit::Seconds, Asked::Nothing, &counted));
            by_desktop.push(times);
        }
        figures.push(row("hot", State::Hot));
        if let [gnome, kde] = &by_desktop[..] {
            let pairs: Vec<(f64, f64)> = kde.iter().zip(gnome).filter_map(|(kde, gnome)| (*kde).zip(*gnome)).collect();
            let asked = subject.seen.map_or(Asked::Nothing, Asked::Seen);
            let what = format!("{}: KDE-like / GNOME-like", subject.name);
            figures.push(Figure::of_estimate(what, Unit::Times, asked, ratio_estimate(&pairs), pairs.len()));
        }
    }
    Ok(figures)
}

/// The time of a measurement's one start; `None` if it does not count.
fn boot_time(measurement: &Value) -> Option<f64> {
    Measurement::from_json(measurement).ok()?.times(0, State::Boot).first().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    #[test]
    fn sessions_are_compared_by_round() {
        let mut ends = sample("cold", &[&[4.0, 4.2]]);
        let hot = sample("hot", &[&[0.8, 0.8]]);
        for list in ["samples", "summaries"] {
            let more = hot[list].as_array().unwrap().clone();
            ends[list].as_array_mut().unwrap().extend(more);
        }
        let boot = |seconds| sample("boot", &[&[seconds, seconds]]);
        let subject = json!({"subject": "a", "ends": ends,
                             "rounds": [[boot(2.0), boot(3.0)], [boot(2.0), boot(3.0)], [boot(2.0), json!({})]]});
        let mut record = Record::begin(Benchmark::Session, "2025-01-02", 2).unwrap();
        record.add("sessions", json!([{"desktop": "GNOME-like", "saved": {"pages": 25_000, "page_size": 4000}}]));
        record.add("subjects", json!([subject]));
        let figures = figures(&record).unwrap();
        let last = figures.last().unwrap();
        assert!(last.value.is_some_and(|value| (value - 1.5).abs() < 1e-9), "{last:?}");
        assert_eq!((last.count, figures.len()), (2, 6));
        assert_eq!(figures[0].value, Some(1e8));
    }
}
