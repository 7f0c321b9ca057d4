//! The default report: what is loaded and by which rule, then anything unusual.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::path::PathBuf;

use coldstart_app::command;
use coldstart_app::resolve::{DlopenHint, Resolution, kind};
use coldstart_app::text::harmless;
use coldstart_loader::{Missing, Rules};
use coldstart_startup::ProgramKind;

use super::words;
use crate::output::path::{fitted, printable};
use crate::output::style::HEADING;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, cut, fact, fit, heading, list, name, number, omitted, plain, prose, table};

/// Maximum rows of a table without `--all`.
const SOME: usize = 24;
/// Columns for a name, and for a rule.
const NAME: usize = 30;
const RULE: usize = 32;

/// The report on one program; `all` lists everything.
pub(super) fn report(answer: &Resolution, all: bool) -> String {
    let program = printable(&answer.start.program);
    let title = format!("{HEADING}{}{HEADING:#}", cut(&program, 60));
    let mut text = prose(&format!("{} {}", cut(&program, 60), summary(answer)), 0, 2);
    text = text.replacen(&cut(&program, 60), &title, 1);
    if answer.start.loads_nothing() {
        return text;
    }
    text.push_str(&facts(answer));
    text.push_str(&stopped(answer));
    text.push_str(&missing(answer));
    text.push_str(&libraries(answer, all));
    text.push_str(&twice(answer));
    text.push_str(&late(answer, all));
    text.push_str(&opened_later(answer, all));
    text
}

fn summary(answer: &Resolution) -> String {
    if answer.start.is_its_own_loader() {
        return "is a loader itself: it loads nothing".to_owned();
    }
    if answer.start.kind == ProgramKind::Static {
        return "is a static program: it loads nothing".to_owned();
    }
    let loads = format!("loads {}", counted(answer.library_count() as u64, "library"));
    let needed = answer.closure.missing.iter().filter(|missing| !missing.preload).count();
    if answer.closure.stopped.is_some() {
        return format!("does not start: {loads}, then fails at one file");
    }
    if needed > 0 {
        return format!("does not start: {loads}, and {} cannot be found", counted(needed as u64, "name"));
    }
    match (answer.library_count(), answer.closure.failed_probes.len() as u64) {
        (0, _) => "loads no library".to_owned(),
        (_, 0) => format!("{loads} without failed probes"),
        (_, failed) => format!("{loads} with {}", counted(failed, "failed probe")),
    }
}

fn facts(answer: &Resolution) -> String {
    let mut text = fact("rules", &rules(answer));
    text.push_str(&fact("found by", &by_rule(found_by(answer))));
    let failed = &answer.closure.failed_probes;
    if !failed.is_empty() {
        let mut counts = BTreeMap::new();
        for probe in failed {
            *counts.entry(kind(probe.rule)).or_insert(0) += 1;
        }
        text.push_str(&fact("failed", &format!("{}: {}", counted(failed.len() as u64, "probe"), by_rule(counts))));
    }
    text.push_str(&fact("calls", &calls(answer)));
    if let Some(problem) = &answer.start.surroundings.cache_problem {
        let path = answer.start.surroundings.cache_file.as_deref().map(printable).unwrap_or_default();
        text.push_str(&fact("cache", &format!("{path} is treated as empty: {}", harmless(problem.as_bytes()))));
    }
    if !failed.is_empty() && answer.is_complete() {
        let bind = command::of_ours_in_prose("bind", &answer.start.program);
        text.push_str(&list("fix", &format!("`{bind}` removes the failed probes")));
    }
    text
}

fn rules(answer: &Resolution) -> String {
    let surroundings = &answer.start.surroundings;
    let environment = &surroundings.environment;
    let mut parts = vec![words::loader(answer)];
    if let Some(interpreter) = &surroundings.interpreter {
        parts.push(printable(interpreter));
    }
    if let Some(sysroot) = answer.start.files.root().sysroot() {
        parts.push(format!("in {}", printable(sysroot)));
    }
    match (&environment.cache, environment.rules, &surroundings.cache_file) {
        (Some(cache), _, Some(path)) => {
            parts.push(format!("{} with {}", printable(path), counted(cache.entries().len() as u64, "entry")));
        }
        (None, Rules::Glibc, _) => parts.push("no cache".to_owned()),
        _ => {}
    }
    if environment.rules == Rules::Glibc {
        let levels: Vec<String> = environment.hwcaps.levels.iter().map(|level| harmless(level)).collect();
        parts.push(if levels.is_empty() { "no processor levels".to_owned() } else { levels.join(" ") });
    }
    let variables = [("LD_LIBRARY_PATH", &environment.ld_library_path), ("LD_PRELOAD", &environment.ld_preload)];
    for (variable, value) in variables {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            parts.push(format!("{variable}={}", cut(&harmless(value), 60)));
        }
    }
    if environment.secure {
        parts.push("secure mode (ignores these variables)".to_owned());
    }
    parts.join(", ")
}

