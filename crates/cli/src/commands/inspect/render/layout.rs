//! The layout of a file: its segments, and one line for each fact.

use coldstart_inspect::layout::{HashChains, HashTables, Layout, LoadSegment, Special, ZeroFill};
use unicode_width::UnicodeWidthStr;

use super::text::{counted, escaped, fact, fit, heading, list, name, number, omitted, size, table};
use super::{loader_names, words};
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};

/// Maximum number of listed segments without `--all`; few files have more than five.
const SOME_SEGMENTS: usize = 16;
/// The widest name of a variable, in columns.
const NAME: usize = 60;

/// The layout of a file.
pub(super) fn layout(layout: &Layout, all: bool) -> String {
    let summary = format!("{} to map", counted(layout.segments.len() as u64, "segment"));
    let mut text = heading("Layout", &summary);
    text.push_str(&segments(&layout.segments, all));
    text.push('\n');
    for zeros in layout.zero_fill.iter().take(if all { usize::MAX } else { SOME_SEGMENTS }) {
        text.push_str(&fact("zeros", &zero_fill(zeros)));
    }
    for (label, content) in [("dynamic", dynamic(layout)), ("RELRO", relro(layout))] {
        text.push_str(&fact(label, &content));
    }
    text.push_str(&hash(&layout.hash));
    text.push_str(&list("versions", &loader_names::versions(&layout.versions, all)));
    text.push_str(&loader_names::names(&layout.names, all));
    text.push_str(&fact("alignment", &alignment(layout)));
    text.push_str(&special(&layout.special));
    if let Some(prelink) = &layout.prelink {
        let libraries = counted(prelink.library_count, "library");
        let used_by = words::prelink_use(prelink.used_by);
        text.push_str(&fact("prelink", &format!("against {libraries}; {used_by}: {}", escaped(&prelink.reason))));
    }
    let packings: Vec<&str> = layout.packings.iter().map(|packing| words::packing(*packing)).collect();
    text.push_str(&fact("packed", &packings.join("; ")));
    for problem in &layout.problems {
        text.push_str(&fact("problem", &escaped(problem)));
    }
    text
}

