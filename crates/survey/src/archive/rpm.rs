//! RPM packages: headers, and a compressed cpio archive behind them.

use std::io::{BufReader, Cursor, Read};

use rpm::PackageMetadata;

use super::deb::PORTION;
use super::limits::Room;
use super::unpacked::{Scratch, decoder};
use super::{ArchiveError, PackageName, Receiver, give};

/// The type of a file in its mode (`S_IFMT`, `S_IFREG`; inode(7)).
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

pub(super) fn members(
    archive: &[u8],
    scratch: &Scratch,
    room: &mut Room,
    named: &mut dyn FnMut(PackageName),
    receiver: Receiver<'_>,
) -> Result<(), ArchiveError> {
    let damaged = |error: rpm::Error| ArchiveError::Damaged(error.to_string());
    let mut stream = Cursor::new(archive);
    let metadata = PackageMetadata::parse(&mut stream).map_err(damaged)?;
    let version = format!("{}-{}", metadata.get_version().map_err(damaged)?, metadata.get_release().map_err(damaged)?);
    named(PackageName { name: metadata.get_name().map_err(damaged)?.to_owned(), version });
    let payload = archive.get(stream.position() as usize..).unwrap_or_default();
    let unpacked = scratch.bytes(&mut decoder(BufReader::with_capacity(PORTION, payload))?, room)?;
    if unpacked.get().starts_with(b"07070X") {
        let message = "its files are larger than cpio allows (a payload of type 07070X), which is not read".to_owned();
        return Err(ArchiveError::Unknown(message));
    }
    let mut rest = Cursor::new(unpacked.get());
    loop {
        let cut = |error: std::io::Error| ArchiveError::Damaged(error.to_string());
        let entry = cpio::newc::Reader::new(&mut rest).map_err(cut)?;
        if entry.entry().is_trailer() {
            return Ok(());
        }
        let (name, mode, size) =
            (entry.entry().name().to_owned(), entry.entry().mode(), entry.entry().file_size() as usize);
        // Between the header and its padding to four bytes there is nothing but the content.
        let mut entry = entry;
        let skipped = std::io::copy(&mut entry.by_ref().take(size as u64), &mut std::io::sink()).map_err(cut)?;
        let rest_of_entry = entry.finish().map_err(cut)?;
        let padding = size.next_multiple_of(4).saturating_sub(size);
        let end = (rest_of_entry.position() as usize).saturating_sub(padding);
        if skipped as usize != size {
            return Err(ArchiveError::Damaged(format!("`{name}` is cut off")));
        }
        if mode & TYPE == REGULAR {
            let part = unpacked.part(end.saturating_sub(size)..end);
            let bytes = part.ok_or_else(|| ArchiveError::Damaged(format!("`{name}` is cut off")))?;
            give(name.as_bytes(), Some(bytes), room, receiver)?;
        }
    }
}
