//! The rules by which the loader finds files, as names.

use coldstart_loader::{FoundBy, Known};

/// The rule without the owner of its list.
pub fn kind(rule: FoundBy) -> &'static str {
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

/// The stable name of the rule in JSON.
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

/// The object that owns the rule's list.
pub(super) fn owner(rule: FoundBy) -> Option<usize> {
    match rule {
        FoundBy::Rpath { of } | FoundBy::Runpath { of } => Some(of),
        _ => None,
    }
}
