//! Programs of a test's own, written so that they can be started at once.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A file written by another process: a child that another test is just about to start has a descriptor of ours until then, and
/// what is open for writing is not executed (`ETXTBSY`).
pub(crate) fn script(directory: &Path, name: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
    let path = directory.join(name);
    let mut tee = Command::new("tee").arg(&path).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    tee.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
    assert!(tee.wait().unwrap().success());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}
