//! The rules by which the loader finds files, as names.

use coldstart_loader::FoundBy;

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

/// The object that owns the rule's list.
pub(super) fn owner(rule: FoundBy) -> Option<usize> {
    match rule {
        FoundBy::Rpath { of } | FoundBy::Runpath { of } => Some(of),
        _ => None,
    }
}
