//! File names as bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file name as a path.
pub(crate) fn path(name: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(name))
}

/// A path as a file name.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// The part before the last slash as the loader cuts it: "/" for a file in the root, the current directory without one.
pub(crate) fn directory_of(name: &[u8], current_directory: &Path) -> Option<Vec<u8>> {
    let slash = name.iter().rposition(|&byte| byte == b'/');
    if name.first() == Some(&b'/') {
        let end = slash.unwrap_or(0).max(1);
        return name.get(..end).map(<[u8]>::to_vec);
    }
    if current_directory.as_os_str().is_empty() {
        return None;
    }
    let mut directory = bytes(current_directory).to_vec();
    if let Some(before) = slash.and_then(|slash| name.get(..slash)) {
        if directory.last() != Some(&b'/') {
            directory.push(b'/');
        }
        directory.extend_from_slice(before);
    }
    Some(directory)
}
