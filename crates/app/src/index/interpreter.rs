//! Which interpreters a start ran: told by the files that it executed, so that `env`, wrappers and links have been followed by the kernel
//! itself.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_elf::FileKind;
use coldstart_host::rights::AskedRights;
use coldstart_host::script_line::{DEEPEST, LENGTH, ScriptLine};
use coldstart_index::{Language, Recognised};
use coldstart_launch::CommandLine;
use coldstart_sys::named_file::open_regular;

use crate::error::{AppError, HintExt};
use crate::reading;

/// The program that the kernel runs for a file: itself, or by its `#!` line, which the kernel opens without a call of the program.
/// `None` if nobody may execute the file.
pub(super) fn started(file: &Path) -> Option<PathBuf> {
    let mut file = file.to_owned();
    for _ in 0..DEEPEST {
        let is_executable = file.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0);
        match reading::kind_of(&file).ok().filter(|_| is_executable)? {
            FileKind::Elf => return Some(file),
            FileKind::Script => {
                let mut beginning = Vec::new();
                open_regular(&file).ok()?.take(LENGTH as u64).read_to_end(&mut beginning).ok()?;
                file = ScriptLine::parse(&beginning)?.interpreter.canonicalize().ok()?;
            }
            _ => return None,
        }
    }
    None
}

/// An interpreter that a start used and that the kernel gives other rights than its caller's. Node takes none of its caller's options then,
/// and Perl no `PERL5OPT`.
pub(super) fn with_own_rights(opened: &BTreeSet<PathBuf>) -> Option<PathBuf> {
    let is_interpreter = |path: &PathBuf| matches!(Recognised::of(path), Some(Recognised::Indexable(_)));
    let mut started = opened.iter().filter_map(|path| started(path)).filter(is_interpreter);
    started.find(|path| gets_rights(path))
}

/// Whether a program gets rights by its file: set-user-ID, set-group-ID or capabilities.
pub(super) fn gets_rights(program: &Path) -> bool {
    AskedRights::of(program).is_ok_and(AskedRights::any)
}

/// The languages that a start used and that can have an index.
///
/// # Errors
/// If there is none, saying which interpreters were seen.
pub(crate) fn languages(command: &CommandLine, opened: &BTreeSet<PathBuf>) -> Result<Vec<Language>, AppError> {
    let mut found = BTreeSet::new();
    let mut others = BTreeSet::new();
    for path in opened.iter().filter_map(|path| started(path)) {
        let Some(recognised) = Recognised::of(&path) else { continue };
        match recognised {
            Recognised::Indexable(language) => found.insert(language),
            Recognised::Other(name) => others.insert(name),
        };
    }
    if !found.is_empty() {
        return Ok(found.into_iter().collect());
    }
    let known: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
    let known = known.join(", ");
    match others.into_iter().collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => Err(anyhow!("`{command}` started no interpreter that coldstart knows")).hint(|| {
            format!("an index helps programs in {known}; with --shim, other programs that look for files in many directories; see also `coldstart bind` and `coldstart prefetch`")
        }),
        others => {
            Err(anyhow!("`{command}` is a program in {others}, for which coldstart cannot make an index")).hint(|| {
                format!("an index helps programs in {known}; --shim makes one that remembers absent names, for any program")
            })
        }
    }
}
