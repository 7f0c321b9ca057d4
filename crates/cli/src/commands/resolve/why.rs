//! The whole story of one library: who asked for it, what was tried, which rule found it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use coldstart_loader::{FoundBy, Request};

use super::answer::Answer;
use super::{report, words};
use crate::output::charset::either;
use crate::output::path::printable;
use crate::output::style::HEADING;
use crate::output::text::{counted, plain, prose};

/// The story in sentences, and whether the start loads such a library.
pub(super) fn story(answer: &Answer, library: &OsStr) -> (String, bool) {
    let wanted = library.as_bytes();
    let mut text = String::new();
    let mut is_found = false;
    for (index, object) in answer.closure.objects.iter().enumerate() {
        let file_name = object.path.file_name().map(OsStr::as_bytes);
        let is_asked =
            answer.closure.requests.iter().any(|request| request.object == Some(index) && request.needed == wanted);
        let is_it = is_asked
            || object.facts.soname.as_deref() == Some(wanted)
            || object.path.as_os_str().as_bytes() == wanted
            || file_name == Some(wanted);
        if is_it {
            is_found = true;
            text.push_str(&of_object(answer, index));
        }
    }
    for missing in
        answer.closure.missing.iter().filter(|missing| missing.needed == wanted || missing.name_asked == wanted)
    {
        let who = printable(answer.path(missing.requester));
        text.push_str(&prose(&format!("{} needs {}, which is not found.", who, words::text(&missing.needed)), 0, 2));
        text.push_str(&tried(answer, missing.requester, &missing.needed));
        text.push_str(&prose(&format!("Searched: {}.", report::searched(answer, missing)), 2, 4));
    }
    if let Some(stopped) = answer.closure.stopped.as_ref().filter(|stopped| stopped.needed == wanted) {
        let who = printable(answer.path(stopped.requester));
        let file = printable(&stopped.path);
        let reason = words::failure(&stopped.reason);
        text.push_str(&prose(
            &format!("{who} needs {}. {file}: {reason}. The start ends there.", words::text(wanted)),
            0,
            2,
        ));
        text.push_str(&tried(answer, stopped.requester, wanted));
    }
    for hint in
        answer.hints.hints.iter().filter(|hint| hint.entry.sonames.iter().any(|soname| soname.as_bytes() == wanted))
    {
        let who = printable(answer.path(hint.object));
        text.push_str(&prose(
            &format!("A note in {who} says that it may open it later ({}).", hint.entry.priority.name()),
            0,
            2,
        ));
        let found = hint.alternatives.iter().filter(|alternative| alternative.soname.as_bytes() == wanted);
        for found in found.filter_map(|alternative| alternative.found.as_ref()).filter(|found| !found.is_loaded) {
            let place = printable(&found.path);
            text.push_str(&prose(
                &format!("It would be found by {}: {place}", words::text(found.rule.as_bytes())),
                2,
                4,
            ));
        }
    }
    if text.is_empty() {
        let program = printable(&answer.start.program);
        text = prose(
            &format!("{program} does not load {}, and nothing that it loads asks for it.", words::text(wanted)),
            0,
            2,
        );
    }
    (text, is_found)
}

fn of_object(answer: &Answer, index: usize) -> String {
    let Some(object) = answer.closure.objects.get(index) else { return String::new() };
    let mut text = format!("{HEADING}{}{HEADING:#}\n", printable(&object.path));
    match (object.found_by, answer.brought_by(index)) {
        (FoundBy::Program, _) => text.push_str("  is the program itself\n"),
        (FoundBy::Interpreter, None) => {
            text.push_str(&prose("is the program's loader; the kernel maps it before anything is searched.", 2, 4));
        }
        (_, None) => {}
        (rule, Some(request)) => {
            text.push_str(&prose(&asked(answer, request), 2, 4));
            text.push_str(&tried(answer, request.requester, &request.needed));
            text.push_str(&prose(&found(answer, index, rule, request), 2, 4));
        }
    }
    let chain = chain(answer, index);
    if chain.len() > 2 {
        let chain: Vec<String> = chain.into_iter().map(|object| answer.file_name(object)).collect();
        text.push_str(&prose(&format!("The way to it: {}.", chain.join(either(" → ", " -> "))), 2, 4));
    }
    if let Some(soname) = &object.facts.soname {
        text.push_str(&prose(&format!("It calls itself {} (its soname).", words::text(soname)), 2, 4));
    }
    let later = answer.closure.requests.iter().filter(|request| request.object == Some(index));
    let later = later.filter(|request| matches!(request.found_by, Some(FoundBy::AlreadyLoaded(_))));
    let later: Vec<&Request> = later.collect();
    if !later.is_empty() {
        let who: Vec<String> = later.iter().map(|request| answer.file_name(request.requester)).collect();
        let times = counted(later.len() as u64, "object");
        let asks = if later.len() == 1 { "asks" } else { "ask" };
        text.push_str(&prose(&format!("{times} {asks} for it once it is loaded: {}.", who.join(", ")), 2, 4));
    }
    text
}

fn asked(answer: &Answer, request: &Request) -> String {
    let name = words::text(&request.needed);
    let expanded = words::text(&request.name_asked);
    let as_what = if expanded == name { String::new() } else { format!(", which becomes {expanded}") };
    if request.preload {
        return format!("is preloaded as {name}{as_what}.");
    }
    format!("was first asked for by {} as {name}{as_what}.", printable(answer.path(request.requester)))
}

/// What was tried in vain, one line for each file.
fn tried(answer: &Answer, requester: usize, needed: &[u8]) -> String {
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
    format!("  {} in vain:\n{}", plain(&counted(lines.len() as u64, "try")), lines.concat())
}

fn found(answer: &Answer, index: usize, rule: FoundBy, request: &Request) -> String {
    let place = printable(&words::listed_directory(answer, answer.path(index)));
    let words = words::rule(answer, rule, Some(request.requester));
    match rule {
        FoundBy::Path => "The name holds a slash, so it is a path, and nothing was searched.".to_owned(),
        FoundBy::LdSoCache => {
            let cache = answer.start.surroundings.cache_file.as_deref().map(printable).unwrap_or_default();
            format!("The loader's cache {cache} names this file.")
        }
        FoundBy::DefaultDirectory => format!("It is in {place}, a directory that the loader searches by default."),
        FoundBy::Interpreter => "It is the loader, which is there before anything is searched.".to_owned(),
        _ => format!("It is in {place}, from {words}."),
    }
}

/// The objects that led to it, the program first.
fn chain(answer: &Answer, object: usize) -> Vec<usize> {
    let mut chain = vec![object];
    while let Some(next) = chain.last().and_then(|last| answer.closure.objects.get(*last)?.requester) {
        if chain.contains(&next) {
            break;
        }
        chain.push(next);
    }
    chain.reverse();
    chain
}
