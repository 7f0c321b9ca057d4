//! The findings of built files, and tests of them by subject.

mod initialising;
mod mapping;
mod reading;
mod relocating;
mod searching;

use std::path::Path;

use coldstart_elf::ElfFile;
use coldstart_inspect::{Finding, FindingKind, Inspection, Object, inspect};

use crate::built::{readelf, with_object};

pub(crate) fn inspected(path: &Path) -> Inspection {
    with_object(path, inspect)
}

/// The same for a file that was changed by hand.
fn inspected_bytes(bytes: &[u8]) -> Inspection {
    inspect(&Object::read(ElfFile::parse(bytes).unwrap(), None).unwrap())
}

pub(crate) fn kinds(inspection: &Inspection) -> Vec<FindingKind> {
    inspection.findings.iter().map(|finding| finding.kind).collect()
}

/// The one finding of this kind.
fn the(inspection: &Inspection, kind: FindingKind) -> Finding {
    let mut found = inspection.findings.iter().filter(|finding| finding.kind == kind);
    let Some(finding) = found.next() else { panic!("no {kind:?} in {:#?}", inspection.findings) };
    assert_eq!(found.next(), None);
    assert!(!finding.fixes.is_empty() && !finding.why.is_empty() && !finding.what.ends_with('.'), "{finding:?}");
    finding.clone()
}

/// That there is no finding of this kind.
fn none(inspection: &Inspection, kind: FindingKind) {
    let found = inspection.findings.iter().find(|finding| finding.kind == kind);
    assert_eq!(found, None);
}

/// Addresses of the relocations whose line `readelf` prints with this word.
fn relocations(path: &Path, word: &str) -> Vec<u64> {
    let text = readelf(&["--relocs"], path);
    let lines =
        text.lines().filter(|line| line.split(|c: char| c.is_whitespace() || c == '@').any(|part| part == word));
    lines.map(|line| u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()).collect()
}

/// Number of different pages of 4 KiB that addresses lie in.
fn pages(addresses: &[u64]) -> u64 {
    let pages: std::collections::BTreeSet<u64> = addresses.iter().map(|address| address / 4096).collect();
    pages.len() as u64
}
