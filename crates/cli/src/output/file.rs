//! Files that verbs write for the user.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes beside the target and renames: who reads meanwhile sees the old file or the new one, whole.
///
/// The file is readable for everybody, as what we write is meant to be used by others, too.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let permissions = std::fs::Permissions::from_mode(0o644);
    let mut file = tempfile::Builder::new().prefix(".coldstart-").permissions(permissions).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
