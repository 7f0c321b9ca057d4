//! What stands at a path. Symbolic links are not followed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, lstat, open, readlink};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::{Before, FileState, MARK, MOST_BYTES, WrittenFile};
use crate::error::InstallError;
use coldstart_output::Stored;

/// SHA-256, hexadecimal: what `sha256sum` prints.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands at a path.
pub(crate) enum Standing {
    Nothing,
    Link(Stored),
    File { stat: Box<Stat>, bytes: Vec<u8> },
    Other,
}

/// Looks at a path, and reads a regular file.
pub(crate) fn look(path: &Path) -> Result<Standing, InstallError> {
    let failed = |errno: Errno| InstallError::io("read", path)(errno.into());
    let found = match lstat(path) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Standing::Nothing),
        Err(errno) => return Err(failed(errno)),
    };
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => {
            let target = readlink(path, Vec::new()).map_err(failed)?;
            let target: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(target.into_bytes());
            Ok(Standing::Link(Stored::new(target)))
        }
        FileType::RegularFile => {
            let bytes = read_regular(path).map_err(InstallError::io("read", path))?;
            Ok(Standing::File { stat: Box::new(found), bytes })
        }
        _ => Ok(Standing::Other),
    }
}

/// Opens a regular file without following a link.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Reads a regular file of at most [`MOST_BYTES`] without following a link.
pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 16 MiB"));
    }
    Ok(bytes)
}

/// Whether a file was written by an installation.
pub(crate) fn is_marked(bytes: &[u8]) -> bool {
    let start = bytes.get(..4096).unwrap_or(bytes);
    start.windows(MARK.len()).any(|window| window == MARK.as_bytes())
}

/// What stands at the path of a recorded file now. What cannot be read counts as edited.
pub(crate) fn state(file: &WrittenFile) -> FileState {
    match (look(file.path.path()), &file.before) {
        (Ok(Standing::Nothing), None) => FileState::Before,
        (Ok(Standing::Nothing), Some(_)) => FileState::Missing,
        (Ok(Standing::Link(now)), Some(Before::Link { target })) if now == *target => FileState::Before,
        (Ok(Standing::File { bytes, .. }), before) => {
            let now = sha256(&bytes);
            match before {
                _ if now == file.sha256 => FileState::Ours,
                Some(Before::File { sha256, .. }) if now == *sha256 => FileState::Before,
                _ => FileState::Edited,
            }
        }
        _ => FileState::Edited,
    }
}
