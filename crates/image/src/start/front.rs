//! What a start needs to know of an image: read in two pieces from its front.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_profile::shell_command;

use crate::index::{self, Index, IndexError, Sign};

/// EROFS' fields in the first block: the number of blocks, the UUID.
const BLOCKS: usize = 1024 + 36;
const UUID: usize = 1024 + 48;
const BLOCK: u64 = 4096;

/// The beginning of an image.
#[derive(Clone, Debug)]
pub struct Front {
    /// Its index, without the originals.
    pub index: Index,
    uuid: [u8; 16],
}

/// Why it cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrontError {
    /// The file system's error.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is no image, or a damaged one.
    #[error("{0}")]
    Index(#[from] IndexError),
    /// The file is shorter than the image.
    #[error("the image is cut off: it has {expected} bytes, the file {found}")]
    Short {
        /// What the image says.
        expected: u64,
        /// What there is.
        found: u64,
    },
}

/// Whether some first bytes of a file are those of a start image, and not of a plan.
pub(super) fn is_start_image_begin(bytes: &[u8]) -> bool {
    index::is_sign(bytes)
}

impl Front {
    /// Reads the front of an image. What lies behind it is not looked at.
    ///
    /// # Errors
    /// [`FrontError`].
    pub fn read(image: &File) -> Result<Self, FrontError> {
        let mut block = [0; BLOCK as usize];
        image.read_exact_at(&mut block, 0).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => IndexError::NotAnIndex.into(),
            _ => FrontError::from(error),
        })?;
        let sign = Sign::decode(&block)?;
        let blocks = block.get(BLOCKS..).and_then(<[u8]>::first_chunk).copied().map_or(0, u32::from_le_bytes);
        let (expected, found) = (u64::from(blocks).saturating_mul(BLOCK), image.metadata()?.len());
        if found < expected || sign.hot.saturating_add(sign.front) > expected {
            return Err(FrontError::Short { expected, found });
        }
        let mut front = vec![0; usize::try_from(sign.front).unwrap_or(0)];
        image.read_exact_at(&mut front, sign.hot)?;
        let index = index::decode_front(&front)?;
        if index.hot.end > expected || index.hot.start != sign.hot {
            return Err(IndexError::Damaged("the hot range").into());
        }
        let uuid = block.get(UUID..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        Ok(Self { index, uuid })
    }

    #[cfg(test)]
    pub(super) fn of(index: Index) -> Self {
        Self { index, uuid: [0; 16] }
    }

    /// The image's UUID as text: equal for equal images only.
    pub fn uuid_text(&self) -> String {
        uuid_text(&self.uuid)
    }

    /// A bit for each program of the image whose pages a start of these words needs: the program with these words; otherwise all with this
    /// first word; otherwise all.
    pub fn programs_of(&self, words: &[OsString]) -> u64 {
        let whole = shell_command(words.iter().map(OsString::as_os_str));
        let matching = |matches: &dyn Fn(&OsStr) -> bool| {
            let programs = self.index.programs.iter().enumerate().filter(|(_, program)| matches(program));
            programs.fold(0u64, |mask, (bit, _)| mask | 1u64.checked_shl(bit as u32).unwrap_or(0))
        };
        let same = matching(&|program| program == OsStr::new(&whole));
        if same != 0 {
            return same;
        }
        let name = |word: &OsStr| Path::new(word).file_name().map(OsStr::to_owned);
        let first = words.first().and_then(|word| name(word));
        let of_program = matching(&|program| {
            let word = program.as_encoded_bytes().split(|byte| *byte == b' ').next().unwrap_or_default();
            std::str::from_utf8(word).ok().and_then(|word| name(OsStr::new(word))) == first
        });
        if of_program != 0 { of_program } else { u64::MAX }
    }
}

/// A UUID as text.
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in uuid.iter().enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_needs_the_pages_of_its_command_or_else_of_its_program_or_else_all() {
        let programs = ["/usr/bin/a --one", "a '--with space'", "b"].map(OsString::from).to_vec();
        let front = Front::of(Index { programs, ..Index::default() });
        for (words, expected) in [
            (&["/usr/bin/a", "--one"][..], 1),
            (&["a", "--with space"], 2),
            (&["b"], 4),
            (&["/opt/b", "more"], 4),
            (&["a"], 3),
            (&["a", "--one"], 3),
            (&["c"], u64::MAX),
            (&[""], u64::MAX),
            (&["/"], u64::MAX),
            (&[], u64::MAX),
        ] {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(front.programs_of(&words), expected, "{words:?}");
        }
    }
}
