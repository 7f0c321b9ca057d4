//! The loader's rules in words, and as names for programs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::{FoundBy, Known, ProbeFailure, Rules};

use super::answer::Answer;
use crate::output::path::printable;

/// Bytes from a file as harmless text.
pub(super) fn text(bytes: &[u8]) -> String {
    printable(Path::new(OsStr::from_bytes(bytes)))
}

/// The rule with whose list it is, as the asking object sees it.
pub(super) fn rule(answer: &Answer, rule: FoundBy, requester: Option<usize>) -> String {
    let whose = |list: &str, of: usize| match requester {
        Some(requester) if requester == of && of == 0 => format!("{list} of the program"),
        Some(requester) if requester == of => format!("its own {list}"),
        _ if of == 0 => format!("{list} of the program"),
        _ => format!("{list} of {}", answer.file_name(of)),
    };
    match rule {
        FoundBy::Rpath { of } => whose("RPATH", of),
        FoundBy::Runpath { of } => whose("RUNPATH", of),
        FoundBy::LdSoCache => "the loader's cache".to_owned(),
        FoundBy::DefaultDirectory => "default directory".to_owned(),
        other => other.to_string(),
    }
}

/// The rule without whose list it is, for counting.
pub(super) fn kind(rule: FoundBy) -> &'static str {
    match rule {
        FoundBy::Program => "the program",
        FoundBy::Interpreter => "the interpreter",
        FoundBy::Path => "path",
        FoundBy::Rpath { .. } => "RPATH",
        FoundBy::LdLibraryPath => "LD_LIBRARY_PATH",
        FoundBy::Runpath { .. } => "RUNPATH",
        FoundBy::LdSoCache => "the loader's cache",
        FoundBy::DefaultDirectory => "default directories",
        FoundBy::AlreadyLoaded(_) => "already loaded",
    }
}

/// The rule as a name that does not change.
pub(super) fn rule_name(rule: FoundBy) -> &'static str {
    match rule {
        FoundBy::Program => "program",
        FoundBy::Interpreter => "interpreter",
        FoundBy::Path => "path",
        FoundBy::Rpath { .. } => "rpath",
        FoundBy::LdLibraryPath => "ld-library-path",
        FoundBy::Runpath { .. } => "runpath",
        FoundBy::LdSoCache => "ld-so-cache",
        FoundBy::DefaultDirectory => "default-directory",
        FoundBy::AlreadyLoaded(Known::Name) => "already-loaded-name",
        FoundBy::AlreadyLoaded(Known::Soname) => "already-loaded-soname",
        FoundBy::AlreadyLoaded(Known::Path) => "already-loaded-path",
        FoundBy::AlreadyLoaded(Known::SameFile) => "already-loaded-same-file",
    }
}

/// The object whose list a rule is.
pub(super) fn whose(rule: FoundBy) -> Option<usize> {
    match rule {
        FoundBy::Rpath { of } | FoundBy::Runpath { of } => Some(of),
        _ => None,
    }
}

/// Why a file did not do, in words.
pub(super) fn failure(failure: &ProbeFailure) -> String {
    match failure {
        ProbeFailure::Absent(std::io::ErrorKind::NotFound) => "not there".to_owned(),
        other => text(other.to_string().as_bytes()),
    }
}

/// The directory on the list that a tried file belongs to: its own without the processor's subfolder.
pub(super) fn listed_directory(answer: &Answer, path: &Path) -> PathBuf {
    let parent = path.parent().unwrap_or(path);
    let bytes = [parent.as_os_str().as_bytes(), b"/"].concat();
    let stripped = answer.subfolders.iter();
    let stripped = stripped.filter_map(|subfolder| bytes.strip_suffix(subfolder.as_slice())).map(<[u8]>::len).min();
    let directory = bytes.get(..stripped.unwrap_or(bytes.len())).unwrap_or_default();
    match directory.iter().rposition(|&byte| byte != b'/') {
        Some(last) => PathBuf::from(OsStr::from_bytes(directory.get(..=last).unwrap_or_default())),
        None if directory.is_empty() => PathBuf::from("."),
        None => PathBuf::from("/"),
    }
}

/// The loader's kind and release.
pub(super) fn loader(answer: &Answer) -> String {
    let surroundings = &answer.start.surroundings;
    match (surroundings.environment.rules, surroundings.build.release) {
        (Rules::Musl, _) => "musl".to_owned(),
        (Rules::Glibc, Some(release)) => format!("glibc 2.{release}"),
        (Rules::Glibc, None) => "glibc".to_owned(),
    }
}
