//! Caveats for comparing two traces, as sentences.

use std::ffi::OsString;
use std::path::Path;

use coldstart_profile::trace::figures::{Basis, Difference, Figures, SumOf};
use coldstart_profile::trace::{FileId, Layer, PagesSeen, Run, RunEnd, StartState, Trace};

use crate::page::TraceSource;

/// A share of the time until ready, in hundredths, from which on stops for the recording are worth a word.
const COST_THAT_COUNTS: u64 = 10;

/// All that an honest reader would want to know first, what matters most first.
pub(super) fn caveats(first: &TraceSource<'_>, second: &TraceSource<'_>, partners: &[Option<FileId>]) -> Vec<String> {
    // The same file twice, or a copy of it.
    if first.trace == second.trace {
        return vec!["Both are the same start: there is nothing to compare.".to_owned()];
    }
    let mut sentences = Vec::new();
    recording(&first.figures.basis, &second.figures.basis, &mut sentences);
    sentences.extend(reading(first.figures, second.figures));
    runs(&first.trace.run, &second.trace.run, &mut sentences);
    programs(first.trace, second.trace, partners, &mut sentences);
    sentences.push(
        "Each side is a single start, and starts differ from one another without a cause; `coldstart measure` tells how much."
            .to_owned(),
    );
    sentences
}

fn recording(first: &Basis, second: &Basis, sentences: &mut Vec<String>) {
    for layer in Layer::ALL {
        let which = match (first.layers.contains(&layer), second.layers.contains(&layer)) {
            (true, false) => "first",
            (false, true) => "second",
            _ => continue,
        };
        let what = match layer {
            Layer::Phases => {
                "Phases were recorded in the {} start only: times of phases and what lies before main are known of one side."
            }
            Layer::Pages => {
                "Page touches were recorded in the {} start only, which costs time: its times are too long beside the other's."
            }
            Layer::Functions => {
                "Functions were recorded in the {} start only, which costs time: its times are too long beside the other's."
            }
            Layer::Files => "Lookups, reads and requests to the disk were recorded in the {} start only.",
        };
        sentences.push(what.replace("{}", which));
    }
    let mut told = Vec::new();
    for of in [SumOf::Touches, SumOf::Functions] {
        for difference in first.differences(second, of) {
            if told.contains(&difference) {
                continue;
            }
            told.push(difference);
            let sentence = match difference {
                // Differences in recording are listed above; what neither recorded needs no caveat.
                Difference::NotRecorded => continue,
                Difference::PagesSeen => {
                    let each = if first.pages == PagesSeen::Each { ("first", "second") } else { ("second", "first") };
                    format!(
                        "The {} start was seen page by page, the {} with fault-around, which hides most touches: counts of touches and \
                         sums of jumps must not be compared.",
                        each.0, each.1
                    )
                }
                Difference::LostEvents => {
                    format!("Events were lost ({} and {}): counts are too low.", first.lost_events, second.lost_events)
                }
                Difference::BrokenOff => {
                    let which = match (first.complete, second.complete) {
                        (false, false) => "both starts",
                        (false, true) => "the first start",
                        _ => "the second start",
                    };
                    format!("The writing of {which} broke off: what came later is missing.")
                }
            };
            sentences.push(sentence);
        }
    }
}

/// Both looked at files, but only one as root.
fn reading(first: &Figures, second: &Figures) -> Option<String> {
    let (of_first, of_second) = (first.files_seen, second.files_seen);
    let what = match (of_first.reads != of_second.reads, of_first.fills != of_second.fills) {
        _ if of_first.names != of_second.names => return None,
        (true, true) => "Reads and what came from the disk were",
        (true, false) => "Reads were",
        (false, true) => "What came from the disk was",
        (false, false) => return None,
    };
    let which =
        if of_first.fills && !of_second.fills || of_first.reads && !of_second.reads { "first" } else { "second" };
    Some(format!("{what} recorded in the {which} start only."))
}

fn runs(first: &Run, second: &Run, sentences: &mut Vec<String>) {
    sentences.extend(commands(first, second));
    states(first.state, second.state, sentences);
    if first.readiness != second.readiness {
        sentences.push(format!(
            "Ready means something else in each: {} and {}.",
            quoted(&first.readiness),
            quoted(&second.readiness)
        ));
    }
    for (run, which) in [(first, "first"), (second, "second")] {
        ends(run, which, sentences);
    }
    if first.kernel != second.kernel {
        sentences.push(format!("The kernels differ: {} and {}.", quoted(&first.kernel), quoted(&second.kernel)));
    }
    if first.processors != second.processors {
        sentences
            .push(format!("The first start had {} processors, the second {}.", first.processors, second.processors));
    }
    cost(first, second, sentences);
}

