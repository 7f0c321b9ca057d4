//! Text for the results of packing.

use coldstart_rewrite::{
    Caution, NothingToPack, PackSummary, Pass, PassOutcome, PassReport, Replacement, Room, SlotSource, Stuck, WayBack,
};

use crate::output::text::{counted, fact, glued, heading, number, plain, share, size};
use crate::output::time::seconds;

/// Why there is nothing to pack, as a clause.
pub(super) fn nothing(nothing: NothingToPack) -> String {
    match nothing {
        NothingToPack::PackedByUs => "already packed by coldstart".to_owned(),
        NothingToPack::AlreadyRelr => "its relative relocations are already RELR".to_owned(),
        NothingToPack::NoRelative => "it has no relative relocations".to_owned(),
        NothingToPack::NoneForStub => {
            "all its relative relocations are of thread-local variables, or of exported ones, of which a program may have a copy \
             (`--closed-world` names the programs)"
                .to_owned()
        }
        NothingToPack::NoOwnReferences => "no reference to its own definitions can become relative".to_owned(),
        NothingToPack::NoPureVirtual => "no two references to `__cxa_pure_virtual`".to_owned(),
        NothingToPack::AlignmentCostsNothing => "no alignment keeps freed bytes in the file".to_owned(),
        NothingToPack::AlignmentNeeded => "a section is aligned to as much as the segments".to_owned(),
        NothingToPack::NotInClosedWorld => {
            "no program of the closed world loads it, and no reference to its own definitions is certain".to_owned()
        }
        NothingToPack::NoGain { stuck: Some(stuck), table_bytes } => format!(
            "{} could be saved but not removed from the file: {}",
            size(table_bytes),
            match stuck {
                Stuck::NoProgramHeader => "no room for another program header (`--sparse` makes a hole)",
                Stuck::Alignment => {
                    "the alignment of the following data requires a larger move (the pass `lower-alignment` lowers it, \
                     `--sparse` makes a hole)"
                }
            }
        ),
        NothingToPack::NoGain { stuck: None, .. } => "the file would not shrink by a page".to_owned(),
    }
}

/// The same for many files, grouped.
pub(super) fn nothing_in_short(nothing: NothingToPack) -> &'static str {
    match nothing {
        NothingToPack::PackedByUs => "already packed by coldstart",
        NothingToPack::AlreadyRelr => "already linked with RELR",
        NothingToPack::NoRelative => "no relative relocations",
        NothingToPack::NoneForStub => "relative relocations of exported variables only",
        NothingToPack::NoOwnReferences => "no reference that can become relative",
        NothingToPack::NoPureVirtual => "no references to pure virtual functions",
        NothingToPack::AlignmentCostsNothing => "no alignment keeps freed bytes in the file",
        NothingToPack::AlignmentNeeded => "a section needs the alignment",
        NothingToPack::NotInClosedWorld => "loaded by no program of the closed world",
        NothingToPack::NoGain { stuck: Some(Stuck::NoProgramHeader), .. } => {
            "no room for another program header; `--sparse` makes a hole"
        }
        NothingToPack::NoGain { stuck: Some(Stuck::Alignment), .. } => {
            "the alignment exceeds the saving; see the pass `lower-alignment`, or `--sparse`"
        }
        NothingToPack::NoGain { stuck: None, .. } => "the file would not shrink by a page",
    }
}

/// `61.2 MB, 8.25 MB less (11.9 %)`.
pub(super) fn sizes(before: u64, after: u64) -> String {
    let saved = before.saturating_sub(after);
    if after > before {
        return format!("{}, {} more", size(after), size(after.saturating_sub(before)));
    }
    format!("{}, {} less ({})", size(after), size(saved), share(saved, before))
}

/// The change of the tables.
pub(super) fn tables(summary: &PackSummary) -> String {
    let others = summary.record_bytes_after;
    let rest = if others > 0 { format!(" and {} of others", size(others)) } else { String::new() };
    let (form, left) = match relocates_itself(summary) {
        true => ("packed words", "left to the loader"),
        false => ("RELR", "not representable in RELR"),
    };
    let mut text = format!(
        "{} of relocation records become {} of {form}{rest}; {} packed",
        size(summary.record_bytes_before),
        size(summary.relr_bytes),
        counted(summary.packed, "relative one"),
    );
    if summary.kept_relative > 0 {
        text.push_str(&format!(", {} {left}", number(summary.kept_relative)));
    }
    text
}

