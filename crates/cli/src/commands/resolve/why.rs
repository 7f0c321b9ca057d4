//! `--why`: who requested a library, the failed probes, and the rule that found it.

use std::ffi::OsStr;

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;
use coldstart_loader::{FoundBy, Request};

use super::{report, words};
use crate::output::charset::either;
use crate::output::path::printable;
use crate::output::style::HEADING;
use crate::output::text::{counted, plain, prose};

/// The report, and whether the start loads such a library.
pub(super) fn story(answer: &Resolution, library: &OsStr) -> (String, bool) {
    let mentions = answer.mentions(library);
    let name = printable(library.as_ref());
    let mut text: String = mentions.objects.iter().map(|&index| of_object(answer, index)).collect();
    for missing in mentions.missing {
        let who = printable(answer.path(missing.requester));
        text.push_str(&prose(&format!("{who} needs {}, which was not found.", harmless(&missing.needed)), 0, 2));
        text.push_str(&tried(answer, missing.requester, &missing.needed));
        text.push_str(&prose(&format!("Searched: {}.", report::searched(answer, missing)), 2, 4));
    }
    if let Some(stopped) = mentions.stopped {
        let who = printable(answer.path(stopped.requester));
        let (file, reason) = (printable(&stopped.path), words::failure(&stopped.reason));
        text.push_str(&prose(&format!("{who} needs {name}. {file}: {reason}. The start fails there."), 0, 2));
        text.push_str(&tried(answer, stopped.requester, &stopped.needed));
    }
    for hint in mentions.hints {
        let (who, priority) = (printable(answer.path(hint.object)), hint.entry.priority.name());
        text.push_str(&prose(&format!("{who} may open it later, by its dlopen note ({priority})."), 0, 2));
        let found = hint.alternatives.iter().filter(|alternative| OsStr::new(&alternative.soname) == library);
        for found in found.filter_map(|alternative| alternative.found.as_ref()).filter(|found| !found.is_loaded) {
            let (rule, place) = (harmless(found.rule.as_bytes()), printable(&found.path));
            text.push_str(&prose(&format!("It would be found by {rule}: {place}"), 2, 4));
        }
    }
    if text.is_empty() {
        let program = printable(&answer.start.program);
        text = prose(&format!("{program} does not load {name}, and no object requests it."), 0, 2);
    }
    (text, !mentions.objects.is_empty())
}

fn of_object(answer: &Resolution, index: usize) -> String {
    let Some(object) = answer.closure.objects.get(index) else { return String::new() };
    let mut text = format!("{HEADING}{}{HEADING:#}\n", printable(&object.path));
    match (object.found_by, answer.brought_by(index)) {
        (FoundBy::Program, _) => text.push_str("  is the program itself\n"),
        (FoundBy::Interpreter, None) => {
            text.push_str(&prose("is the program's loader, mapped by the kernel before any search.", 2, 4));
        }
        (_, None) => {}
        (rule, Some(request)) => {
            text.push_str(&prose(&asked(answer, request), 2, 4));
            text.push_str(&tried(answer, request.requester, &request.needed));
            text.push_str(&prose(&found(answer, index, rule, request), 2, 4));
        }
    }
    let chain = answer.chain(index);
    if chain.len() > 2 {
        let chain: Vec<String> = chain.into_iter().map(|object| answer.file_name(object)).collect();
        text.push_str(&prose(&format!("Needed through: {}.", chain.join(either(" → ", " -> "))), 2, 4));
    }
    if let Some(soname) = &object.facts.soname {
        text.push_str(&prose(&format!("Its soname is {}.", harmless(soname)), 2, 4));
    }
    let later: Vec<&Request> = answer.later_requests(index).collect();
    if !later.is_empty() {
        let who: Vec<String> = later.iter().map(|request| answer.file_name(request.requester)).collect();
        let times = counted(later.len() as u64, "object");
        let asks = if later.len() == 1 { "requests" } else { "request" };
        text.push_str(&prose(&format!("{times} {asks} it again later: {}.", who.join(", ")), 2, 4));
    }
    text
}

fn asked(answer: &Resolution, request: &Request) -> String {
    let name = harmless(&request.needed);
    let expanded = harmless(&request.name_asked);
    let as_what = if expanded == name { String::new() } else { format!(", expanded to {expanded}") };
    if request.preload {
        return format!("is preloaded as {name}{as_what}.");
    }
    format!("was first requested by {} as {name}{as_what}.", printable(answer.path(request.requester)))
}

/// Failed probes, one line for each file.
fn tried(answer: &Resolution, requester: usize, needed: &[u8]) -> String {
    let lines: Vec<String> = answer
        .failed_for(requester, needed)
        .map(|probe| {
            let rule = words::rule(answer, probe.rule, Some(requester));
            format!("    {}  {rule}: {}\n", printable(&probe.path), words::failure(&probe.failure))
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("  {}:\n{}", plain(&counted(lines.len() as u64, "failed probe")), lines.concat())
}

fn found(answer: &Resolution, index: usize, rule: FoundBy, request: &Request) -> String {
    let place = printable(&answer.listed_directory(answer.path(index)));
    let words = words::rule(answer, rule, Some(request.requester));
    match rule {
        FoundBy::Path => "The name contains a slash, so it is a path and was not searched.".to_owned(),
        FoundBy::LdSoCache => {
            let cache = answer.start.surroundings.cache_file.as_deref().map(printable).unwrap_or_default();
            format!("It is in the loader's cache {cache}.")
        }
        FoundBy::DefaultDirectory => format!("It is in the default directory {place}."),
        FoundBy::Interpreter => "It is the loader, mapped before any search.".to_owned(),
        _ => format!("It is in {place}, from {words}."),
    }
}
