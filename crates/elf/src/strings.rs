//! String tables: consecutive names, each terminated by a zero byte.
//!
//! Names may share bytes: linkers let `b` be the end of `ab`. In a hostile file, very many records can so have very long names,
//! which [`NameRoom`] notices. To recognise a name that is known, [`Strings::is`] reads no more of the table than that name has.

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

    /// Whether the name at `offset` is `name`.
    pub fn is(&self, offset: u64, name: &[u8]) -> bool {
        self.after(offset, name).is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Whether the name at `offset` begins with `start`.
    pub fn begins(&self, offset: u64, start: &[u8]) -> bool {
        self.after(offset, start).is_some()
    }

    /// What follows `start` at `offset`: at least the zero byte at the end of the name.
    fn after(&self, offset: u64, start: &[u8]) -> Option<&'data [u8]> {
        self.names.get(usize::try_from(offset).ok()?..)?.strip_prefix(start).filter(|rest| !rest.is_empty())
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

    /// Whether nothing is left: even looking for the ends of more names would take too long.
    pub fn is_exhausted(&self) -> bool {
        self.left == 0
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
    fn a_known_name_is_recognised_as_a_whole_and_by_its_start() {
        let strings = Strings::new(b"\0printf\0no end");
        assert_eq!(
            ["printf", "print", "printf_", ""].map(|name| strings.is(1, name.as_bytes())),
            [true, false, false, false]
        );
        assert_eq!(
            ["printf", "print", "printf_", ""].map(|name| strings.begins(1, name.as_bytes())),
            [true, true, false, true]
        );
        assert!(strings.is(3, b"intf") && strings.is(7, b"") && strings.is(0, b""));
        // Neither names without an end nor places outside are names.
        for outside in [8, 13, 14, 15, u64::MAX] {
            assert!(!strings.is(outside, b"no end") && !strings.begins(outside, b"") && !strings.is(outside, b""));
        }
    }

    #[test]
    fn names_that_overlap_take_more_room_than_there_is() {
        // Each of 100 names is the end of the one before, in a table of 101 bytes: 5050 bytes.
        let table = [vec![b'x'; 100], vec![0]].concat();
        let strings = Strings::new(&table);
        let mut room = NameRoom::for_size(strings.size());
        let taken = (0..100).map_while(|at| strings.get(at)).take_while(|name| room.take(name).is_ok()).count();
        assert_eq!(taken, 4);
        assert!(room.is_exhausted());
        assert_eq!(room.take(b""), Err(ElfError::OverlappingNames));
        // Names beside one another.
        let table = b"ab\0c\0".repeat(100);
        let strings = Strings::new(&table);
        let mut room = NameRoom::for_size(strings.size());
        assert!((0..200).all(|number| room.take(strings.get(number / 2 * 5 + number % 2 * 3).unwrap()).is_ok()));
    }
}
