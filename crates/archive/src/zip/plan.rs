//! The new file as pieces of the old one, and new headers.
//!
//! Not obvious: the central directory keeps its order, though the entries behind it move. Programs see that order when they list an archive, and
//! some derive the order of their classes or plug-ins from it.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::read::{CENTRAL_LENGTH, WIDE_FIELD, shown, wide_field};
use super::{ZipArchive, ZipEntry, ZipError, ZipLayout};
use crate::fields::u16_at;

/// What a reader of a stream must find at once: a jar's manifest, the type of a document.
const IN_FRONT: &[&[u8]] = &[b"META-INF/", b"META-INF/MANIFEST.MF", b"mimetype"];
const ALL_ONES: u32 = u32::MAX;
/// "Version needed to extract" of an entry with a 64-bit field.
const WIDE_VERSION: u16 = 45;
const IS_ENCRYPTED: u16 = 1;

/// A part of the new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes of the old file.
    Copy(Range<usize>),
    /// New bytes.
    New(Vec<u8>),
}

/// A new file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZipPlan {
    /// From front to back.
    pub pieces: Vec<Piece>,
    /// The numbers of the entries in the order in which they will lie.
    pub order: Vec<usize>,
    /// Where the last used entry ends in the new file.
    pub used_end: u64,
    /// Where each entry will lie, by its number.
    pub places: Vec<Range<u64>>,
}

impl ZipPlan {
    /// The size of the new file in bytes.
    pub fn size(&self) -> u64 {
        self.pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.length()))
    }
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Copy(range) => range.len() as u64,
            Self::New(bytes) => bytes.len() as u64,
        }
    }
}

