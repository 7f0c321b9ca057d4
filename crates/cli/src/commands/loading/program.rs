//! Which file a typed program is, and whether a loader has anything to do with it.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_app::command;
use coldstart_elf::FileKind;
use coldstart_launch::find_program;
use coldstart_sys::named_file::read_beginning;

use super::{Contents, Files};
use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// Where programs are in a sysroot, whose `PATH` nobody knows.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The longest first line of a script that the kernel reads (`BINPRM_BUF_SIZE`, include/uapi/linux/binfmts.h).
const FIRST_LINE: usize = 256;

/// What a program is to a loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// It names a loader, or needs libraries.
    Dynamic,
    /// The kernel starts it alone. It may be position-independent.
    Static,
    /// It names no loader: a library, or a loader itself.
    Library,
}

/// Finds the program that was typed; from then on `files` knows it. Gives its path as the loader sees it.
pub(super) fn find(typed: &Path, files: &mut Files) -> Result<PathBuf, CliError> {
    let has_slash = typed.to_string_lossy().contains('/');
    let Some(sysroot) = files.sysroot().map(Path::to_owned) else {
        let seen = if has_slash {
            typed.to_owned()
        } else if typed.symlink_metadata().is_ok() {
            // The loader would take a name without a slash for one to search.
            Path::new(".").join(typed)
        } else {
            find_program(typed.as_os_str(), std::env::var_os("PATH").as_deref(), None)?
        };
        let place = seen.clone();
        files.name_program(seen.clone(), place);
        return Ok(seen);
    };
    let there = |seen: &Path| files.on_disk(seen).ok().filter(|place| place.is_file()).map(|place| place.into_owned());
    if !has_slash && typed.symlink_metadata().is_err() {
        let usual = std::env::split_paths(OsStr::new(USUAL_PATH)).map(|directory| directory.join(typed));
        let found = usual.into_iter().find_map(|seen| there(&seen).map(|place| (seen, place)));
        let Some((seen, place)) = found else {
            let error = anyhow!("no program `{}` is in the sysroot `{}`", printable(typed), printable(&sysroot));
            return Err(hinted(error, format!("it was looked for in {USUAL_PATH}; a path may be typed as well")));
        };
        files.name_program(seen.clone(), place);
        return Ok(seen);
    }
    // As seen from inside, then as seen from here; what is seen from here may be inside all the same.
    if typed.is_absolute()
        && let Some(place) = there(typed)
    {
        files.name_program(typed.to_owned(), place);
        return Ok(typed.to_owned());
    }
    let place = std::path::absolute(typed)?;
    let parent = place.parent().and_then(|parent| parent.canonicalize().ok());
    let within = parent.and_then(|parent| Some(parent.strip_prefix(&sysroot).ok()?.join(place.file_name()?)));
    if let Some(seen) = within.map(|within| Path::new("/").join(within)) {
        let place = files.on_disk(&seen).map(|place| place.into_owned()).unwrap_or(place);
        files.name_program(seen.clone(), place);
        return Ok(seen);
    }
    files.name_program(place.clone(), place.clone());
    Ok(place)
}

/// Reads the program, or says what it is instead.
pub(super) fn read(program: &Path, files: &Files) -> Result<Contents, CliError> {
    let place = files.on_disk(program).with_context(|| format!("cannot read `{}`", printable(program)))?;
    match files.contents(program) {
        Ok(mut contents) => {
            let capabilities = rustix::fs::getxattr(&*place, "security.capability", &mut [0_u8; 64]).is_ok();
            contents.gains_rights |= capabilities;
            Ok(contents)
        }
        Err(error) => Err(refusal(program, &place, error)),
    }
}

fn refusal(program: &Path, place: &Path, error: io::Error) -> CliError {
    let context = format!("cannot tell what `{}` loads", printable(program));
    let start = read_beginning(place, FIRST_LINE).unwrap_or_default();
    let hint = match FileKind::of(&start) {
        FileKind::Script => return hinted(anyhow!("{context}: it is a script"), script_hint(&start)),
        FileKind::Text => "if it is a linker script, name the library that it stands for",
        FileKind::Archive | FileKind::ThinArchive => {
            "what is in an archive is part of the program that was linked with it"
        }
        FileKind::Elf => "the file may be cut off or damaged; compare its size and checksum with its package's",
        _ => return anyhow::Error::new(error).context(context).into(),
    };
    hinted(anyhow::Error::new(error).context(context), hint.to_owned())
}

fn script_hint(start: &[u8]) -> String {
    let words = script_interpreter(start);
    let resolve = |program: &String| command::of_ours("resolve", [OsStr::new(program)]);
    match (words.first(), words.get(1)) {
        (Some(env), Some(program)) if env.ends_with("/env") => {
            format!("`{env}` starts `{program}` for it: `{}`", resolve(program))
        }
        (Some(interpreter), _) => format!("what is loaded is its interpreter: `{}`", resolve(interpreter)),
        (None, _) => "its first line names no interpreter, so a shell runs it: `coldstart resolve /bin/sh`".to_owned(),
    }
}

fn hinted(error: anyhow::Error, hint: String) -> CliError {
    match Err::<Infallible, _>(error).hint(|| hint) {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// The words of a script's first line; `env`'s own options are left out.
fn script_interpreter(start: &[u8]) -> Vec<String> {
    let line = start.strip_prefix(b"#!").unwrap_or_default().split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    line.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned).collect()
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