fn found_by(answer: &Resolution) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for object in answer.libraries() {
        *counts.entry(kind(object.found_by)).or_insert(0) += 1;
    }
    counts
}

fn by_rule(counts: BTreeMap<&'static str, usize>) -> String {
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(rule, count)| (Reverse(*count), *rule));
    let counts = counts.into_iter().map(|(rule, count)| format!("{} by {rule}", number(count as u64)));
    counts.collect::<Vec<_>>().join(", ")
}

/// System calls of the search.
fn calls(answer: &Resolution) -> String {
    let found = answer.closure.requests.iter().filter(|request| request.opened.is_some()).count();
    let looks = &answer.closure.directory_probes;
    // As names: paths are compared part by part, which takes longer than finding the libraries.
    let names = answer.closure.failed_probes.iter().map(|probe| answer.listed_directory(&probe.path));
    let directories: HashSet<OsString> = names.map(PathBuf::into_os_string).collect();
    let mut text = format!("{} to find libraries", counted(found as u64, "open"));
    let failed = answer.closure.failed_probes.len() as u64;
    if failed > 0 {
        let directories = counted(directories.len() as u64, "directory");
        text = format!("{text}, {} in {directories}", counted(failed, "failed open"));
    }
    if !looks.is_empty() {
        let absent = looks.iter().filter(|look| !look.exists).count();
        let looks = counted(looks.len() as u64, "look");
        text = format!("{text}, {looks} (stat) at directories, {} of them absent", number(absent as u64));
    }
    text
}

fn stopped(answer: &Resolution) -> String {
    let Some(stopped) = &answer.closure.stopped else { return String::new() };
    let mut text = heading("The start fails", "");
    let asks = format!("{} needs {}", printable(answer.path(stopped.requester)), harmless(&stopped.needed));
    let path =
        if stopped.path.as_os_str().is_empty() { String::new() } else { format!("{}: ", printable(&stopped.path)) };
    text.push_str(&prose(&format!("{asks}; {path}{}", words::failure(&stopped.reason)), 2, 4));
    text.push_str(&prose("The libraries after it are unknown.", 2, 4));
    text
}

fn missing(answer: &Resolution) -> String {
    if answer.closure.missing.is_empty() {
        return String::new();
    }
    let mut by_name: BTreeMap<&[u8], Vec<&Missing>> = BTreeMap::new();
    for missing in &answer.closure.missing {
        by_name.entry(&missing.needed).or_default().push(missing);
    }
    let mut text = heading("Missing", &counted(by_name.len() as u64, "library"));
    for (needed, missing) in by_name {
        let mut requesters: Vec<String> = missing.iter().map(|missing| answer.file_name(missing.requester)).collect();
        requesters.dedup();
        let is_preload = missing.iter().all(|missing| missing.preload);
        let who = if is_preload {
            "preloaded, so the loader only warns".to_owned()
        } else {
            format!("needed by {}", requesters.join(", "))
        };
        text.push_str(&prose(&format!("{}: {who}", name(&harmless(needed), 60)), 2, 4));
        if let Some(first) = missing.first() {
            text.push_str(&list("  searched", &searched(answer, first)));
        }
    }
    text
}

/// The searched directories by rule.
pub(super) fn searched(answer: &Resolution, missing: &Missing) -> String {
    let mut places: Vec<(String, Vec<String>)> = Vec::new();
    for probe in answer.failed_for(missing.requester, &missing.needed) {
        let rule = words::rule(answer, probe.rule, Some(missing.requester));
        let directory = printable(&answer.listed_directory(&probe.path));
        match places.last_mut().filter(|(known, _)| *known == rule) {
            Some((_, directories)) if directories.contains(&directory) => {}
            Some((_, directories)) => directories.push(directory),
            None => places.push((rule, vec![directory])),
        }
    }
    let mut places: Vec<String> =
        places.into_iter().map(|(rule, directories)| format!("{rule} ({})", directories.join(", "))).collect();
    let is_path = missing.name_asked.contains(&b'/');
    if answer.start.surroundings.environment.cache.is_some() && !is_path {
        places.push("not in the loader's cache".to_owned());
    }
    if answer.closure.directory_probes.iter().any(|look| !look.exists) && !is_path {
        places.push("missing directories were skipped".to_owned());
    }
    if places.is_empty() { "nothing: no directory to search".to_owned() } else { places.join("; ") }
}

