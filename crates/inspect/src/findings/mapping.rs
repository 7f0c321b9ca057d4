//! Findings about how the file is mapped and read.

use super::packing::WORTH_PACKING;
use super::{Certainty, Finding, FindingKind, Fix, Saving, counted, seeks_in};
use crate::file_pages::PAGE;
use crate::loader_reads::LoaderStep;
use crate::object::Object;
use crate::parts::Parts;

/// With fewer seeks than this, a plan gains little.
const MANY_SEEKS: u64 = 8;
/// Padding up to this size is normal for page alignment.
const USUAL_PADDING: u64 = 64 << 10;

pub(super) fn findings(object: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(scattered(parts));
    findings.extend(text_relocations(parts));
    findings.extend(copy_relocations(parts));
    findings.extend(zero_fill(parts));
    findings.extend(padding(parts));
    findings.extend(small_alignment(object, parts));
    findings.extend(prelink(parts));
    findings
}

fn scattered(parts: &Parts) -> Option<Finding> {
    let reads = &parts.loader_reads;
    if reads.seeks < MANY_SEEKS {
        return None;
    }
    let mut fixes = vec![Fix::Verb("prefetch")];
    if parts.relocations.packing.saved_bytes >= WORTH_PACKING {
        fixes.push(Fix::Verb("pack"));
    }
    let far_apart: Vec<String> = {
        let mut steps: Vec<_> = reads.steps.iter().filter(|step| step.seeks > 0).collect();
        steps.sort_by_key(|step| std::cmp::Reverse(step.seeks));
        steps.iter().take(3).map(|step| format!("{} {}", step.seeks, step.step.describe())).collect()
    };
    Some(Finding {
        kind: FindingKind::ScatteredReads,
        what: format!(
            "the loader alone makes {}, {} of them seeks; {} of {} pages are read but not used",
            counted(reads.requests, "request"),
            reads.seeks,
            reads.read_pages.saturating_sub(reads.useful_pages),
            reads.read_pages
        ),
        place: format!("most seeks: {}", far_apart.join(", ")),
        why: "from a cold cache each seek waits for the disk or the network in turn",
        fixes,
        saves: Saving { seeks: reads.seeks.saturating_sub(1), ..Saving::default() },
        certainty: Certainty::Modelled,
        condition: "nothing of the file is cached, and readahead is 128 KiB",
    })
}

