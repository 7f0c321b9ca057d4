//! The dependency tree.
//!
//! The dependencies of an object are below its first request; further requests are one line with (*). So each object is
//! expanded once, and cycles end.

use coldstart_app::resolve::Resolution;
use coldstart_app::text::harmless;

use super::words;
use crate::output::charset::either;
use crate::output::path::printable;

/// The tree, one line for each request. Lines are as long as their paths.
pub(super) fn tree(answer: &Resolution) -> String {
    let mut text = format!("{}\n", printable(&answer.start.program));
    let mut asked_by: Vec<Vec<usize>> = vec![Vec::new(); answer.closure.objects.len()];
    for (index, request) in answer.closure.requests.iter().enumerate() {
        if let Some(requests) = asked_by.get_mut(request.requester) {
            requests.push(index);
        }
    }
    let (goes_on, last, middle) = either(("│   ", "└── ", "├── "), ("|   ", "`-- ", "|-- "));
    // Not by recursion: a hostile chain may be as deep as there are files.
    let of = |object: usize| asked_by.get(object).cloned().unwrap_or_default();
    let mut open: Vec<(Vec<usize>, usize)> = vec![(of(0), 0)];
    while let Some((requests, next)) = open.last_mut() {
        let Some(&request) = requests.get(*next) else {
            open.pop();
            continue;
        };
        *next += 1;
        let below = open.iter().rev().skip(1).rev();
        let mut line: String =
            below.map(|(requests, next)| if *next < requests.len() { goes_on } else { "    " }).collect();
        let is_last = open.last().is_some_and(|(requests, next)| *next >= requests.len());
        line.push_str(if is_last { last } else { middle });
        text.push_str(&format!("{line}{}\n", request_line(answer, request)));
        if answer.brings_in(request)
            && let Some(object) = answer.closure.requests.get(request).and_then(|request| request.object)
        {
            open.push((of(object), 0));
        }
    }
    if let Some(stopped) = &answer.closure.stopped {
        let what = format!("{} {}", harmless(&stopped.needed), printable(&stopped.path));
        text.push_str(&format!("the start fails at {}: {}\n", what.trim_end(), words::failure(&stopped.reason)));
    }
    text
}

fn request_line(answer: &Resolution, index: usize) -> String {
    let Some(request) = answer.closure.requests.get(index) else { return String::new() };
    let name = harmless(&request.needed);
    let preloaded = if request.preload { ", preloaded" } else { "" };
    match (request.object, request.found_by) {
        (Some(object), Some(rule)) if answer.brings_in(index) => {
            let failed = answer.failed_before(object);
            let failed = if failed == 0 { String::new() } else { format!(", {failed} failed") };
            let rule = words::rule(answer, rule, Some(request.requester));
            format!("{name} => {} [{rule}{failed}{preloaded}]", printable(answer.path(object)))
        }
        (Some(object), Some(rule)) => {
            let rule = words::rule(answer, rule, Some(request.requester));
            // The file's name only where it is another one.
            let file = answer.file_name(object);
            let file = if name == file { String::new() } else { format!(" => {file}") };
            format!("{name}{file} (*) [{rule}{preloaded}]")
        }
        _ => format!("{name} => not found{preloaded}"),
    }
}
