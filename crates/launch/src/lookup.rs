//! Finding a program in `PATH`, before the clock starts and with a better error than "no such file".
//!
//! The rules are those of `execvp(3)`: a name with a slash is a path; a file without execute permission is skipped,
//! and only reported when no directory has a better one.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use crate::error::LaunchError;

/// What `execvp(3)` searches when `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Finds the file for `program`: itself if it contains a slash, else the first executable in `path`.
///
/// `path` is the value of `PATH`; `None` if it is not set. Relative directories start from `directory`.
///
/// # Errors
/// [`LaunchError::NotFound`], [`LaunchError::NotExecutable`] or [`LaunchError::IsDirectory`].
pub fn find_program(program: &OsStr, path: Option<&OsStr>, directory: Option<&Path>) -> Result<PathBuf, LaunchError> {
    // The program's own directory change comes before exec, so a relative path must not be left relative to ours.
    let place = |path: &Path| match directory {
        Some(directory) if path.is_relative() => {
            std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()).join(path)
        }
        _ => path.to_owned(),
    };
    if program.as_bytes().contains(&b'/') {
        let found = place(Path::new(program));
        return match judge(&found) {
            Candidate::Executable => Ok(found),
            Candidate::Absent => Err(LaunchError::NotFound { program: program.to_owned(), searched: Vec::new() }),
            Candidate::Directory => Err(LaunchError::IsDirectory { path: found }),
            Candidate::Forbidden { no_exec_mount } => Err(LaunchError::NotExecutable { path: found, no_exec_mount }),
        };
    }
    let path = path.unwrap_or(OsStr::new(DEFAULT_PATH));
    // An empty entry means the working directory.
    let directories: Vec<PathBuf> = std::env::split_paths(path)
        .map(|entry| if entry.as_os_str().is_empty() { PathBuf::from(".") } else { entry })
        .collect();
    let mut forbidden = None;
    for entry in &directories {
        let found = place(&entry.join(program));
        match judge(&found) {
            Candidate::Executable => return Ok(found),
            Candidate::Forbidden { no_exec_mount } if forbidden.is_none() => {
                forbidden = Some(LaunchError::NotExecutable { path: found, no_exec_mount });
            }
            _ => {}
        }
    }
    Err(forbidden.unwrap_or_else(|| LaunchError::NotFound { program: program.to_owned(), searched: directories }))
}

enum Candidate {
    Executable,
    Absent,
    Directory,
    Forbidden { no_exec_mount: bool },
}

fn judge(path: &Path) -> Candidate {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Candidate::Forbidden { no_exec_mount: true };
        }
        Err(_) => return Candidate::Absent,
    };
    if metadata.is_dir() {
        return Candidate::Directory;
    }
    // EACCESS: with the effective ids, as exec itself decides.
    if rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok() {
        return Candidate::Executable;
    }
    use std::os::unix::fs::PermissionsExt;
    Candidate::Forbidden { no_exec_mount: metadata.permissions().mode() & 0o111 != 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn file(directory: &Path, name: &str, mode: u32) {
        fs::write(directory.join(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn path_is_searched_in_order_past_what_cannot_run() {
        let root = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| root.path().join(name));
        fs::create_dir_all(first.join("directory")).unwrap();
        fs::create_dir_all(&second).unwrap();
        file(&first, "tool", 0o644);
        file(&first, "text", 0o644);
        file(&second, "tool", 0o755);
        file(&second, "directory", 0o755);
        let path = std::env::join_paths([&first, &second]).unwrap();
        let find = |name: &str| find_program(OsStr::new(name), Some(&path), None);
        assert_eq!(find("tool").unwrap(), second.join("tool"));
        assert_eq!(find("directory").unwrap(), second.join("directory"));
        assert!(
            matches!(find("text"), Err(LaunchError::NotExecutable { path, no_exec_mount: false }) if path == first.join("text"))
        );
        let absent = find("absent").unwrap_err();
        assert!(absent.to_string().contains("`absent` in PATH (") && absent.to_string().contains("second"), "{absent}");
        assert!(absent.hint().is_some());
    }

    #[test]
    fn a_slash_means_a_path() {
        let root = tempfile::tempdir().unwrap();
        file(root.path(), "tool", 0o755);
        let find = |name: &str| find_program(OsStr::new(name), Some(OsStr::new("/bin")), Some(root.path()));
        assert_eq!(find("./tool").unwrap(), root.path().join("./tool"));
        assert!(matches!(find("./absent"), Err(LaunchError::NotFound { searched, .. }) if searched.is_empty()));
        assert!(matches!(find("/usr"), Err(LaunchError::IsDirectory { .. })));
        assert!(find("sh").unwrap().is_absolute());
    }
}