/// Whether the result has a stub.
fn relocates_itself(summary: &PackSummary) -> bool {
    let is_done = |report: &PassReport| matches!(report.outcome, PassOutcome::Done { .. });
    summary.passes.iter().any(|report| report.pass == Pass::Stub && is_done(report))
}

/// How the space was removed.
pub(super) fn room(summary: &PackSummary) -> String {
    let saved = size(summary.size_before.saturating_sub(summary.size_after));
    let more = match summary.hole_bytes {
        0 => String::new(),
        bytes => format!("; a hole of {}, which takes no disk space, is left behind it", size(bytes)),
    };
    match summary.room {
        Room::SegmentCut => format!("a segment ends {saved} earlier in the file; addresses are unchanged{more}"),
        Room::SegmentSplit => {
            format!("a segment is in two parts with {saved} less between them; addresses are unchanged{more}")
        }
        Room::Hole => {
            "a hole in the file, which takes no disk space; copying it without `--sparse` fills it".to_owned()
        }
        Room::Unchanged => "nothing has moved".to_owned(),
    }
}

/// The outcome of a pass.
pub(super) fn pass(report: &PassReport, summary: &PackSummary) -> String {
    match &report.outcome {
        PassOutcome::Done { relocations } if report.pass == Pass::PureVirtual => format!(
            "{} to `__cxa_pure_virtual` became relative: a jump in the file leads there",
            counted(*relocations, "reference")
        ),
        PassOutcome::Done { relocations } if report.pass == Pass::Stub => format!(
            "{} applied by code in the file, before its own initialisers run",
            counted(*relocations, "relocation")
        ),
        PassOutcome::Done { relocations } => {
            let place = if summary.relr_bytes > 0 { "relative" } else { "relative, in their table" };
            let own = summary.own_references.unwrap_or_default();
            let done = format!(
                "{} of {} to its own definitions became {place}: no look-up by name",
                number(*relocations),
                counted(own.all, "reference")
            );
            let mut kept = Vec::new();
            let judged = [own.certain, own.in_closed_world, own.unique, own.not_an_address];
            let open = own.all.saturating_sub(judged.iter().sum());
            if open > 0 {
                kept.push(format!("{} that another object could take over", number(open)));
            }
            if own.unique > 0 {
                kept.push(format!("{} to unique symbols", number(own.unique)));
            }
            if own.not_an_address > 0 {
                kept.push(format!("{} to IFUNC and other symbols without an address", number(own.not_an_address)));
            }
            let kept: Vec<&str> = kept.iter().map(String::as_str).collect();
            let kept = if kept.is_empty() { String::new() } else { format!("; kept {}", listed(&kept)) };
            let only = if own.in_closed_world > 0 { "; for the programs of the closed world only" } else { "" };
            format!("{done}{kept}{only}")
        }
        PassOutcome::Lowered { from, to, bytes } => format!(
            "segments are aligned to {} bytes instead of {}, so {} more can go; the kernel no longer places the file for huge pages",
            number(*to),
            number(*from),
            size(*bytes)
        ),
        PassOutcome::Nothing { cause } => format!("nothing to do: {}", nothing(*cause)),
        PassOutcome::Refused { reason, hint, .. } => {
            let hint = hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            plain(&format!("refused: {reason}{hint}"))
        }
    }
}

/// All passes, with what each does.
pub(super) fn passes() -> String {
    Pass::ALL
        .iter()
        .map(|pass| {
            let facts = [("does", pass.effect()), ("safe", pass.safe_when()), ("leaves", pass.refuses())];
            heading(pass.name(), "") + &facts.map(|(label, text)| fact(label, text)).concat()
        })
        .collect()
}

