//! Findings about code that runs before `main`.

use super::{Certainty, Finding, FindingKind, Fix, Saving, counted, seeks_in};
use crate::file_pages::PAGE;
use crate::initialisers::InitialiserKind;
use crate::loader_reads::LoaderStep;
use crate::object::Object;
use crate::parts::Parts;

/// Fewer initialisers than this come from the compiler and the C library themselves.
const MANY_INITIALISERS: u64 = 16;

pub(super) fn findings(_: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(many(parts));
    findings.extend(backward(parts));
    findings
}

fn many(parts: &Parts) -> Option<Finding> {
    let totals = &parts.initialisers.totals;
    if totals.count < MANY_INITIALISERS {
        return None;
    }
    Some(Finding {
        kind: FindingKind::ManyInitialisers,
        what: format!(
            "{} run before main, in {} of code within {} of 128 KiB",
            counted(totals.count, "initialiser"),
            counted(totals.code_pages, "page"),
            counted(totals.readahead_windows, "window")
        ),
        place: "DT_INIT and DT_INIT_ARRAY".to_owned(),
        why: "their code, and the pages they touch, are read and run at every start, needed or not",
        fixes: vec![
            Fix::Source("constant initialisation (constexpr, constinit), or at first use"),
            Fix::Verb("order"),
            Fix::Linker("--symbol-ordering-file, with the initialisers together"),
        ],
        // Placed together, they would need only the pages that their bytes fill; callees are not counted.
        saves: Saving {
            read_pages: totals.code_pages.saturating_sub(totals.code_bytes.div_ceil(PAGE)),
            ..Saving::default()
        },
        certainty: Certainty::UpperBound,
        condition: "code that is needed soon afterwards is only read earlier",
    })
}

fn backward(parts: &Parts) -> Option<Finding> {
    let functions = &parts.initialisers.functions;
    let ctors = functions.iter().filter(|function| function.kind == InitialiserKind::Ctors).count() as u64;
    if ctors < 2 {
        return None;
    }
    // The order does not matter for code within one read.
    let seeks = parts.initialisers.totals.backward_jumps.min(ctors).min(seeks_in(parts, LoaderStep::Initialisers));
    Some(Finding {
        kind: FindingKind::BackwardInitialisers,
        what: format!("{} in .ctors, which runs from its end to its beginning", counted(ctors, "initialiser")),
        place: ".ctors".to_owned(),
        why: "their code is in the opposite order, and readahead only works forwards",
        fixes: vec![Fix::Compiler("a compiler configured with --enable-initfini-array, as all are since GCC 4.7")],
        saves: Saving { seeks, ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "changes the order of initialisers across translation units",
    })
}
