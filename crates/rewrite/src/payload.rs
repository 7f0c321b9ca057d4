//! Bytes appended to a rewritten file: their offset when the file is restored.
//!
//! Programs locate appended data from the file's end, or after the last section, and then it may move. Some formats
//! use offsets from the file's start; those must not move, or the file is refused.

use coldstart_elf::{FileOffset, FileSpan, Position};

use crate::layout::part;
use crate::refusal::Refusal;

/// The kept bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// Their offset in the rewritten file: its size when it was written.
    pub from: FileOffset,
    /// Their offset in the restored file; zeros fill the gap before it.
    pub to: FileOffset,
    /// Their number.
    pub size: u64,
    /// Their BLAKE3 hash.
    pub(crate) digest: [u8; 32],
}

/// A trailer is searched in this many bytes at the end.
const TRAILER: usize = 64;
/// The same for the end of a ZIP archive: its record and the longest comment (APPNOTE.TXT, 4.3.16).
const ZIP_END: usize = 22 + 0xffff;

impl Payload {
    /// Finds the offset for the data after `from` in a file whose original has `original_size` bytes.
    ///
    /// # Errors
    /// If it would have to move, but its format forbids that.
    pub(crate) fn place(file: &[u8], from: FileOffset, original_size: u64) -> Result<Self, Refusal> {
        let end = FileOffset(original_size);
        let bytes = part(file, FileSpan::between(from, FileOffset(file.len() as u64))?).unwrap_or(&[]);
        let to = match counts_from_start(bytes, from) {
            _ if end == from => from,
            None => end,
            Some(_) if end < from => from,
            Some(what) => return Err(Refusal::PayloadMoves { what, from, to: end }),
        };
        let digest = crate::note::identity::digest(bytes, &|_| {});
        Ok(Self { from, to, size: bytes.len() as u64, digest })
    }
}

/// The kind of data in a payload at `from` that uses offsets from the file's start.
fn counts_from_start(payload: &[u8], from: FileOffset) -> Option<&'static str> {
    let from = from.0;
    if is_adjusted_zip(payload, FileOffset(from)) {
        return Some("a ZIP archive whose offsets count from the start of the file");
    }
    // The mark ends the file: 17 bytes of text and a big-endian number (ext/misc/appendvfs.c of SQLite).
    if payload.last_chunk::<25>().is_some_and(|mark| mark.starts_with(b"Start-Of-SQLite3-")) {
        return Some("an SQLite database with its file offset");
    }
    let holds = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let trailer = last(payload, TRAILER);
    let in_trailer = u32::try_from(from)
        .ok()
        .filter(|from| *from > 0)
        .is_some_and(|from| holds(trailer, &from.to_le_bytes()) || holds(trailer, &from.to_be_bytes()));
    if in_trailer || holds(payload, &from.to_le_bytes()) || holds(payload, &from.to_be_bytes()) {
        return Some("the file offset at which they begin");
    }
    None
}

/// The last bytes, at most `count`.
fn last(bytes: &[u8], count: usize) -> &[u8] {
    bytes.len().checked_sub(count).and_then(|start| bytes.get(start..)).unwrap_or(bytes)
}

/// Whether the offsets of a ZIP archive at the end include the data before it (`zip -A`).
fn is_adjusted_zip(payload: &[u8], from: FileOffset) -> bool {
    let tail = last(payload, ZIP_END);
    let number = |bytes: &[u8], at: usize, size: usize| -> Option<u64> {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    };
    // Size and offset of the central directory, which ends where this record begins; of 64 bits in its own record.
    let is_adjusted = |signature: &[u8], at: usize, size: usize| -> Option<bool> {
        let place = tail.windows(4).rposition(|window| window == signature)?;
        let record = tail.get(place..)?;
        let (length, offset) = (number(record, at, size)?, number(record, at.checked_add(size)?, size)?);
        let before = payload.len().checked_sub(tail.len())?.checked_add(place)?;
        let ends = from.plus(before as u64).ok()?;
        Some(offset >= from.0 && offset.checked_add(length) == Some(ends.0))
    };
    is_adjusted(b"PK\x05\x06", 12, 4) == Some(true) || is_adjusted(b"PK\x06\x06", 40, 8) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty archive of one name, as a central directory of 10 bytes and its end.
    fn zip(offset: u32) -> Vec<u8> {
        let mut bytes = b"some file".to_vec();
        bytes.extend([1; 10]);
        bytes.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0\x0a\0\0\0");
        bytes.extend(offset.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn what_counts_from_the_start_of_the_file_is_known() {
        let from = 0x5678_u64;
        let told = |payload: &[u8]| counts_from_start(payload, FileOffset(from)).unwrap_or("");
        assert_eq!(told(b"PAYLOAD"), "");
        assert_eq!(told(&zip(9)), "");
        assert!(told(&zip(9 + from as u32)).contains("ZIP"));
        assert!(told(&[&b"Start-Of-SQLite3-"[..], &from.to_be_bytes()].concat()).contains("SQLite"));
        assert!(told(&[&from.to_le_bytes()[..], &[1; 100]].concat()).contains("begin"));
        assert!(told(&[&[1; 100][..], &[0x78, 0x56, 0, 0], b"END"].concat()).contains("begin"));
        assert_eq!(told(&[&[0x78, 0x56, 0, 0][..], &[1; 100]].concat()), "");
    }

    #[test]
    fn it_moves_unless_it_must_not() {
        let file = |payload: &[u8]| [&[0; 0x5678][..], payload].concat();
        let place = |payload: &[u8], original| {
            Payload::place(&file(payload), FileOffset(0x5678), original).map(|payload| payload.to.0)
        };
        assert_eq!(place(b"PAYLOAD", 0x9000), Ok(0x9000));
        assert_eq!(place(b"PAYLOAD", 0x4000), Ok(0x4000));
        assert_eq!(place(&zip(0x5681), 0x4000), Ok(0x5678));
        assert_eq!(place(&zip(0x5681), 0x5678), Ok(0x5678));
        assert_eq!(place(&zip(0x5681), 0x9000).unwrap_err().code(), "payload-moves");
    }
}
