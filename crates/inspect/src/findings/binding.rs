//! Findings about symbols.

use super::{Certainty, Finding, FindingKind, Fix, Saving, counted};
use crate::layout::Binding;
use crate::object::Object;
use crate::parts::Parts;

/// Fewer references than this are not worth a line.
const MANY_REFERENCES: u64 = 64;

pub(super) fn findings(object: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(own_symbols(object, parts));
    findings.extend(pure_virtual(parts));
    findings
}

fn own_symbols(object: &Object<'_>, parts: &Parts) -> Option<Finding> {
    let references = &parts.relocations.references;
    let own = references.could_be_relative().saturating_add(references.own_calls);
    if own < MANY_REFERENCES || object.is_program() {
        return None;
    }
    // Lazily bound calls cost nothing at the start.
    let binds_now = parts.layout.dynamic.as_ref().is_some_and(|dynamic| dynamic.binding == Binding::Now);
    let calls_at_start = if binds_now { references.own_calls } else { 0 };
    Some(Finding {
        kind: FindingKind::OwnSymbolReferences,
        what: format!(
            "{} to symbols that the file itself exports, {} in its PLT",
            counted(own, "reference"),
            counted(references.own_calls, "call")
        ),
        place: "symbolic entries of the relocation tables".to_owned(),
        why: "each is looked up by name in every library before it, because that one may define the symbol, too",
        fixes: vec![
            Fix::Linker("-Bsymbolic-functions, or -Bsymbolic-non-weak-functions of lld"),
            Fix::Compiler("-fvisibility=hidden, or protected visibility for exported symbols"),
        ],
        saves: Saving { lookups: references.could_be_relative().saturating_add(calls_at_start), ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "other libraries and LD_PRELOAD can no longer interpose these symbols",
    })
}

/// By name only: references to the object's own hidden function are relative already and need no fix.
fn pure_virtual(parts: &Parts) -> Option<Finding> {
    let count = parts.relocations.references.pure_virtual_by_name;
    if count < MANY_REFERENCES {
        return None;
    }
    Some(Finding {
        kind: FindingKind::PureVirtualReferences,
        what: counted(count, "reference") + " to __cxa_pure_virtual",
        place: "vtables of abstract classes".to_owned(),
        why: "each is a symbolic relocation for a slot that is never called",
        fixes: vec![Fix::Source(
            "define a hidden __cxa_pure_virtual in the library, which makes the references relative",
        )],
        saves: Saving { lookups: count, ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "the loader caches the last symbol it looked up, so many of these are cheap",
    })
}
