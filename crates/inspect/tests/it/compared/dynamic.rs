//! The dynamic table, entry by entry: number and name of the tag, and its value in whichever form it was printed.

use coldstart_elf::{DynamicEntry, Strings, Tag};
use coldstart_inspect::Object;

use super::Differences;
use crate::printed::{Printed, hex_after};

pub(crate) fn compare(object: &Object<'_>, printed: &Printed, differences: &mut Differences) {
    let dynamic = object.dynamic.as_ref();
    // What ends the table is counted and printed.
    let place = dynamic.map(|dynamic| (dynamic.file_offset().0, dynamic.len() as u64 + 1));
    differences.hold("offset and entries of the dynamic table", place, printed.dynamic);
    let Some(dynamic) = dynamic else { return };
    let strings = match object.file.dynamic_strings(dynamic) {
        Ok(strings) => strings,
        Err(problem) => return differences.0.push(format!("strings: {problem}")),
    };
    let end = DynamicEntry { tag: Tag::NULL, value: 0 };
    let machine = object.file.encoding().machine;
    for (index, (entry, line)) in dynamic.entries().chain([end]).zip(&printed.entries).enumerate() {
        if !is_same(entry, machine, &strings, line) {
            let name = entry.tag.name(machine);
            differences.0.push(format!("dynamic entry {index}: {name} {:#x}, but readelf says {line:?}", entry.value));
        }
    }
}

/// ` TAG (NAME) VALUE`.
fn is_same(entry: DynamicEntry, machine: u16, strings: &Strings<'_>, line: &str) -> bool {
    let Some((name, value)) = line.split_once('(').and_then(|(_, rest)| rest.split_once(')')) else { return false };
    let ours = entry.tag.name(machine);
    let is_same_name = match ours.strip_prefix("DT_") {
        Some(ours) => ours == name,
        // Neither side has a name for it.
        None => name.starts_with("<unknown>") || name.starts_with("Operating System specific"),
    };
    hex_after(line, "0x") == Some(entry.tag.0) && is_same_name && is_same_value(entry, strings, value.trim())
}

fn is_same_value(entry: DynamicEntry, strings: &Strings<'_>, printed: &str) -> bool {
    if let Some(name) = printed.split_once('[').and_then(|(_, name)| name.strip_suffix(']')) {
        return strings.get(entry.value) == Some(name.as_bytes());
    }
    if let Some(flags) = flags(entry.tag) {
        let words = printed.trim_start_matches("Flags:").split_whitespace();
        let bit = |word: &str| flags.iter().find(|(name, _)| *name == word).map(|(_, bit)| bit);
        return words.map(bit).try_fold(0, |bits, bit| Some(bits | bit?)) == Some(entry.value);
    }
    let forms = [format!("{:#x}", entry.value), entry.value.to_string(), format!("{} (bytes)", entry.value)];
    let form = match entry.tag {
        Tag::PLTREL => {
            (Tag(entry.value) == Tag::RELA && printed == "RELA") || (Tag(entry.value) == Tag::REL && printed == "REL")
        }
        // The order of preference among versions of one library; only MIPS has it.
        MIPS_FLAGS => entry.value == 2 && printed == "NOTPOT",
        _ => false,
    };
    form || forms.iter().any(|form| form == printed) || (printed.is_empty() && entry.value == 0)
}

const MIPS_FLAGS: Tag = Tag(0x7000_0005);

fn flags(tag: Tag) -> Option<&'static [(&'static str, u64)]> {
    const FLAGS: &[(&str, u64)] =
        &[("ORIGIN", 1), ("SYMBOLIC", 2), ("TEXTREL", 4), ("BIND_NOW", 8), ("STATIC_TLS", 0x10)];
    const FLAGS_1: &[(&str, u64)] = &[
        ("NOW", 1),
        ("GLOBAL", 2),
        ("GROUP", 4),
        ("NODELETE", 8),
        ("LOADFLTR", 0x10),
        ("INITFIRST", 0x20),
        ("NOOPEN", 0x40),
        ("ORIGIN", 0x80),
        ("DIRECT", 0x100),
        ("TRANS", 0x200),
        ("INTERPOSE", 0x400),
        ("NODEFLIB", 0x800),
        ("NODUMP", 0x1000),
        ("CONFALT", 0x2000),
        ("PIE", 0x0800_0000),
    ];
    match tag {
        Tag::FLAGS => Some(FLAGS),
        Tag::FLAGS_1 => Some(FLAGS_1),
        _ => None,
    }
}
