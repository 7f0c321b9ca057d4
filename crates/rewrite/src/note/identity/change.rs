//! Changes to a rewritten file since we wrote it, as far as they can be determined.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Position};

use super::digest_without;
use super::parts::{Fingerprint, Parts};
use super::record::{Recorded, check_of};
use crate::anatomy::tail::loaded_end;
use crate::changed::{Change, ChangedPart};
use crate::layout::{part, u32_bytes};
use crate::note;

/// How a file was changed, whose section number `own` is our note; `None` if it was not.
pub(super) fn since(file: &ElfFile<'_>, own: usize, recorded: &Recorded<'_>) -> Option<Change> {
    let bytes = file.bytes();
    if !is_whole(file, own, recorded) {
        return Some(note_edited());
    }
    let as_written = part(bytes, FileSpan::first(recorded.size));
    let digest = as_written.zip(recorded.uncounted()).and_then(|(bytes, zeros)| digest_without(bytes, zeros));
    match file.size().checked_sub(recorded.size) {
        Some(0) if digest == Some(recorded.digest) => None,
        Some(more) if digest == Some(recorded.digest) => {
            Some(Change::Appended { bytes: more, size_before: recorded.size })
        }
        _ => Some(Change::Edited { parts: changed_parts(file, own, recorded) }),
    }
}

fn note_edited() -> Change {
    Change::Edited { parts: vec![ChangedPart::SectionContent { name: note::SECTION.to_owned() }] }
}

/// Whether our note is unchanged, by its checksum.
fn is_whole(file: &ElfFile<'_>, own: usize, recorded: &Recorded<'_>) -> bool {
    let Some(header) = file.sections().get(own).map(|section| section.header) else { return false };
    let Ok(section) = file.section_bytes(&header) else { return false };
    let Some(unchecked) = recorded.unchecked() else { return false };
    let own_offset = |at: FileOffset| usize::try_from(at.since(header.offset).ok()?).ok();
    let place = own_offset(unchecked.start()).zip(own_offset(unchecked.end()));
    let mut section = section.to_vec();
    let Some(place) = place.and_then(|(start, end)| section.get_mut(start..end)) else { return false };
    place.fill(0);
    check_of(&section) == recorded.check
}

fn changed_parts(file: &ElfFile<'_>, own: usize, recorded: &Recorded<'_>) -> Vec<ChangedPart> {
    let Some(before) = Parts::from_bytes(recorded.parts) else { return Vec::new() };
    let Ok(now) = Parts::of_file(file, own) else { return Vec::new() };
    // The most specific change comes first.
    let mut parts = changed_entries(file, &before.entries, &now.entries);
    parts.extend(changed_sections(file, &before, &now));
    if now.program_headers != before.program_headers {
        parts.push(ChangedPart::ProgramHeaders);
    }
    if now.file_header != before.file_header {
        parts.push(ChangedPart::FileHeader);
    }
    if parts.is_empty() && !before.sections.is_empty() && file.size() == recorded.size {
        parts.push(ChangedPart::NoSection);
    }
    parts
}

fn changed_sections(file: &ElfFile<'_>, before: &Parts, now: &Parts) -> Vec<ChangedPart> {
    let (mut parts, mut headers_only) = (Vec::new(), Vec::new());
    if before.sections.is_empty() {
        return parts;
    }
    let (old, new) = (before.sections.len(), now.sections.len());
    let count = old.abs_diff(new) as u64;
    match old.cmp(&new) {
        Ordering::Greater => parts.push(ChangedPart::SectionsRemoved { count }),
        Ordering::Less => parts.push(ChangedPart::SectionsAdded { count }),
        Ordering::Equal => {}
    }
    // By content, not by index, since indices change when sections are added or removed.
    let [headers, contents] = [0, 1]
        .map(|which| before.sections.iter().filter_map(|both| both.get(which)).collect::<HashSet<&Fingerprint>>());
    for (section, [header, content]) in file.sections().iter().zip(&now.sections) {
        let name = || String::from_utf8_lossy(section.name).into_owned();
        if !contents.contains(content) {
            parts.push(ChangedPart::SectionContent { name: name() });
        } else if !headers.contains(header) {
            headers_only.push(ChangedPart::SectionHeader { name: name() });
        }
    }
    parts.extend(headers_only);
    parts
}