impl ZipArchive<'_> {
    /// Plans a file with the entries of `used` in front, in that order; all others stay in their order behind them.
    ///
    /// # Errors
    /// If the layout cannot hold the archive, or a header has no room for a larger offset.
    pub fn plan(&self, used: &[usize], layout: ZipLayout) -> Result<ZipPlan, ZipError> {
        let order = self.new_order(used);
        let (mut pieces, mut at) = (Vec::new(), 0u64);
        if layout == ZipLayout::Mozilla {
            self.check_for_mozilla()?;
            let directory =
                self.directory.len().saturating_add(self.end.record.len()).saturating_add(self.end.comment.len());
            at = 4u64.saturating_add(directory as u64);
        } else {
            pieces.push(Piece::Copy(self.prefix.clone()));
            at = at.saturating_add(self.prefix.len() as u64);
        }
        let mut places = vec![0..0; self.entries.len()];
        let mut used_end = 0;
        let is_used: HashSet<&usize> = used.iter().collect();
        let last_used = order.iter().rposition(|number| is_used.contains(number));
        let mut records = Vec::new();
        for (position, number) in order.iter().enumerate() {
            let (Some(entry), Some(place)) = (self.entries.get(*number), places.get_mut(*number)) else { continue };
            let end = at.saturating_add(entry.record.len() as u64);
            *place = at..end;
            at = end;
            records.push(Piece::Copy(entry.record.clone()));
            if Some(position) == last_used {
                used_end = end;
            }
        }
        let base = if layout == ZipLayout::Mozilla { 0 } else { self.base as u64 };
        let mut directory = Vec::new();
        for (entry, place) in self.entries.iter().zip(&places) {
            self.put_central(entry, place.start.saturating_sub(base), &mut directory)?;
        }
        match layout {
            ZipLayout::Plain => {
                let wide_at = at.saturating_add(directory.len() as u64);
                let ends = self.ends(at.saturating_sub(base), directory.len() as u64, wide_at.saturating_sub(base));
                pieces.extend(records);
                pieces.push(Piece::New(directory));
                pieces.push(Piece::New(ends));
            }
            ZipLayout::Mozilla => {
                // The largest offset is in 32 bits, and so is the size.
                let whole = u32::try_from(at).map_err(|_| not_for_mozilla("it is larger than 4 GiB"))?;
                let ahead = u32::try_from(used_end).unwrap_or(whole);
                let ends = self.ends(4, directory.len() as u64, 0);
                pieces.push(Piece::New([&ahead.to_le_bytes()[..], &directory, &ends].concat()));
                pieces.extend(records);
                pieces.push(Piece::New(ends));
            }
        }
        Ok(ZipPlan { pieces, order, used_end, places })
    }

    /// What must be in front, then what was used, then the others. Entries of one name stay in their order, as the last or the first of them counts.
    fn new_order(&self, used: &[usize]) -> Vec<usize> {
        let order = self.physical_order();
        let mut ranks: HashMap<&[u8], usize> = HashMap::new();
        for (rank, number) in used.iter().enumerate() {
            if let Some(entry) = self.entries.get(*number) {
                ranks.entry(&entry.name).or_insert(rank);
            }
        }
        let front = order
            .iter()
            .take_while(|number| {
                self.entries.get(**number).is_some_and(|entry| IN_FRONT.contains(&entry.name.as_slice()))
            })
            .count();
        let mut rest = order;
        let mut order: Vec<usize> = rest.drain(..front).collect();
        let rank = |number: &usize| {
            let entry = self.entries.get(*number);
            entry.and_then(|entry| ranks.get(entry.name.as_slice())).copied().unwrap_or(usize::MAX)
        };
        // Stable.
        rest.sort_by_key(rank);
        order.extend(rest);
        order
    }

    fn check_for_mozilla(&self) -> Result<(), ZipError> {
        if !self.prefix.is_empty() {
            return Err(not_for_mozilla("bytes lie in front of it"));
        }
        if self.is_wide() || self.entries.iter().any(|entry| entry.wide_offset.is_some()) {
            return Err(not_for_mozilla("it has records of zip64"));
        }
        for entry in &self.entries {
            if !matches!(entry.method, 0 | 8) || entry.flags & IS_ENCRYPTED != 0 {
                return Err(not_for_mozilla(&format!("`{}` is neither stored nor deflated", shown(&entry.name))));
            }
        }
        match self.entries.is_empty() {
            true => Err(not_for_mozilla("it has no entries")),
            false => Ok(()),
        }
    }

    /// Appends an entry's header with another offset.
    fn put_central(&self, entry: &ZipEntry, offset: u64, out: &mut Vec<u8>) -> Result<(), ZipError> {
        let no_room = || ZipError::NoRoom { name: shown(&entry.name) };
        let mut header = self.central(entry).to_vec();
        match (entry.wide_offset, u32::try_from(offset).ok().filter(|offset| *offset != ALL_ONES)) {
            (Some(at), _) => put(&mut header, at, &offset.to_le_bytes()),
            (None, Some(offset)) => put(&mut header, 42, &offset.to_le_bytes()),
            (None, None) => widen(&mut header, offset).ok_or_else(no_room)?,
        }
        out.extend(header);
        Ok(())
    }

    /// The end records for a directory at `offset`.
    fn ends(&self, offset: u64, size: u64, wide_at: u64) -> Vec<u8> {
        let part = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default().to_vec();
        let mut ends = Vec::new();
        let mut end = part(&self.end.record);
        if let Some((wide, locator)) = &self.end.wide {
            let (mut wide, mut locator) = (part(wide), part(locator));
            put(&mut wide, 40, &size.to_le_bytes());
            put(&mut wide, 48, &offset.to_le_bytes());
            put(&mut locator, 8, &wide_at.to_le_bytes());
            ends.extend(wide);
            ends.extend(locator);
        }
        for (at, value) in [(12usize, size), (16, offset)] {
            // A field of all ones sends readers to the larger record.
            let is_in_wide = self.end.wide.is_some() && end.get(at..at.saturating_add(4)) == Some(&[0xff; 4][..]);
            if !is_in_wide {
                put(&mut end, at, &u32::try_from(value).unwrap_or(ALL_ONES).to_le_bytes());
            }
        }
        ends.extend(end);
        ends.extend(part(&self.end.comment));
        ends
    }
}