/// The other edits.
pub(super) fn edits(summary: &PackSummary) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut taken: Vec<&str> = Vec::new();
    for slot in summary.slots.iter().map(|slot| self::slot(*slot)) {
        if !taken.contains(&slot) {
            taken.push(slot);
        }
    }
    if relocates_itself(summary) {
        parts.push("DT_INIT leads to the added code, and that to the function which DT_INIT had".to_owned());
    } else if !taken.is_empty() {
        parts.push(format!("DT_RELR, DT_RELRSZ and DT_RELRENT replace {} in the dynamic table", listed(&taken)));
    }
    if summary.version_added {
        parts.push("a dependency on GLIBC_ABI_DT_RELR makes older loaders refuse it".to_owned());
    }
    if summary.words_written > 0 {
        parts.push(format!("{} got {} in place", counted(summary.words_written, "word"), glued("their addend")));
    }
    parts.join("; ")
}

fn slot(slot: SlotSource) -> &'static str {
    match slot {
        SlotSource::Spare => "spare entries",
        SlotSource::RelativeCount => "the count of relative relocations",
        SlotSource::EmptyTable => "an empty table",
        SlotSource::RedundantFlags => "duplicate flags",
        SlotSource::EmptyFunction => "an empty function",
        SlotSource::ProfilingOnly => "a function that only starts profiling",
        SlotSource::IgnoredRpath => "an RPATH that loaders ignore",
        SlotSource::SymbolEntrySize => "DT_SYMENT",
    }
}

/// Why the result cannot be unpacked, if it cannot.
pub(super) fn no_way_back(way_back: WayBack) -> Option<&'static str> {
    match way_back {
        WayBack::Kept => None,
        WayBack::Declined => Some("cannot be unpacked (`--no-undo`)"),
        WayBack::TooLong => Some("cannot be unpacked: the undo data exceeds a quarter of the saving"),
    }
}

/// How long it took.
pub(super) fn time<P>(plan: f64, replacement: &Replacement<P>) -> String {
    let steps = replacement.seconds;
    let parts = [
        ("plan", plan),
        ("write", steps.write),
        ("prove", steps.prove),
        ("flush", steps.flush),
        ("rename", steps.rename),
    ];
    let total: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
    let listed = parts.iter().map(|(name, value)| format!("{name} {}", glued(&seconds(*value))));
    format!("{}: {}", glued(&seconds(total)), listed.collect::<Vec<_>>().join(", "))
}

/// A caution about this number of packed files.
pub(super) fn caution(caution: Caution, files: u64) -> String {
    let front = if files > 1 { format!("{}: ", counted(files, "file")) } else { String::new() };
    let text = match caution {
        Caution::NoVersionGuard => {
            let (them, need) = if files > 1 { ("them", "they need") } else { ("it", "it needs") };
            format!(
                "nothing in {them} would make a loader older than glibc 2.36 refuse {them}, because {need} no version of \
                 libc.so.6; there the program would crash"
            )
        }
        Caution::InPlaceValues { count } => format!(
            "{} were neither zero nor their addend before; loaders ignore this value, other tools may not",
            counted(count, "relocated word")
        ),
    };
    plain(&format!("{front}{text}"))
}

/// `a, b and c`.
fn listed(things: &[&str]) -> String {
    match things {
        [first @ .., before, last] => {
            let first: String = first.iter().map(|thing| format!("{thing}, ")).collect();
            format!("{first}{before} and {last}")
        }
        _ => things.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_sentences() {
        assert_eq!([&[][..], &["a"], &["a", "b"], &["a", "b", "c"]].map(listed), ["", "a", "a and b", "a, b and c"]);
    }

    #[test]
    fn sizes_say_by_how_much() {
        assert_eq!(plain(&sizes(2_000, 1_500)), "1.5 kB, 500 B less (25.0 %)");
        assert_eq!(plain(&sizes(1_500, 2_000)), "2.0 kB, 500 B more");
    }

    #[test]
    fn cautions_speak_of_one_or_of_many() {
        assert!(caution(Caution::NoVersionGuard, 1).starts_with("nothing in it would"));
        assert!(caution(Caution::NoVersionGuard, 2_000).starts_with("2 000 files: nothing in them would"));
    }
}
