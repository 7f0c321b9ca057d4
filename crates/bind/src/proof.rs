//! Verifies that a bound program loads the same, by comparing two closures.

use std::collections::HashMap;
use std::path::Path;

use coldstart_loader::{Closure, FailedProbe, FileSystem};

use crate::Refusal;
use crate::hoist::lossy;
use crate::origin::PROGRAM;
use crate::survey::startable;

/// Requires the same files in the same order with the same scope, and the same file for each library's requests.
///
/// # Errors
/// The first difference.
pub(crate) fn same(original: &Closure, bound: &Closure) -> Result<(), Refusal> {
    startable(bound)?;
    let shown = |closure: &Closure, index: usize| match closure.objects.get(index) {
        Some(object) if object.in_scope => format!("`{}`", object.path.display()),
        Some(object) => format!("`{}`, without its symbols", object.path.display()),
        None => "nothing".to_owned(),
    };
    for place in 1..original.objects.len().max(bound.objects.len()) {
        let (was, is) = (original.objects.get(place), bound.objects.get(place));
        let equal = was.zip(is).is_some_and(|(was, is)| {
            was.identity == is.identity && was.in_scope == is.in_scope && was.preloaded == is.preloaded
        });
        if !equal {
            let (was, would_be) = (shown(original, place), shown(bound, place));
            return Err(Refusal::OrderWouldChange { place, was, would_be });
        }
    }
    // The object indices are the same from here on.
    let answers: HashMap<(usize, &[u8]), Option<usize>> =
        bound.requests.iter().map(|request| ((request.requester, request.needed.as_slice()), request.object)).collect();
    for request in original.requests.iter().filter(|request| request.requester != PROGRAM) {
        let answer = answers.get(&(request.requester, request.needed.as_slice())).copied().flatten();
        if answer != request.object {
            let name = |answer: Option<usize>| answer.map_or("nothing".to_owned(), |index| shown(original, index));
            let needed_by = original.objects.get(request.requester).map(|object| object.path.clone());
            return Err(Refusal::AnswerWouldChange {
                library: lossy(&request.needed),
                needed_by: needed_by.unwrap_or_default(),
                was: name(request.object),
                would_be: name(answer),
            });
        }
    }
    Ok(())
}

/// Requires that these objects are opened in the same directories, however those are spelt.
///
/// # Errors
/// The first different path.
pub(crate) fn same_directories(
    original: &Closure,
    bound: &Closure,
    objects: &[usize],
    files: &impl FileSystem,
) -> Result<(), Refusal> {
    let directory = |path: &Path| path.parent().and_then(|directory| files.canonical(directory));
    for index in objects {
        let (Some(was), Some(is)) = (original.objects.get(*index), bound.objects.get(*index)) else { continue };
        if was.path.file_name() != is.path.file_name() || directory(&was.path) != directory(&is.path) {
            return Err(Refusal::PathWouldChange { was: was.path.clone(), would_be: is.path.clone() });
        }
    }
    Ok(())
}

/// Requires that only allowed probes fail.
///
/// # Errors
/// The first other one.
pub(crate) fn no_search(bound: &Closure, allowed: impl Fn(&FailedProbe) -> bool) -> Result<(), Refusal> {
    match bound.failed_probes.iter().find(|probe| !allowed(probe)) {
        None => Ok(()),
        Some(probe) => Err(Refusal::StillSearched { library: lossy(&probe.needed), path: probe.path.clone() }),
    }
}
