//! The report on one object: findings first, then the figures behind them.

use coldstart_app::inspect::Inspected;
use coldstart_inspect::{Figures, Inspection};

use super::text::{counted, escaped, fact, name, number, prose, size};
use super::{findings, initialisers, layout, owners, reads, relocations, space, words};
use crate::output::path::fitted;
use crate::output::style::HEADING;
use crate::output::table::MAX_WIDTH;

/// Everything about one object; `all` lists everything.
pub(in super::super) fn object(inspected: &Inspected, all: bool) -> String {
    let Inspection { object, parts, findings } = &inspected.inspection;
    let mut text = format!("{HEADING}{}{HEADING:#}\n", fitted(&inspected.path, MAX_WIDTH));
    text.push_str(&what_it_is(&inspected.inspection));
    text.push_str(&findings::overview(findings));
    text.push_str(&space::space(&parts.space, object.bytes));
    text.push_str(&findings::details(findings));
    text.push_str(&relocations::relocations(&parts.relocations, object.bytes, all));
    text.push_str(&owners::owners(&parts.owners, all));
    text.push_str(&initialisers::initialisers(&parts.initialisers, object.kind, all));
    text.push_str(&reads::reads(&parts.loader_reads));
    text.push_str(&layout::layout(&parts.layout, all));
    text
}

fn what_it_is(inspection: &Inspection) -> String {
    let object = &inspection.object;
    let order = if object.is_big_endian { ", big-endian" } else { "" };
    let build_id = object.build_id.as_ref().map(|id| format!(", build id {}", name(id, 48))).unwrap_or_default();
    let what = format!(
        "{} for {} ({}\u{a0}bits{order}), {}{build_id}; {}",
        words::kind(object.kind),
        name(&object.machine, 24),
        object.bits,
        size(object.bytes),
        words::names_from(object.names_from)
    );
    let mut text = prose(&what, 2, 2);
    text.push_str(&prose(&cost(&Figures::of(inspection)), 2, 2));
    if let Some(problem) = &object.section_problem {
        text.push_str(&fact("problem", &format!("its sections cannot be read: {}", escaped(problem))));
    }
    text
}

/// The costs at each start, as a sentence.
fn cost(figures: &Figures) -> String {
    let parts = [
        (figures.relocations, "word relocated", "words relocated"),
        (figures.private_pages, "page made private", "pages made private"),
        (figures.lookups, "symbol looked up", "symbols looked up"),
        (figures.initialisers, "initialiser run", "initialisers run"),
    ];
    let mut parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, several)| format!("{}\u{a0}{}", number(count), if count == 1 { one } else { several }))
        .collect();
    if figures.read_requests > 0 {
        parts.push(format!("from a cold cache {} (modelled)", counted(figures.read_requests, "read request")));
    }
    if parts.is_empty() { "no cost at start".to_owned() } else { format!("each start: {}", parts.join(", ")) }
}