fn not_for_mozilla(what: &str) -> ZipError {
    ZipError::NotForMozilla { what: what.to_owned() }
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}

/// Gives a central header an offset that needs 64 bits.
fn widen(header: &mut Vec<u8>, offset: u64) -> Option<()> {
    let name_end = CENTRAL_LENGTH.checked_add(usize::from(u16_at(header, 28)?))?;
    let extra = u16_at(header, 30)?;
    let extra_end = name_end.checked_add(usize::from(extra))?;
    let added = match wide_field(header.get(..extra_end)?, name_end) {
        Some(field) => {
            // Behind the sizes that are there, in front of the number of the volume.
            let is_wide = |at: usize| header.get(at..at.saturating_add(4)) == Some(&[0xff; 4][..]);
            let sizes = [24, 20].into_iter().filter(|at| is_wide(*at)).count().checked_mul(8)?;
            let length = u16::try_from(field.len().checked_add(8)?).ok()?;
            let at = field.start.checked_add(sizes).filter(|at| *at <= field.end)?;
            put(header, field.start.checked_sub(2)?, &length.to_le_bytes());
            header.splice(at..at, offset.to_le_bytes());
            8
        }
        None => {
            let field = [&WIDE_FIELD.to_le_bytes()[..], &8u16.to_le_bytes(), &offset.to_le_bytes()].concat();
            header.splice(name_end..name_end, field);
            12
        }
    };
    put(header, 30, &extra.checked_add(added)?.to_le_bytes());
    put(header, 42, &ALL_ONES.to_le_bytes());
    let version = u16_at(header, 6)?.max(WIDE_VERSION);
    put(header, 6, &version.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{u32_at, u64_at};

    fn header(extra: &[u8], sizes: [u32; 2]) -> Vec<u8> {
        let mut header = vec![0; CENTRAL_LENGTH];
        put(&mut header, 0, b"PK\x01\x02");
        put(&mut header, 20, &sizes[0].to_le_bytes());
        put(&mut header, 24, &sizes[1].to_le_bytes());
        put(&mut header, 28, &1u16.to_le_bytes());
        put(&mut header, 30, &u16::try_from(extra.len()).unwrap().to_le_bytes());
        header.push(b'n');
        header.extend(extra);
        header.extend(b"comment");
        header
    }

    #[test]
    fn an_offset_beyond_4_gib_gets_a_field_of_its_own_or_goes_behind_the_sizes() {
        let offset = 5 << 32;
        let mut plain = header(&[], [7, 9]);
        widen(&mut plain, offset).unwrap();
        assert_eq!((u16_at(&plain, 30), u32_at(&plain, 42), u16_at(&plain, 6)), (Some(12), Some(ALL_ONES), Some(45)));
        assert_eq!(u64_at(&plain, CENTRAL_LENGTH + 1 + 4), Some(offset));
        assert!(plain.ends_with(b"comment"));
        let field = [&[1, 0, 16, 0][..], &[8; 8], &[9; 8]].concat();
        let mut sized = header(&[&[0x55, 0x54, 1, 0, 3][..], &field].concat(), [ALL_ONES, ALL_ONES]);
        widen(&mut sized, offset).unwrap();
        let at = CENTRAL_LENGTH + 1 + 5 + 4;
        assert_eq!((u16_at(&sized, at - 2), u64_at(&sized, at + 16)), (Some(24), Some(offset)));
        assert_eq!(u16_at(&sized, 30), Some(5 + 4 + 24));
        let mut full = header(&[], [1, 1]);
        put(&mut full, 30, &u16::MAX.to_le_bytes());
        assert_eq!(widen(&mut full, offset), None);
    }
}