fn libraries(answer: &Resolution, all: bool) -> String {
    let objects: Vec<usize> = (1..answer.closure.objects.len()).collect();
    if objects.is_empty() {
        return String::new();
    }
    let shown = if all { objects.len() } else { objects.len().min(SOME) };
    let mut rows = Table::new(&[
        ("", Align::Right),
        ("library", Align::Left),
        ("found by", Align::Left),
        ("failed", Align::Right),
        ("file", Align::Left),
    ]);
    for &index in objects.iter().take(shown) {
        let Some(object) = answer.closure.objects.get(index) else { continue };
        let rule = words::rule(answer, object.found_by, object.requester);
        let rule = if object.preloaded { format!("{rule}, preloaded") } else { rule };
        let failed = answer.failed_before(index);
        let failed = if failed == 0 { "-".to_owned() } else { plain(&number(failed as u64)) };
        let asked = fitted(std::path::Path::new(std::ffi::OsStr::new(&harmless(&object.name_asked))), NAME);
        rows.row(vec![index.to_string(), asked, cut(&rule, RULE), failed, String::new()]);
    }
    fit(&mut rows, |row, room| objects.get(row).map_or_else(String::new, |index| fitted(answer.path(*index), room)));
    let mut text = table(&rows);
    text.push_str(&omitted(shown, objects.len(), "them"));
    text
}

fn twice(answer: &Resolution) -> String {
    let mut lines = String::new();
    for group in answer.closure.same_sonames() {
        let soname = group.first().and_then(|first| answer.closure.objects.get(*first)?.facts.soname.clone());
        let paths: Vec<String> = group.iter().map(|index| printable(answer.path(*index))).collect();
        let soname = name(&harmless(&soname.unwrap_or_default()), 60);
        lines.push_str(&prose(&format!("{soname} is the soname of {}", paths.join(" and ")), 2, 4));
    }
    for (object, names) in answer.other_names() {
        let names: Vec<String> = names.iter().map(|other| name(&harmless(other), 60)).collect();
        let text = format!("{} is also requested as {}", printable(answer.path(object)), names.join(" and "));
        lines.push_str(&prose(&text, 2, 4));
    }
    if lines.is_empty() { lines } else { heading("Twice", "") + &lines }
}

fn late(answer: &Resolution, all: bool) -> String {
    let late = answer.late_directories();
    if late.is_empty() {
        return String::new();
    }
    let shown = if all { late.len() } else { late.len().min(8) };
    let mut text = heading("Found late", "directories searched after others");
    for late in late.iter().take(shown) {
        let line = format!(
            "{} ({}): {}, after {} in {}",
            printable(&late.directory),
            words::rule(answer, late.rule, None),
            counted(late.libraries as u64, "library"),
            counted(late.failed as u64, "failed open"),
            counted(late.directories_before as u64, "other directory"),
        );
        text.push_str(&prose(&line, 2, 4));
    }
    text.push_str(&omitted(shown, late.len(), "them"));
    text
}

fn opened_later(answer: &Resolution, all: bool) -> String {
    let notes = &answer.notes;
    let mut text = String::new();
    if !notes.hints.is_empty() || !notes.unreadable.is_empty() {
        text.push_str(&heading("Opened later", "by the dlopen notes of the objects; not part of the figures above"));
        for hint in &notes.hints {
            text.push_str(&prose(&hint_line(answer, hint), 2, 4));
        }
        for (object, problem) in &notes.unreadable {
            text.push_str(&prose(&format!("{}: {}", answer.file_name(*object), harmless(problem.as_bytes())), 2, 4));
        }
    }
    if let Some(opened) = &answer.opened {
        let count = counted(opened.len() as u64, "shared object");
        text.push_str(&heading("Seen later", &format!("{count} opened by the program after the start")));
        let shown = if all { opened.len() } else { opened.len().min(SOME) };
        for opened in opened.iter().take(shown) {
            text.push_str(&format!("  {}\n", fitted(&opened.path, 96)));
        }
        text.push_str(&omitted(shown, opened.len(), "them"));
    }
    text
}

fn hint_line(answer: &Resolution, hint: &DlopenHint) -> String {
    let sonames: Vec<String> = hint.entry.sonames.iter().map(|soname| name(soname, 60)).collect();
    let what = match (&hint.entry.feature, &hint.entry.description) {
        (Some(feature), Some(description)) => format!(" for {}: {}", name(feature, 40), name(description, 160)),
        (Some(only), None) | (None, Some(only)) => format!(" for {}", name(only, 160)),
        (None, None) => String::new(),
    };
    let outcome = hint.alternatives.iter().find_map(|alternative| {
        let found = alternative.found.as_ref()?;
        let loaded = if found.is_loaded { "loaded anyway" } else { "found" };
        let name =
            if hint.alternatives.len() > 1 { format!("{} ", name(&alternative.soname, 60)) } else { String::new() };
        Some(format!("{name}{loaded} by {}: {}", harmless(found.rule.as_bytes()), printable(&found.path)))
    });
    let outcome = outcome.unwrap_or_else(|| "not found".to_owned());
    let priority = hint.entry.priority.name();
    format!("{} opens {} ({priority}){what}; {outcome}", answer.file_name(hint.object), sonames.join(" or "))
}