fn commands(first: &Run, second: &Run) -> Option<String> {
    let (of_first, of_second) = (&first.command, &second.command);
    // The same program may be in another directory: a copy of it that was worked on.
    let name = |words: &[OsString]| Some(Path::new(words.first()?).file_name()?.to_owned());
    let is_started_by = |words: &[OsString], longer: &[OsString]| !words.is_empty() && longer.ends_with(words);
    let by = |which: &str, words: &[OsString]| {
        let starter = name(words).unwrap_or_default();
        Some(format!(
            "The {which} start was begun by {}, with the other's command.",
            quoted(&starter.to_string_lossy())
        ))
    };
    match (name(of_first) != name(of_second), of_first.get(1..) != of_second.get(1..)) {
        _ if of_first == of_second => None,
        _ if is_started_by(of_first, of_second) => by("second", of_second),
        _ if is_started_by(of_second, of_first) => by("first", of_first),
        (true, true) => {
            Some("The two commands name different programs and arguments: they did different work.".to_owned())
        }
        (true, false) => {
            Some("The two commands name different programs: they may have done different work.".to_owned())
        }
        (false, true) => {
            Some("The arguments of the two commands differ: they may have done different work.".to_owned())
        }
        (false, false) => Some("The two commands name the program in different directories.".to_owned()),
    }
}

fn states(first: StartState, second: StartState, sentences: &mut Vec<String>) {
    let words = |state| match state {
        StartState::AsIs => "the caches as they happened to be",
        StartState::Cold => "cold caches",
        StartState::FilesEvicted => "its own files evicted",
    };
    if first != second {
        sentences.push(format!(
            "The first start began with {}, the second with {}: what came from the disk, and all times, differ for that alone.",
            words(first),
            words(second)
        ));
    } else if first == StartState::AsIs {
        sentences.push(
            "Both began with the caches as they happened to be: what came from the disk says nothing of the programs."
                .to_owned(),
        );
    }
}

fn ends(run: &Run, which: &str, sentences: &mut Vec<String>) {
    match run.known_end() {
        Some(RunEnd::TimedOut) => sentences.push(format!("The {which} start was not ready when its time was over.")),
        Some(RunEnd::Interrupted) => sentences.push(format!("The recording of the {which} start was interrupted.")),
        Some(RunEnd::Signalled(signal)) => {
            sentences.push(format!("The program of the {which} start was ended by signal {signal}."));
        }
        Some(RunEnd::Exited(code)) if code != 0 => {
            sentences.push(format!("The program of the {which} start failed: it exited with code {code}."));
        }
        known if run.ready_at.is_none() => sentences.push(match known {
            Some(_) => format!("The {which} start never was ready ({}).", quoted(&run.readiness)),
            None => format!("It is not known when the {which} start was ready."),
        }),
        _ => {}
    }
}

/// Stops make times longer; that matters where they differ.
fn cost(first: &Run, second: &Run, sentences: &mut Vec<String>) {
    let share = |run: &Run| {
        let over = run.ready_at.unwrap_or(run.ended_at).0.max(1);
        u64::try_from(u128::from(run.stopped) * 100 / u128::from(over)).unwrap_or(u64::MAX)
    };
    let (of_first, of_second) = (share(first), share(second));
    if of_first.abs_diff(of_second) >= COST_THAT_COUNTS {
        sentences.push(format!(
            "Threads stood still for the recording for {of_first} % of the time until ready in the first start and {of_second} % in the \
             second, all threads together: compare counts rather than times."
        ));
    }
}

fn programs(first: &Trace, second: &Trace, partners: &[Option<FileId>], sentences: &mut Vec<String>) {
    let machine = |trace: &Trace| trace.objects.first().map(|object| (object.machine, object.is_64_bit));
    if let (Some(of_first), Some(of_second)) = (machine(first), machine(second))
        && of_first != of_second
    {
        sentences.push("The programs are made for different processors.".to_owned());
    }
    let changed = changed_objects(first, second, partners);
    if changed > 0 {
        let what = if changed == 1 { "One object differs".to_owned() } else { format!("{changed} objects differ") };
        sentences.push(format!(
            "{what} in content between the two (build id or size): a page of one does not hold what the same page of the other holds."
        ));
    }
    let (of_first, of_second) = (numbers(first), numbers(second));
    if of_first != of_second {
        sentences.push(format!(
            "The first start made {of_first} {}, the second {of_second}: a service or an instance that was running already may have done \
             part of the work.",
            if of_first == 1 { "process" } else { "processes" }
        ));
    }
}

fn changed_objects(first: &Trace, second: &Trace, partners: &[Option<FileId>]) -> usize {
    let objects: std::collections::HashMap<FileId, _> =
        second.objects.iter().rev().map(|object| (object.file, object)).collect();
    let is_changed = |object: &&coldstart_profile::trace::TracedObject| {
        let partner = usize::try_from(object.file.0).ok().and_then(|place| partners.get(place)).copied().flatten();
        let Some(partner) = partner.and_then(|partner| objects.get(&partner)) else { return false };
        if let (Some(mine), Some(other)) = (&object.build_id, &partner.build_id)
            && mine != other
        {
            return true;
        }
        let size = |trace: &Trace, file| trace.file(file).and_then(|file| file.identity).map(|identity| identity.size);
        let sizes = (size(first, object.file), size(second, partner.file));
        matches!(sizes, (Some(mine), Some(other)) if mine != other)
    };
    first.objects.iter().filter(is_changed).count()
}

/// How many processes, without counting those again that execute another program.
fn numbers(trace: &Trace) -> usize {
    trace.processes.iter().map(|process| process.number).collect::<std::collections::BTreeSet<u32>>().len()
}

fn quoted(text: &str) -> String {
    format!("\u{201c}{}\u{201d}", if text.is_empty() { "unknown" } else { text })
}

#[cfg(test)]
mod tests;
