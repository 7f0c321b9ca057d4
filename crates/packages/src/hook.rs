//! The file that has dpkg call us after each run, while files of packages are replaced.
//!
//! dpkg reads `dpkg.cfg.d` and runs `post-invoke` commands with `sh -c` after it has unpacked, configured or removed packages
//! (dpkg(1)); a failing command would fail dpkg, so this one cannot fail. apt unpacks and configures in separate runs of dpkg.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_output::{StagedFile, flush_directory};

use crate::error::PackageError;
use crate::replacement::recorded;

const DIRECTORY: &str = "etc/dpkg/dpkg.cfg.d";
const NAME: &str = "coldstart";
/// The first line of the file, by which we know it as ours.
const MARK: &str = "# Written by coldstart while files of packages are replaced, and removed with the last of them.";

/// Where the file is in the system at `root`.
pub fn hook_file(root: &Path) -> PathBuf {
    root.join(DIRECTORY).join(NAME)
}

/// Has dpkg run `program ARGUMENTS` after each of its runs. `program` is a path inside the system.
///
/// # Errors
/// If dpkg's configuration cannot name the path, the file is somebody else's, or it cannot be written.
pub fn write_hook(root: &Path, program: &Path, arguments: &str) -> Result<(), PackageError> {
    let text = text(program, arguments)?;
    let path = hook_file(root);
    match std::fs::read(&path) {
        Ok(found) if found == text.as_bytes() => return Ok(()),
        Ok(found) if !found.starts_with(MARK.as_bytes()) => return Err(PackageError::NameTaken(path)),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(PackageError::io("read", &path)(error)),
        _ => {}
    }
    let directory = root.join(DIRECTORY);
    let write = || -> io::Result<()> {
        std::fs::create_dir_all(&directory)?;
        let mut staged = StagedFile::create(&directory, OsStr::new(NAME), 0o644)?;
        staged.file().write_all(text.as_bytes())?;
        staged.file().sync_all()?;
        staged.name_over(&path)?;
        flush_directory(&directory, staged.file())
    };
    write().map_err(PackageError::io("write", &path))
}

/// Removes the file if it is ours and no file of a package is replaced any more. True if it is gone.
///
/// # Errors
/// If a record cannot be read, or the file cannot be removed.
pub fn remove_unused_hook(root: &Path, records: &Path) -> Result<bool, PackageError> {
    if recorded(root, records)?.iter().any(crate::Replacement::is_diverted) {
        return Ok(false);
    }
    let path = hook_file(root);
    match std::fs::read(&path) {
        Ok(found) if found.starts_with(MARK.as_bytes()) => {
            std::fs::remove_file(&path).map_err(PackageError::io("remove", &path))?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// The file. A value may be in double quotes, of which dpkg removes the first and the last only.
fn text(program: &Path, arguments: &str) -> Result<String, PackageError> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@~".contains(byte);
    let bytes = program.as_os_str().as_bytes();
    if !program.is_absolute() || !bytes.iter().all(plain) {
        return Err(PackageError::NotForHook(program.to_owned()));
    }
    let program = program.display();
    Ok(format!("{MARK}\npost-invoke=\"if [ -x {program} ]; then {program} {arguments} || true; fi\"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_shell_would_change_are_refused() {
        for path in ["bin/coldstart", "/a b/coldstart", "/a\"b", "/$HOME/coldstart", "/a'b", "/a;b", "/a\nb"] {
            assert!(matches!(text(Path::new(path), "x"), Err(PackageError::NotForHook(_))), "{path}");
        }
        assert!(text(Path::new("/usr/bin/coldstart"), "installed --fall-back").unwrap().ends_with("|| true; fi\"\n"));
    }
}