fn changed_entries(file: &ElfFile<'_>, before: &[Fingerprint], now: &[Fingerprint]) -> Vec<ChangedPart> {
    if before.is_empty() {
        return Vec::new();
    }
    let [old, new] = [before, now].map(|entries| entries.iter().collect::<HashSet<_>>());
    let machine = file.encoding().machine;
    let dynamic = file.dynamic().ok().flatten();
    let entries = dynamic.iter().flat_map(|dynamic| dynamic.entries());
    let changed = entries.zip(now).filter(|(_, now)| !old.contains(now));
    let mut parts: Vec<ChangedPart> =
        changed.map(|(entry, _)| ChangedPart::DynamicEntry { tag: entry.tag.name(machine) }).collect();
    // Each changed entry may replace a removed one.
    if let Some(gone @ 1..) = old.difference(&new).count().checked_sub(parts.len()) {
        parts.push(ChangedPart::DynamicEntriesGone { count: gone as u64 });
    }
    parts.dedup();
    parts
}

/// How a file was changed whose note is unreadable; `None` if there is no sign that it had one.
pub(super) fn unreadable(file: &ElfFile<'_>) -> Option<Change> {
    file.section(note::SECTION).map(|_| note_edited()).or_else(|| cut(file))
}

/// The missing part of a file that was truncated including its section headers: the beginning of our note may still
/// be there, after all loaded data.
fn cut(file: &ElfFile<'_>) -> Option<Change> {
    file.section_problem()?;
    let size = FileOffset(file.size());
    // Segments past the end of any file leave nothing after them.
    let loaded = loaded_end(file).unwrap_or(size).min(size);
    let rest = part(file.bytes(), FileSpan::between(loaded, size).ok()?)?;
    let encoding = file.encoding();
    let kind = [&u32_bytes(encoding, note::IDENTITY)[..], note::OWNER, &[0; 2]].concat();
    let at = rest.windows(kind.len()).rposition(|window| window == kind)?.checked_add(kind.len())?;
    let size = u64::from_le_bytes(*rest.get(at..)?.first_chunk()?);
    let bytes = size.checked_sub(file.size()).filter(|bytes| *bytes > 0)?;
    Some(Change::Cut { bytes })
}

/// Number of listed names.
const LISTED: usize = 4;

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Appended { bytes: 1, .. } => write!(formatter, "1 byte was appended"),
            Self::Appended { bytes, .. } => write!(formatter, "{bytes} bytes were appended"),
            Self::Cut { bytes: 1 } => write!(formatter, "1 byte is missing at the end"),
            Self::Cut { bytes } => write!(formatter, "{bytes} bytes are missing at the end"),
            Self::Edited { parts } if parts.is_empty() => write!(formatter, "its content has changed"),
            Self::Edited { parts } => {
                let listed: Vec<String> = parts.iter().take(LISTED).map(ToString::to_string).collect();
                let more = parts.len().checked_sub(LISTED).filter(|more| *more > 0);
                let more = more.map_or_else(String::new, |more| format!(", and {more} more parts"));
                write!(formatter, "these parts have changed: {}{more}", listed.join(", "))
            }
        }
    }
}

impl fmt::Display for ChangedPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: u64| if count == 1 { "" } else { "s" };
        match self {
            Self::FileHeader => write!(formatter, "the ELF header"),
            Self::ProgramHeaders => write!(formatter, "the program headers"),
            Self::DynamicEntry { tag } => write!(formatter, "{tag}"),
            Self::DynamicEntriesGone { count: 1 } => write!(formatter, "1 removed entry of the dynamic table"),
            Self::DynamicEntriesGone { count } => write!(formatter, "{count} removed entries of the dynamic table"),
            Self::SectionContent { name } => write!(formatter, "the content of `{name}`"),
            Self::SectionHeader { name } => write!(formatter, "the section header of `{name}`"),
            Self::SectionsAdded { count } => write!(formatter, "{count} added section{}", plural(*count)),
            Self::SectionsRemoved { count } => write!(formatter, "{count} removed section{}", plural(*count)),
            Self::NoSection => write!(formatter, "bytes outside sections"),
        }
    }
}
