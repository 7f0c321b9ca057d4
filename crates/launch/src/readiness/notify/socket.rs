//! The notification socket.
//!
//! It has a name in the file system, as systemd's own `/run/systemd/notify`: container tools bind-mount it, and a program
//! in its own network namespace, where an abstract name would be useless, still finds it. A service may have given
//! up root before it is ready, so any user may send; but the directory cannot be listed, and senders are checked.

use std::fs::{self, Permissions, set_permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use rustix::net::sockopt::set_socket_passcred;
use tempfile::TempDir;

use crate::error::LaunchError;

/// Prefix of our directories' names.
const PREFIX: &str = "coldstart-notify-";
const NAME: &str = "socket";

/// The socket, in a directory of its own; both are removed in the end.
#[derive(Debug)]
pub(super) struct NotifySocket {
    socket: UnixDatagram,
    path: PathBuf,
    _directory: TempDir,
}

impl NotifySocket {
    pub(super) fn new() -> Result<Self, LaunchError> {
        // Sandboxes show a program `/run` rather than our temporary directory; writing there takes root. And a
        // socket's name is limited to 107 bytes, which a long TMPDIR can use up.
        let mut directories = vec![PathBuf::from("/run")];
        directories.extend(std::path::absolute(std::env::temp_dir()).ok());
        directories.push("/tmp".into());
        directories.dedup();
        let mut answer = io::Error::from(io::ErrorKind::NotFound);
        for directory in &directories {
            match Self::below(directory) {
                Ok(socket) => return Ok(socket),
                Err(error) => answer = error,
            }
        }
        Err(LaunchError::NotifySocket { directories, source: answer })
    }

    fn below(parent: &Path) -> io::Result<Self> {
        remove_left(parent);
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let path = directory.path().join(NAME);
        let socket = UnixDatagram::bind(&path)?;
        set_socket_passcred(&socket, true)?;
        // Not by the mode at creation, which our umask would reduce.
        set_permissions(&path, Permissions::from_mode(0o666))?;
        set_permissions(directory.path(), Permissions::from_mode(0o711))?;
        Ok(Self { socket, path, _directory: directory })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl AsFd for NotifySocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Removes sockets left by killed processes of ours: those that no process has open, so that the kernel
/// refuses to connect (`unix(7)`), in any PID namespace. Other users' directories are left alone: in
/// `/tmp` they may have been replaced by something else.
fn remove_left(parent: &Path) {
    let ours = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == ours);
        let path = entry.path().join(NAME);
        if is_ours
            && fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket())
            && let Ok(asking) = UnixDatagram::unbound()
            && asking.connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
        {
            // What cannot be removed does no harm.
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_killed_have_left_is_removed_and_what_is_in_use_stays() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        for name in ["coldstart-notify-dead", "coldstart-notify-beginning", "coldstart-notify-file", "other"] {
            fs::create_dir(at(name)).unwrap();
        }
        for name in ["coldstart-notify-dead", "other"] {
            drop(UnixDatagram::bind(at(name).join(NAME)).unwrap());
        }
        fs::write(at("coldstart-notify-file").join(NAME), "").unwrap();
        std::os::unix::fs::symlink("other", at("coldstart-notify-link")).unwrap();
        let living = NotifySocket::below(parent.path()).unwrap();
        let second = NotifySocket::below(parent.path()).unwrap();
        assert!(!at("coldstart-notify-dead").exists());
        for name in ["coldstart-notify-beginning", "coldstart-notify-file/socket", "other/socket"] {
            assert!(at(name).exists(), "{name}");
        }
        assert!(living.path().exists() && second.path().exists());
    }

    #[test]
    fn anyone_may_send_and_nobody_may_list() {
        let socket = NotifySocket::new().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let directory = socket.path().parent().unwrap().to_owned();
        assert_eq!((mode(socket.path()), mode(&directory)), (0o666, 0o711));
        UnixDatagram::unbound().unwrap().send_to(b"READY=1", socket.path()).unwrap();
        drop(socket);
        assert!(!directory.exists());
    }

    #[test]
    fn a_directory_whose_name_is_too_long_is_left_empty() {
        let parent = tempfile::tempdir().unwrap();
        let long = parent.path().join("x".repeat(100));
        std::fs::create_dir(&long).unwrap();
        assert!(NotifySocket::below(&long).is_err());
        assert_eq!(std::fs::read_dir(&long).unwrap().count(), 0);
    }
}
