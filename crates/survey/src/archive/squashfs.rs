//! squashfs images, alone or behind an AppImage's runtime.

use std::io::{BufReader, Cursor, Read};
use std::os::unix::ffi::OsStrExt;

use backhand::{FilesystemReader, InnerNode};

use super::limits::Room;
use super::unpacked::Scratch;
use super::{ArchiveError, Bytes, Format, Receiver, give, is_of_interest};

pub(super) fn members(
    archive: &Bytes,
    offset: usize,
    scratch: &Scratch,
    room: &mut Room,
    receiver: Receiver<'_>,
) -> Result<(), ArchiveError> {
    let damaged = |error: backhand::BackhandError| ArchiveError::Damaged(error.to_string());
    let image = archive.part(offset..archive.get().len());
    let image = image.ok_or_else(|| ArchiveError::Damaged("no image follows the runtime".to_owned()))?;
    let stream = BufReader::new(Cursor::new(SharedBytes(image)));
    let system = FilesystemReader::from_reader(stream).map_err(damaged)?;
    for node in system.files() {
        let InnerNode::File(file) = &node.inner else { continue };
        let name = node.fullpath.as_os_str().as_bytes().to_vec();
        let mut content = system.file(file).reader();
        // Most files are no objects, and need not be unpacked.
        let mut start = Vec::new();
        content.by_ref().take(Format::BYTES as u64).read_to_end(&mut start).map_err(ArchiveError::of_stream)?;
        let unpacked = is_of_interest(&start).then(|| scratch.bytes(&mut Cursor::new(start).chain(content), room));
        give(&name, unpacked.transpose()?, room, receiver)?;
    }
    Ok(())
}

/// Bytes that a reader owns.
#[derive(Clone, Debug)]
struct SharedBytes(Bytes);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.get()
    }
}
