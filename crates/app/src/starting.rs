//! Simulated starts for all verbs: finds the program by path or on `PATH`, and adds hints to errors.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::anyhow;
use coldstart_elf::FileKind;
use coldstart_host::script_line::ScriptLine;
use coldstart_launch::find_program;
use coldstart_loader::Closure;
use coldstart_profile::printable;
use coldstart_startup::{Lookup, Root, RootError, SimulatedStart, StartError, StartOptions};

use crate::command;
use crate::error::{AppError, HintExt};
use crate::observer::{Observer, Silent};

/// Simulates the start of a program: a path, or a name on `PATH`; in a sysroot in the usual directories.
///
/// # Errors
/// If there is no such program or sysroot, or the file is not a loadable ELF object.
pub fn start(program: &Path, options: &StartOptions, observer: &dyn Observer) -> Result<SimulatedStart, AppError> {
    let is_bare = !program.to_string_lossy().contains('/') && program.symlink_metadata().is_err();
    let found = (is_bare && options.sysroot.is_none())
        .then(|| find_program(program.as_os_str(), std::env::var_os("PATH").as_deref(), None))
        .transpose()?;
    let start = SimulatedStart::new(found.as_deref().unwrap_or(program), options).map_err(in_words)?;
    note_lookup(start.files.root(), observer);
    Ok(start)
}

/// A program's closure.
///
/// # Errors
/// If its loader is missing or has the wrong architecture.
pub fn closure(start: &SimulatedStart) -> Result<Closure, AppError> {
    let other_machine = || match start.files.root().sysroot() {
        None => "use --sysroot for the root directory of the program's system, or --interpreter for another loader",
        Some(_) => "use --interpreter with a loader that is in the sysroot",
    };
    start.closure().hint(other_machine)
}

/// What a program loads when it is started from here, now.
///
/// # Errors
/// If there is no such program, or its loader is missing or has the wrong architecture.
pub fn loads(program: &Path) -> Result<Closure, AppError> {
    closure(&start(program, &StartOptions::default(), &Silent)?)
}

/// Opens a sysroot, or this host's root.
///
/// # Errors
/// When it is not a directory that may be entered.
pub fn open_root(sysroot: Option<&Path>, observer: &dyn Observer) -> Result<Root, AppError> {
    let root = Root::open(sysroot).map_err(root_in_words)?;
    note_lookup(&root, observer);
    Ok(root)
}

/// Notes that paths in a sysroot are not resolved by the kernel.
fn note_lookup(root: &Root, observer: &dyn Observer) {
    if root.lookup() == Some(Lookup::Stepwise) {
        observer
            .note("openat2 is missing or forbidden: paths in the sysroot are resolved step by step, which is slower");
    }
}

fn root_in_words(error: RootError) -> AppError {
    let context = format!("cannot use the sysroot `{}`", printable(&error.directory));
    not_a_directory(anyhow::Error::new(error.source).context(context))
}

fn not_a_directory(error: anyhow::Error) -> AppError {
    AppError::hinted(error, "name an existing directory that you may enter")
}

fn in_words(error: StartError) -> AppError {
    match error {
        StartError::Root(error) => root_in_words(error),
        StartError::CurrentDirectory { directory, source } => {
            let context = format!("cannot use the current directory `{}`", printable(&directory));
            not_a_directory(anyhow::Error::new(source).context(context))
        }
        StartError::NotInSysroot { name, sysroot, searched } => {
            let error = anyhow!("no program `{}` in the sysroot `{}`", printable(&name), printable(&sysroot));
            AppError::hinted(error, format!("searched: {searched}; a path works, too"))
        }
        StartError::NotAnObject { program, kind, beginning, source } => {
            let context = format!("cannot determine what `{}` loads", printable(&program));
            if kind == FileKind::Script {
                return AppError::hinted(anyhow!("{context}: script"), script_hint(&beginning));
            }
            let error = anyhow::Error::new(source).context(context);
            match kind {
                FileKind::Text => AppError::hinted(error, "if it is a linker script, name the library it refers to"),
                FileKind::Archive | FileKind::ThinArchive => {
                    AppError::hinted(error, "the members of an archive are linked into the program")
                }
                FileKind::Elf => AppError::hinted(
                    error,
                    "the file may be truncated or damaged; compare its size and checksum with its package's",
                ),
                _ => error.into(),
            }
        }
        error => error.into(),
    }
}

fn script_hint(start: &[u8]) -> String {
    let words = script_interpreter(start);
    let resolve = |program: &String| command::of_ours("resolve", [OsStr::new(program)]);
    match (words.first(), words.get(1)) {
        (Some(env), Some(program)) if env.ends_with("/env") => {
            format!("`{env}` starts `{program}` for it: `{}`", resolve(program))
        }
        (Some(interpreter), _) => format!("its interpreter is what is loaded: `{}`", resolve(interpreter)),
        (None, _) => "its first line has no interpreter, so a shell runs it: `coldstart resolve /bin/sh`".to_owned(),
    }
}

/// The interpreter of a script and the words of its argument, without `env`'s own options.
fn script_interpreter(start: &[u8]) -> Vec<String> {
    let Some(line) = ScriptLine::parse(start) else { return Vec::new() };
    let argument = line.argument.unwrap_or_default().to_string_lossy().into_owned();
    let words = argument.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned);
    std::iter::once(line.interpreter.to_string_lossy().into_owned()).chain(words).collect()
}

#[cfg(test)]
mod tests {
    use super::script_interpreter;

    #[test]
    fn a_script_s_interpreter_is_told() {
        assert_eq!(script_interpreter(b"#!/usr/bin/env -S python3 -u\nimport os"), ["/usr/bin/env", "python3"]);
        assert_eq!(script_interpreter(b"#! /bin/sh"), ["/bin/sh"]);
        assert!(script_interpreter(b"#!\n/bin/sh").is_empty());
    }
}
