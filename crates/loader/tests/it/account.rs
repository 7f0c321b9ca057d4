//! The loader's own account of a start (`LD_TRACE_LOADED_OBJECTS`, `LD_DEBUG=libs,files`), and ours in the same words.

use std::collections::HashMap;
use std::path::Path;
use std::process::Output;

use coldstart_loader::{Closure, Fault, FileSystem, FoundBy, Known, Probe, ProbeFailure};

/// What a loader tells of a start, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// `NAME => PATH`, `PATH`, or `NAME => not found`.
    pub(crate) listing: Vec<String>,
    /// Names that were searched, and for each the files that were tried.
    pub(crate) searches: Vec<(String, Vec<String>)>,
    /// `NAME needed by PATH`, and `NAME mapped`.
    pub(crate) files: Vec<String>,
    /// What ended the start.
    pub(crate) end: Option<String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Reads the loader's account of a start.
pub(crate) fn theirs(output: &Output) -> Account {
    let mut account = Account::default();
    for line in text(&output.stdout).lines().filter_map(|line| line.strip_prefix('\t')) {
        if line.starts_with("linux-vdso") || line.starts_with("linux-gate") || line == "statically linked" {
            continue;
        }
        let line = line.rsplit_once(" (0x").map_or(line, |(line, _)| line);
        account.listing.push(line.to_owned());
    }
    for line in text(&output.stderr).lines() {
        if let Some((_, end)) = line.split_once("error while loading shared libraries: ") {
            // What the kernel said in addition is left out.
            account.end = Some(end.split(": Error ").next().unwrap().to_owned());
        }
        let Some((number, line)) = line.split_once(":\t") else { continue };
        if number.trim().parse::<u32>().is_err() {
            continue;
        }
        let line = line.trim_start();
        if let Some(name) = line.strip_prefix("find library=") {
            account.searches.push((name.rsplit_once(" [").unwrap().0.to_owned(), Vec::new()));
        } else if let Some(path) = line.strip_prefix("trying file=") {
            account.searches.last_mut().unwrap().1.push(path.to_owned());
        } else if let Some(line) = line.strip_prefix("file=") {
            if let Some((name, by)) = line.split_once(" [0];  needed by ") {
                account.files.push(format!("{name} needed by {}", by.strip_suffix(" [0]").unwrap()));
            } else if let Some(name) = line.strip_suffix(" [0];  generating link map") {
                account.files.push(format!("{name} mapped"));
            }
        }
    }
    account
}

/// Our account. `cached` tells which file the cache has for a name: the loader says that it tries it even where the
/// requester's `DF_1_NODEFLIB` forbids.
pub(crate) fn ours(
    closure: &Closure,
    files: &impl FileSystem,
    started_by_loader: bool,
    cached: &dyn Fn(&[u8]) -> Option<String>,
) -> Account {
    let mut account = Account { listing: listing(closure), ..Account::default() };
    let shown = |object: usize| closure.objects[object].path.display().to_string();
    if started_by_loader {
        account.files.push(format!("{} mapped", shown(0)));
    }
    let has_mapping_fault = |path: &Path| matches!(files.object(path), Probe::Object { facts, .. } if matches!(facts.fault, Some(Fault::Mapping(_))));
    let mut failed = 0;
    for request in &closure.requests {
        let probes = &closure.failed_probes[failed..request.failed_before];
        failed = request.failed_before;
        if matches!(request.found_by, Some(FoundBy::AlreadyLoaded(known)) if known != Known::SameFile) {
            continue;
        }
        let name = text(&request.name_asked);
        account.files.push(format!("{name} needed by {}", shown(request.requester)));
        let failed_mapping = probes.last().is_some_and(|probe| {
            request.preload && matches!(probe.failure, ProbeFailure::NotAnObject(_)) && has_mapping_fault(&probe.path)
        });
        let is_new = request.opened.is_some() && !matches!(request.found_by, Some(FoundBy::AlreadyLoaded(_)));
        if is_new || failed_mapping {
            account.files.push(format!("{name} mapped"));
        }
        if !request.name_asked.contains(&b'/') {
            let mut tried: Vec<String> = probes.iter().map(|probe| probe.path.display().to_string()).collect();
            tried.extend(request.opened.iter().map(|path| path.display().to_string()));
            let searches_no_system = closure.objects[request.requester].facts.no_default_libraries;
            if searches_no_system
                && request.opened.is_none()
                && let Some(path) = cached(&request.name_asked)
                && tried.last() != Some(&path)
            {
                tried.push(path);
            }
            account.searches.push((name, tried));
        }
    }
    if let Some(stopped) = &closure.stopped {
        let path = stopped.path.display().to_string();
        // The name it stopped at may hold tokens; a path shows what became of them.
        let is_path = stopped.needed.contains(&b'/') || (stopped.needed.contains(&b'$') && stopped.path.exists());
        let name = if is_path { path.clone() } else { text(&stopped.needed) };
        account.files.push(format!("{name} needed by {}", shown(stopped.requester)));
        let in_mapping = has_mapping_fault(&stopped.path);
        if in_mapping {
            account.files.push(format!("{name} mapped"));
        }
        if !is_path {
            let probes = closure.failed_probes[failed..].iter().map(|probe| probe.path.display().to_string());
            account.searches.push((name.clone(), probes.chain([path.clone()]).collect()));
        }
        let reason = match &stopped.reason {
            ProbeFailure::OtherByteOrder => "ELF file data encoding not little-endian".to_owned(),
            reason => reason.to_string(),
        };
        account.end = Some(format!("{}: {reason}", if in_mapping { name } else { path }));
    }
    account
}

