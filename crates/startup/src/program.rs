//! Which file a typed program is, and whether a loader has anything to do with it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use coldstart_elf::FileKind;

use crate::{Files, ObjectFile, StartError};

/// Where programs are in a sysroot, in which nobody has a `PATH`.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The longest first line of a script that the kernel reads (`BINPRM_BUF_SIZE`, include/uapi/linux/binfmts.h).
const FIRST_LINE: u64 = 256;

/// Finds the program that was typed; from then on `files` knows it. Gives its path as the loader sees it.
///
/// On this host it is the path itself. In a sysroot it is a path as seen from inside, a bare name in one of the usual directories,
/// or else a path of this host, which may be inside all the same.
pub(crate) fn find(typed: &Path, files: &mut Files) -> Result<PathBuf, StartError> {
    let has_slash = typed.as_os_str().as_encoded_bytes().contains(&b'/');
    let Some(sysroot) = files.root().sysroot().map(Path::to_owned) else {
        // The loader would take a name without a slash for one to search.
        let seen = if has_slash { typed.to_owned() } else { Path::new(".").join(typed) };
        // It does not begin in the directory of the start.
        files.name_program(seen.clone(), seen.clone());
        return Ok(seen);
    };
    if !has_slash && typed.symlink_metadata().is_err() {
        let mut usual = std::env::split_paths(OsStr::new(USUAL_PATH)).map(|directory| directory.join(typed));
        let found = usual.find(|seen| files.root().is_regular(seen));
        return found.ok_or(StartError::NotInSysroot { name: typed.to_owned(), sysroot, searched: USUAL_PATH });
    }
    if typed.is_absolute() && files.root().is_regular(typed) {
        return Ok(typed.to_owned());
    }
    let place = std::path::absolute(typed).map_err(StartError::NoCurrentDirectory)?;
    let parent = place.parent().and_then(|parent| parent.canonicalize().ok());
    let within = parent.and_then(|parent| Some(files.root().inside(&parent)?.join(place.file_name()?)));
    if within.is_none() {
        files.name_program(place.clone(), place.clone());
    }
    Ok(within.unwrap_or(place))
}

/// Reads the program, or says what it is instead.
pub(crate) fn read(program: &Path, files: &Files) -> Result<ObjectFile, StartError> {
    files.object_file(program).map_err(|source| {
        let beginning = beginning(program, files).unwrap_or_default();
        StartError::NotAnObject { program: program.to_owned(), kind: FileKind::of(&beginning), beginning, source }
    })
}

fn beginning(program: &Path, files: &Files) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    files.open(program)?.0.take(FIRST_LINE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
