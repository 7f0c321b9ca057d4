//! Finding the file of a program, and checking its kind.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use coldstart_elf::FileKind;

use crate::{Files, ObjectFile, StartError};

/// The directories of programs in a sysroot, in place of `PATH`.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The kernel's limit for the first line of a script (`BINPRM_BUF_SIZE`, include/uapi/linux/binfmts.h).
const FIRST_LINE: u64 = 256;

/// Finds a program and registers it in `files`. Returns its path as the loader sees it.
///
/// On this host it is the path itself. In a sysroot it is a path as seen from inside, a bare name in one of the usual
/// directories, or a path of this host, which may point inside.
pub(crate) fn find(typed: &Path, files: &mut Files) -> Result<PathBuf, StartError> {
    let has_slash = typed.as_os_str().as_encoded_bytes().contains(&b'/');
    let Some(sysroot) = files.root().sysroot().map(Path::to_owned) else {
        // The loader would search for a name without a slash.
        let seen = if has_slash { typed.to_owned() } else { Path::new(".").join(typed) };
        // A host path is not relative to the start's current directory.
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

/// Reads the program, or returns the kind of file that it is.
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