fn segments(segments: &[LoadSegment], all: bool) -> String {
    let shown = if all { segments.len() } else { segments.len().min(SOME_SEGMENTS) };
    let mut rows = Table::new(&[
        ("flags", Align::Left),
        ("offset", Align::Right),
        ("in the file", Align::Right),
        ("pages", Align::Right),
        ("address", Align::Right),
        ("in memory", Align::Right),
        ("padding", Align::Right),
        ("sections", Align::Left),
    ]);
    for segment in segments.iter().take(shown) {
        rows.row(vec![
            segment.flags.clone(),
            format!("{:#x}", segment.file_offset),
            bytes(segment.file_bytes),
            grouped(segment.file_pages),
            format!("{:#x}", segment.address),
            bytes(segment.memory_bytes),
            bytes(segment.padding_before_bytes),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| segments.get(row).map_or_else(String::new, |segment| sections(segment, room)));
    table(&rows) + &omitted(shown, segments.len(), "them")
}

fn sections(segment: &LoadSegment, columns: usize) -> String {
    let half = columns.saturating_sub(4) / 2;
    match (&segment.first_section, &segment.last_section) {
        (Some(first), Some(last)) if first == last => name(first, columns),
        (Some(first), Some(last)) => {
            let whole = escaped(&format!("{first} to {last}"));
            let is_short = whole.width() <= columns;
            if is_short { whole } else { format!("{} to {}", name(first, half), name(last, half)) }
        }
        _ => String::new(),
    }
}

fn zero_fill(zeros: &ZeroFill) -> String {
    let start = format!("{} from address {:#x}", size(zeros.bytes), zeros.address);
    match zeros.shared_file_page {
        None => format!("{start}, on a page of their own"),
        Some(page) => format!(
            "{start}; {} at the end of page {} of the file are cleared before anything runs{}",
            counted(zeros.cleared_bytes, "byte"),
            number(page),
            if zeros.shared_page_is_relocated { "; relocation writes to that page anyway" } else { "" }
        ),
    }
}

fn dynamic(layout: &Layout) -> String {
    let Some(dynamic) = &layout.dynamic else { return "no dynamic table: static program".to_owned() };
    let flags = dynamic.segment_flags.as_ref().map(|flags| format!(" ({})", escaped(flags))).unwrap_or_default();
    format!(
        "at offset {:#x}, page {} of the file{flags}; {}, {} to spare; {}",
        dynamic.file_offset,
        number(dynamic.file_page),
        counted(dynamic.used_entries, "entry"),
        number(dynamic.spare_entries),
        words::binding(dynamic.binding)
    )
}

fn relro(layout: &Layout) -> String {
    match &layout.relro {
        None if layout.dynamic.is_none() => String::new(),
        None => "none: relocated data stays writable".to_owned(),
        Some(relro) => {
            let end = match (relro.ends_on_page_boundary, relro.unprotected_bytes) {
                (true, _) | (_, 0) => String::new(),
                (_, left) => format!("; the last {} stay writable, because they end inside a page", size(left)),
            };
            format!("{} from address {:#x}{end}", size(relro.bytes), relro.address)
        }
    }
}

fn hash(tables: &HashTables) -> String {
    let mut text = String::new();
    if let Some(gnu) = &tables.gnu {
        let chains = gnu.chains.as_ref().map(chains).unwrap_or_else(|| "unreadable chains".to_owned());
        text.push_str(&fact("GNU hash", &format!("{} at offset {:#x}: {chains}", size(gnu.bytes), gnu.file_offset)));
        // The filter of a table without symbols passes nothing.
        if gnu.bloom_set_share > 0.0 {
            let filter = format!(
                "{}, {} of its bits set; it passes {} of absent names",
                size(gnu.bloom_bytes),
                share(gnu.bloom_set_share),
                share(gnu.bloom_false_positives)
            );
            text.push_str(&fact("filter", &filter));
        }
    }
    if let Some(sysv) = &tables.sysv {
        let chains = sysv.chains.as_ref().map(chains).unwrap_or_else(|| "unreadable chains".to_owned());
        let unused = if tables.unused_bytes > 0 { "; unused, because of the GNU hash table" } else { "" };
        let content = format!("{} at offset {:#x}: {chains}{unused}", size(sysv.bytes), sysv.file_offset);
        text.push_str(&fact("old hash", &content));
    }
    text
}

fn chains(chains: &HashChains) -> String {
    if chains.symbols == 0 {
        return "no symbols".to_owned();
    }
    format!(
        "{} in {}, the longest chain {}, {:.1} comparisons for a present symbol",
        counted(chains.symbols, "symbol"),
        counted(chains.buckets, "bucket"),
        number(chains.longest_chain),
        chains.comparisons_per_symbol
    )
}

/// A share from 0 to 1 in percent, with a decimal if it is small.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1}\u{a0}%") } else { format!("{percent:.0}\u{a0}%") }
}

fn alignment(layout: &Layout) -> String {
    let alignment = &layout.alignment;
    let mut parts = vec![format!("{} at most", binary(alignment.largest_alignment_bytes))];
    if alignment.padding_bytes > 0 {
        parts.push(format!("{} of padding in the file", size(alignment.padding_bytes)));
    }
    if alignment.is_huge_page_aligned {
        parts.push("huge pages of 2\u{a0}MiB can hold its code".to_owned());
    }
    if !alignment.loads_with_64_kib_pages {
        // The finding has the reason, on architectures with such kernels.
        parts.push("not for kernels with pages of 64\u{a0}KiB".to_owned());
    }
    parts.join("; ")
}

/// A power of two in the unit in which powers of two are whole.
fn binary(bytes: u64) -> String {
    match bytes {
        0 => counted(0, "byte"),
        bytes if bytes.is_multiple_of(1 << 20) => format!("{}\u{a0}MiB", number(bytes >> 20)),
        bytes if bytes.is_multiple_of(1 << 10) => format!("{}\u{a0}KiB", number(bytes >> 10)),
        bytes => counted(bytes, "byte"),
    }
}

fn special(special: &Special) -> String {
    let mut text = String::new();
    let written = &special.text_relocations;
    if written.words > 0 {
        let content = format!(
            "{} of read-only memory, on {}{}",
            counted(written.words, "word"),
            counted(written.pages, "page"),
            if written.is_marked { "" } else { "; without DT_TEXTREL, so the loader may crash" }
        );
        text.push_str(&fact("TEXTREL", &content));
    } else if written.is_marked {
        text.push_str(&fact("TEXTREL", "set, but no relocation is in read-only memory"));
    }
    let copied = &special.copy_relocations;
    if copied.count > 0 {
        let largest: Vec<String> = copied
            .largest
            .iter()
            .map(|copy| format!("{} ({})", name(&copy.name, NAME), counted(copy.bytes, "byte")))
            .collect();
        let content = format!(
            "{} of libraries, {}; the largest: {}",
            counted(copied.count, "variable"),
            size(copied.bytes),
            largest.join(", ")
        );
        text.push_str(&fact("copied", &content));
    }
    text.push_str(&fact("stack", words::stack(special.stack).unwrap_or_default()));
    if special.has_static_tls {
        text.push_str(&fact("TLS", "static thread-local storage, guaranteed to fit only at the start"));
    }
    if special.chosen_functions > 0 || special.indirect_function_symbols > 0 {
        let parts = [
            (special.chosen_functions, "pointer", "resolved by code at the start (IRELATIVE)"),
            (special.indirect_function_symbols, "function", "of this type (IFUNC) among the dynamic symbols"),
        ];
        let parts = parts.into_iter().filter(|(count, ..)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, noun, what)| format!("{} {what}", counted(count, noun))).collect();
        text.push_str(&fact("IFUNC", &parts.join("; ")));
    }
    text
}
