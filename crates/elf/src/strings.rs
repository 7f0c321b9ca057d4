//! String tables: consecutive names, each terminated by a zero byte.
//!
//! Names may share bytes: linkers let `b` be the end of `ab`. In a hostile file, very many records can so have very long names,
//! which [`NameRoom`] notices.

use crate::error::{ElfError, Result};
use crate::file::ElfFile;

/// A string table, in place in the file. Names are bytes: the format does not define an encoding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strings<'data> {
    /// Up to the last zero byte: a name that begins after it has no end, so nothing is searched there.
    names: &'data [u8],
    size: u64,
}

impl<'data> Strings<'data> {
    /// The table in `bytes`.
    pub fn new(bytes: &'data [u8]) -> Self {
        let end = bytes.iter().rposition(|byte| *byte == 0).map_or(0, |last| last.saturating_add(1));
        Self { names: bytes.get(..end).unwrap_or_default(), size: bytes.len() as u64 }
    }

    /// The name at `offset`; `None` if it begins or ends outside the table.
    pub fn get(&self, offset: u64) -> Option<&'data [u8]> {
        let rest = self.names.get(usize::try_from(offset).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        rest.get(..end)
    }

    /// Size of the table in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

/// How many bytes of names may still be read from a file: together, real ones are hardly longer than the file.
#[derive(Clone, Copy, Debug)]
pub struct NameRoom {
    left: u64,
}

impl NameRoom {
    /// The names of a file may take this many times its size.
    const TIMES: u64 = 4;

    /// For the names in this file.
    pub fn of(file: &ElfFile<'_>) -> Self {
        Self::for_size(file.size())
    }

    /// For the names in a file, or in tables, of this size in bytes.
    pub fn for_size(size: u64) -> Self {
        Self { left: size.saturating_mul(Self::TIMES) }
    }

    /// Takes the room of a name.
    ///
    /// # Errors
    /// If there is not enough left, now or before. No more names should be read then: finding the end of each takes time, too.
    pub fn take(&mut self, name: &[u8]) -> Result<()> {
        // A name counts with its end, so that an exhausted room stays so.
        let left = self.left.checked_sub((name.len() as u64).saturating_add(1));
        self.left = left.unwrap_or(0);
        left.map(|_| ()).ok_or(ElfError::OverlappingNames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_overlap_take_more_room_than_there_is() {
        // Each of 100 names is the end of the one before, in a table of 101 bytes: 5050 bytes.
        let table = [vec![b'x'; 100], vec![0]].concat();
        let strings = Strings::new(&table);
        let mut room = NameRoom::for_size(strings.size());
        let taken = (0..100).map_while(|at| strings.get(at)).take_while(|name| room.take(name).is_ok()).count();
        assert_eq!(taken, 4);
        assert_eq!(room.take(b""), Err(ElfError::OverlappingNames));
        // Names beside one another.
        let table = b"ab\0c\0".repeat(100);
        let strings = Strings::new(&table);
        let mut room = NameRoom::for_size(strings.size());
        assert!((0..200).all(|number| room.take(strings.get(number / 2 * 5 + number % 2 * 3).unwrap()).is_ok()));
    }
}