fn text_relocations(parts: &Parts) -> Option<Finding> {
    let text = &parts.layout.special.text_relocations;
    if text.words == 0 {
        return None;
    }
    Some(Finding {
        kind: FindingKind::TextRelocations,
        what: format!("{} in read-only memory, on {}", counted(text.words, "relocation"), counted(text.pages, "page")),
        place: "segments that are not writable".to_owned(),
        why: "the loader makes the segment writable and back, and each page becomes private memory",
        fixes: vec![
            Fix::Compiler("-fPIC for every object file, assembly included"),
            Fix::Linker("-z text, which lists them"),
        ],
        saves: Saving { private_pages: text.pages, ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "pointers in constant data move to other pages, which become private instead",
    })
}

fn copy_relocations(parts: &Parts) -> Option<Finding> {
    let copies = &parts.layout.special.copy_relocations;
    if copies.count == 0 {
        return None;
    }
    let largest = copies.largest.first();
    Some(Finding {
        kind: FindingKind::CopyRelocations,
        what: format!(
            "{} copied out of libraries, {}",
            counted(copies.count, "variable"),
            counted(copies.bytes, "byte")
        ),
        place: largest.map_or_else(String::new, |copy| {
            format!("the largest is `{}` ({})", copy.name, counted(copy.bytes, "byte"))
        }),
        why: "the library's own page is read for the copy, and the library then reaches its variable through the GOT",
        fixes: vec![Fix::Compiler("-fPIC, or -mno-direct-extern-access, for the program")],
        // One page each, and the pages that a large one fills.
        saves: Saving { read_pages: copies.count.saturating_add(copies.bytes / PAGE), ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "adjacent variables share a page",
    })
}

fn zero_fill(parts: &Parts) -> Option<Finding> {
    let shared = |zeros: &&crate::layout::ZeroFill| zeros.shared_file_page.is_some() && !zeros.shared_page_is_relocated;
    let pages = parts.layout.zero_fill.iter().filter(shared).count() as u64;
    let first = parts.layout.zero_fill.iter().find(shared)?;
    // None if reading the headers or another part also reads the page.
    let seeks = pages.min(seeks_in(parts, LoaderStep::ZeroFill));
    Some(Finding {
        kind: FindingKind::BssInFilePage,
        what: format!(
            "the zero-filled memory begins {} before the end of a page",
            counted(first.cleared_bytes, "byte")
        ),
        place: format!("address {:#x}, page {} of the file", first.address, first.shared_file_page.unwrap_or(0)),
        why: "that page is read early, before its neighbours, and copied only to clear its end",
        fixes: vec![Fix::Linker(
            "a linker script that fills the file up to the end of that page; aligning .bss alone does not",
        )],
        saves: Saving { read_pages: pages, private_pages: pages, seeks, ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "a program that writes to the variables before it needs the page anyway",
    })
}

fn padding(parts: &Parts) -> Option<Finding> {
    let alignment = &parts.layout.alignment;
    if alignment.padding_bytes <= USUAL_PADDING {
        return None;
    }
    Some(Finding {
        kind: FindingKind::AlignmentPadding,
        what: format!(
            "{} bytes of the file are padding between segments aligned to {} bytes",
            alignment.padding_bytes, alignment.largest_alignment_bytes
        ),
        place: "between the mapped segments".to_owned(),
        why: "readahead reads the padding with its surroundings, and packages contain it",
        fixes: vec![Fix::Linker("a smaller -z max-page-size; -z noseparate-code leaves the gap before the data")],
        saves: Saving { file_bytes: alignment.padding_bytes, ..Saving::default() },
        // A smaller alignment leaves smaller gaps.
        certainty: Certainty::UpperBound,
        condition: "large alignment is right where huge pages of code are wanted, or pages of 64 KiB are in use",
    })
}

/// Architectures whose kernels may have 64 KiB pages: AArch64, PowerPC, MIPS, LoongArch.
const LARGE_PAGE_MACHINES: [u16; 5] = [183, 20, 21, 8, 258];

fn small_alignment(object: &Object<'_>, parts: &Parts) -> Option<Finding> {
    let alignment = &parts.layout.alignment;
    let machine = object.file.encoding().machine;
    if alignment.loads_with_64_kib_pages || !LARGE_PAGE_MACHINES.contains(&machine) {
        return None;
    }
    Some(Finding {
        kind: FindingKind::SmallAlignment,
        what: "cannot be loaded by kernels with 64 KiB pages".to_owned(),
        place: alignment.obstacles_to_64_kib_pages.first().cloned().unwrap_or_default(),
        why: "distributions for this architecture ship such kernels, and the loader refuses the file there",
        fixes: vec![Fix::Linker("-z max-page-size=65536")],
        saves: Saving::default(),
        certainty: Certainty::Counted,
        condition: "",
    })
}

fn prelink(parts: &Parts) -> Option<Finding> {
    let prelink = parts.layout.prelink.as_ref()?;
    Some(Finding {
        kind: FindingKind::PrelinkIgnored,
        what: format!("prelinked against {}: {}", counted(prelink.library_count, "library"), prelink.reason),
        place: "DT_GNU_PRELINKED, DT_GNU_LIBLIST".to_owned(),
        why: "the loader repeats the work that prelink was meant to save",
        fixes: vec![Fix::Source("rebuild or reinstall the file, or undo it with prelink -u")],
        saves: Saving::default(),
        certainty: Certainty::Counted,
        condition: "glibc before 2.36 may still honour it for a file at its preferred address",
    })
}
