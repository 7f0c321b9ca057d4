//! Findings about the tables of relocations.

use super::{Certainty, Finding, FindingKind, Fix, Saving, counted};
use crate::file_pages::PAGE;
use crate::object::Object;
use crate::parts::Parts;

/// Smaller tables save no page.
pub(super) const WORTH_PACKING: u64 = PAGE;

pub(super) fn findings(object: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(unpacked(object, parts));
    findings.extend(private_pages(parts));
    findings
}

fn unpacked(object: &Object<'_>, parts: &Parts) -> Option<Finding> {
    let packing = &parts.relocations.packing;
    if packing.saved_bytes < WORTH_PACKING || object.dynamic.is_none() {
        return None;
    }
    let table = parts.relocations.tables.iter().find(|table| table.name != "DT_JMPREL")?;
    Some(Finding {
        kind: FindingKind::UnpackedRelocations,
        what: format!(
            "{} take {} bytes, and {} bytes as RELR",
            counted(packing.packable_count, "relative relocation"),
            // Only packable ones; what RELR cannot encode stays unchanged.
            packing.saved_bytes.saturating_add(packing.packed_bytes),
            packing.packed_bytes
        ),
        place: format!("{} at file offset {:#x}", table.name, table.file_offset),
        why: "the loader reads the whole table before the program starts, and writes as many words",
        fixes: vec![Fix::Verb("pack"), Fix::Linker("-z pack-relative-relocs")],
        saves: Saving { file_bytes: packing.saved_bytes, read_pages: packing.saved_bytes / PAGE, ..Saving::default() },
        certainty: Certainty::Counted,
        condition: "needs glibc 2.36, musl 1.2.4 or Android 9 where the file runs",
    })
}

/// Fewer private pages than this are not worth a source change.
const MANY_PRIVATE_PAGES: u64 = 64;

fn private_pages(parts: &Parts) -> Option<Finding> {
    let dirtied = &parts.relocations.dirtied_pages;
    if dirtied.pages < MANY_PRIVATE_PAGES {
        return None;
    }
    let tables = parts.owners.largest_tables.first().filter(|table| table.bytes >= 16 * PAGE);
    let place = match tables {
        Some(table) => format!("the largest named table is `{}` ({} bytes)", table.name, table.bytes),
        None => "the segments that relocation writes to".to_owned(),
    };
    Some(Finding {
        kind: FindingKind::PrivatePages,
        what: format!("relocation writes to {}, {} bytes", counted(dirtied.pages, "page"), dirtied.bytes),
        place,
        why: "each is read from the file and copied to private memory of every process, used or not",
        fixes: vec![
            Fix::Source("constant tables of offsets instead of pointers"),
            Fix::Compiler("-fno-rtti, -fvisibility=hidden"),
        ],
        // How many of them a source change would avoid is not in the file, so no saving is stated.
        saves: Saving::default(),
        certainty: Certainty::UpperBound,
        condition: "packing does not change this: the same words are written",
    })
}