/// The list in the loader's order: as objects were mapped, with the missing ones where they were asked for, and the loader
/// itself after the object that stands before it in the order of lookup (`dl_main` in elf/rtld.c).
fn listing(closure: &Closure) -> Vec<String> {
    let mut lines: Vec<(Option<usize>, String)> = vec![(Some(0), String::new())];
    let line = |object: usize| {
        let object = &closure.objects[object];
        let (name, path) = (text(&object.name_asked), object.path.display().to_string());
        if name == path { path } else { format!("{name} => {path}") }
    };
    let mut introduced = HashMap::new();
    for request in &closure.requests {
        match request.object {
            Some(object) if request.opened.is_some() && introduced.insert(object, ()).is_none() => {
                lines.push((Some(object), line(object)));
            }
            None if !request.preload => lines.push((None, format!("{} => not found", text(&request.name_asked)))),
            _ => {}
        }
    }
    let interpreter = closure.objects.iter().position(|object| object.found_by == FoundBy::Interpreter);
    if let Some(interpreter) = interpreter.filter(|&interpreter| closure.objects[interpreter].in_scope) {
        let before = lines.iter().position(|(object, _)| *object == Some(interpreter - 1)).unwrap();
        lines.insert(before + 1, (Some(interpreter), line(interpreter)));
    }
    lines.into_iter().skip(1).map(|(_, line)| line).collect()
}

/// Where two accounts part, in words; none when they are one.
pub(crate) fn difference(ours: &Account, theirs: &Account) -> Option<String> {
    fn part<T: PartialEq + std::fmt::Debug>(what: &str, ours: &[T], theirs: &[T]) -> Option<String> {
        let place = (0..ours.len().max(theirs.len())).find(|&place| ours.get(place) != theirs.get(place))?;
        let around =
            |list: &[T]| format!("{:#?}", &list[place.saturating_sub(1).min(list.len())..list.len().min(place + 2)]);
        Some(format!("{what} {place}: ours {}, theirs {}", around(ours), around(theirs)))
    }
    let at_end =
        (ours.end != theirs.end).then(|| format!("ours ends with {:?}, theirs with {:?}", ours.end, theirs.end));
    let listing = if ours.end.is_some() { None } else { part("line", &ours.listing, &theirs.listing) };
    // A search without a try has a line, too.
    let flat = |searches: &[(String, Vec<String>)]| -> Vec<String> {
        let lines = searches.iter().flat_map(|(name, tried)| {
            std::iter::once(format!("search {name}")).chain(tried.iter().map(|path| path.chars().take(300).collect()))
        });
        lines.collect()
    };
    part("try", &flat(&ours.searches), &flat(&theirs.searches))
        .or(part("file", &ours.files, &theirs.files))
        .or(at_end)
        .or(listing)
}
