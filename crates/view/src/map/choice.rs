//! Finds the object for a name.

use std::collections::BTreeMap;
use std::path::Path;

use coldstart_profile::pattern::{means_file, names_file};
use coldstart_profile::trace::{EventKind, FileId, Trace};

use super::MapError;
use super::words::{file_name, harmless_path, harmless_text};

/// How many files an error lists.
const LISTED: usize = 8;

/// The file that a name means: a path, a file name or a soname, with `*`, `?` and `[...]`. Without a name, or with an
/// empty one, the object with most first touches.
///
/// # Errors
///
/// If none is meant, or several of different file names. Of several with the same file name, it is the one with most
/// first touches.
pub fn choose(trace: &Trace, name: Option<&str>) -> Result<FileId, MapError> {
    let touches = touches(trace);
    let by_use = |files: &mut Vec<FileId>| {
        files.sort_by_key(|file| (std::cmp::Reverse(touches.get(file).copied().unwrap_or(0)), *file));
    };
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        let mut touched: Vec<FileId> = touches.keys().copied().collect();
        let objects: Vec<FileId> = trace.objects.iter().map(|object| object.file).collect();
        if touched.iter().any(|file| objects.contains(file)) {
            touched.retain(|file| objects.contains(file));
        }
        by_use(&mut touched);
        return touched.first().copied().ok_or(MapError::NothingTouched);
    };
    let sonames: BTreeMap<FileId, &str> =
        trace.objects.iter().filter_map(|object| Some((object.file, object.soname.as_deref()?))).collect();
    let mut all: Vec<FileId> = (0u32..).take(trace.files.len()).map(FileId).collect();
    by_use(&mut all);
    let those = |is: fn(&str, &Path, Option<&str>) -> bool| -> Vec<FileId> {
        let is = |id: &FileId| trace.file(*id).is_some_and(|file| is(name, &file.path, sonames.get(id).copied()));
        all.iter().copied().filter(is).collect()
    };
    // A file may be called what as a pattern means others as well.
    let meant = match those(|name, path, soname| names_file(name, path, || soname)) {
        named if !named.is_empty() => named,
        _ => those(|name, path, soname| means_file(name, path, || soname)),
    };
    let name_of = |file: &FileId| trace.file(*file).and_then(|file| file.path.file_name());
    let Some(first) = meant.first() else { return Err(nothing(trace, name, &all)) };
    if meant.iter().all(|file| name_of(file) == name_of(first)) {
        return Ok(*first);
    }
    let paths = meant.iter().filter_map(|file| trace.file(*file)).map(|file| harmless_path(&file.path));
    Err(MapError::Several { name: harmless_text(name), count: meant.len(), found: paths.take(LISTED).collect() })
}

/// Files whose names hold what was asked for, in any case of letters, or else those that were used most.
fn nothing(trace: &Trace, name: &str, by_use: &[FileId]) -> MapError {
    let wanted = name.trim_matches(['*', '?']).to_lowercase();
    let names = || by_use.iter().filter_map(|file| trace.file(*file)).map(|file| file_name(&file.path));
    let mut instead: Vec<String> = names().filter(|name| name.to_lowercase().contains(&wanted)).take(LISTED).collect();
    if wanted.is_empty() || instead.is_empty() {
        instead = names().take(LISTED).collect();
    }
    MapError::NoSuchFile { name: harmless_text(name), instead }
}

/// First touches of each file; files without any are left out.
fn touches(trace: &Trace) -> BTreeMap<FileId, u64> {
    let mut touches = vec![0u64; trace.files.len()];
    for event in trace.events.iter().filter(|event| matches!(event.kind, EventKind::Touch(_))) {
        let place = event.file.and_then(|file| usize::try_from(file.0).ok());
        if let Some(count) = place.and_then(|place| touches.get_mut(place)) {
            *count += 1;
        }
    }
    (0u32..).map(FileId).zip(touches).filter(|(_, count)| *count > 0).collect()
}
