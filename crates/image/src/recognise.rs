//! Whether a file is a start image, by its superblock.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Magic number of EROFS, and the volume name of our images, with their offsets.
const MARKS: [(u64, &[u8]); 2] = [(1024, &[0xe2, 0xe1, 0xf5, 0xe0]), (1024 + 64, b"coldstart\0\0\0\0\0\0\0")];

/// Whether an open file is an image that coldstart made. Other EROFS images are not.
///
/// # Errors
/// The file system's error.
pub fn is_start_image(file: &File) -> io::Result<bool> {
    for (offset, mark) in MARKS {
        let mut found = vec![0; mark.len()];
        match file.read_exact_at(&mut found, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        if found != mark {
            return Ok(false);
        }
    }
    Ok(true)
}
