//! Every word that gets the load bias added, by address.

use std::ops::Range;

use object::elf::PF_W;

use crate::image::Image;
use crate::tables::Tables;
use crate::tables::relocations::{Form, is_relative, records, relative_kind};
use crate::verdict::{NotProven, broken, hex};

const WHAT: &str = "relative relocation";

/// The relative relocations of a file.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    /// Addresses with the addends in their records, sorted.
    explicit: Vec<(u64, u64)>,
    /// Addresses of words with their addend in place, sorted: from `DT_RELR` and `DT_REL`.
    implicit: Vec<u64>,
    /// Those from `DT_RELR` alone, or from a stub's words.
    pub(crate) relr: Vec<u64>,
    word: u64,
}

/// A word that gets the load bias added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) address: u64,
    /// The addend, if it is not in the word.
    pub(crate) addend: Option<u64>,
}

impl Slots {
    /// Reads all tables. No word may be changed twice, so the order of the tables does not matter.
    pub(crate) fn read(image: &Image<'_>, tables: &Tables<'_>) -> Result<Self, NotProven> {
        let relative = relative_kind(image.header.machine, image.encoding.wide);
        if relative.is_none() && !tables.relr.is_empty() {
            let machine = image.header.machine;
            return Err(broken(image.which, WHAT, format!("machine {machine}"), "RELR is not supported"));
        }
        let writable = image.loads().filter(|load| load.flags.contains(PF_W)).map(|load| load.backed());
        let mut slots = Self { word: image.word_size(), ..Self::default() };
        let writable = Writable { ranges: writable.collect(), word: slots.word, image };
        slots.implicit = expand_relr(image, tables.relr, &writable)?;
        slots.relr.clone_from(&slots.implicit);
        let table_bytes: usize = tables.relocations.iter().map(|table| table.bytes.len()).sum();
        if let Some(table) = tables.relocations.iter().find(|table| table.form == Form::Rela) {
            // An upper bound by the size of the file.
            let entry = table.form.entry_size(image.encoding.wide) as usize;
            slots.explicit.reserve_exact(table_bytes.checked_div(entry).unwrap_or(0));
        }
        for table in tables.relocations.iter().chain(&tables.plt_relocations) {
            for record in records(image, *table).filter(|record| is_relative(relative, record)) {
                writable.check(record.offset)?;
                match record.addend {
                    Some(addend) => slots.explicit.push((record.offset, addend)),
                    None => slots.implicit.push(record.offset),
                }
            }
        }
        if !slots.explicit.is_sorted() {
            slots.explicit.sort_unstable();
        }
        if !slots.implicit.is_sorted() {
            slots.implicit.sort_unstable();
        }
        slots.check_apart(image, tables)?;
        Ok(slots)
    }

    /// Adds words that the loader fills with an address of this object after a look-up by name, with that address.
    pub(crate) fn bind(&mut self, words: impl IntoIterator<Item = (u64, u64)>) {
        self.explicit.extend(words);
        self.explicit.sort_unstable();
    }

    pub(crate) fn count(&self) -> u64 {
        self.explicit.len().saturating_add(self.implicit.len()) as u64
    }

    /// The slots that begin within a range.
    pub(crate) fn within(&self, range: &Range<u64>) -> impl Iterator<Item = Slot> {
        let part = |start: usize, end: usize| start..end.max(start);
        let explicit = part(
            self.explicit.partition_point(|slot| slot.0 < range.start),
            self.explicit.partition_point(|slot| slot.0 < range.end),
        );
        let implicit = part(
            self.implicit.partition_point(|slot| *slot < range.start),
            self.implicit.partition_point(|slot| *slot < range.end),
        );
        let mut explicit = self.explicit.get(explicit).unwrap_or(&[]).iter().peekable();
        let mut implicit = self.implicit.get(implicit).unwrap_or(&[]).iter().peekable();
        std::iter::from_fn(move || match (explicit.peek(), implicit.peek()) {
            (Some((address, _)), Some(other)) if *other < address => {
                implicit.next().map(|address| Slot { address: *address, addend: None })
            }
            (Some(_), _) => explicit.next().map(|(address, addend)| Slot { address: *address, addend: Some(*addend) }),
            (None, _) => implicit.next().map(|address| Slot { address: *address, addend: None }),
        })
    }

    /// A word of `DT_RELR`, or of a stub, that overlaps a range.
    pub(crate) fn relr_touching(&self, range: &Range<u64>) -> Option<u64> {
        let below = self.word.saturating_sub(1);
        let first = self.relr.partition_point(|slot| *slot < range.start.saturating_sub(below));
        self.relr.get(first).copied().filter(|slot| *slot < range.end)
    }

    /// Whether a slot overlaps a range.
    pub(crate) fn touching(&self, range: &Range<u64>) -> Option<u64> {
        let below = self.word.saturating_sub(1);
        let range = range.start.saturating_sub(below)..range.end;
        self.within(&range).next().map(|slot| slot.address)
    }

    fn check_apart(&self, image: &Image<'_>, tables: &Tables<'_>) -> Result<(), NotProven> {
        let wrong =
            |address: u64| Err(broken(image.which, WHAT, hex(address), "two relocations change the same bytes"));
        let others = tables.other_targets(image);
        let mut others = others.iter().peekable();
        let mut end = 0;
        for slot in self.within(&(0..u64::MAX)) {
            if slot.address < end {
                return wrong(slot.address);
            }
            end = slot.address.saturating_add(self.word);
            while others.next_if(|(address, size)| address.saturating_add(*size) <= slot.address).is_some() {}
            if others.peek().is_some_and(|(address, _)| *address < end) {
                return wrong(slot.address);
            }
        }
        Ok(())
    }
}

struct Writable<'i, 'a> {
    ranges: Vec<Range<u64>>,
    word: u64,
    image: &'i Image<'a>,
}

impl Writable<'_, '_> {
    fn check(&self, address: u64) -> Result<(), NotProven> {
        let end = address.saturating_add(self.word);
        if self.ranges.iter().any(|range| range.start <= address && end <= range.end) {
            return Ok(());
        }
        let problem = "the word is not in the file part of a writable segment";
        Err(broken(self.image.which, WHAT, hex(address), problem))
    }
}

/// The words of a RELR table (gABI, "Relative Relocation Table"; `elf_dynamic_do_relr` of glibc): an even entry is an
/// address; the other bits of an odd entry select words after it.
fn expand_relr(image: &Image<'_>, table: &[u8], writable: &Writable<'_, '_>) -> Result<Vec<u64>, NotProven> {
    let word = image.word_size();
    let bits = word.saturating_mul(8).saturating_sub(1);
    let mut addresses: Vec<u64> = Vec::new();
    let mut next: Option<u64> = None;
    let mut push = |address: u64| {
        if addresses.last().is_some_and(|last| *last >= address) {
            return Err(broken(image.which, WHAT, hex(address), "RELR addresses are not ascending"));
        }
        // Ascending, and all within the file's bytes: no more of them than the file has words.
        writable.check(address)?;
        addresses.push(address);
        Ok(())
    };
    for entry in table.chunks_exact(word as usize).filter_map(|bytes| image.word(bytes)) {
        if entry & 1 == 0 {
            push(entry)?;
            next = Some(entry.saturating_add(word));
            continue;
        }
        let Some(base) = next else {
            return Err(broken(image.which, WHAT, "the first RELR entry", "a bitmap without an address before it"));
        };
        let mut set = entry >> 1;
        while set != 0 {
            let bit = u64::from(set.trailing_zeros());
            push(base.saturating_add(bit.saturating_mul(word)))?;
            set &= set.wrapping_sub(1);
        }
        next = Some(base.saturating_add(bits.saturating_mul(word)));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Slots {
        Slots { explicit: vec![(16, 1), (40, 2)], implicit: vec![8, 24], relr: Vec::new(), word: 8 }
    }

    #[test]
    fn both_kinds_come_in_order_of_their_addresses() {
        let addresses = |range: Range<u64>| -> Vec<u64> { slots().within(&range).map(|slot| slot.address).collect() };
        assert_eq!(addresses(0..100), [8, 16, 24, 40]);
        assert_eq!(addresses(9..40), [16, 24]);
        assert_eq!(addresses(41..50), [0_u64; 0]);
    }

    #[test]
    fn a_word_touches_each_of_its_bytes() {
        assert_eq!(slots().touching(&(47..48)), Some(40));
        assert_eq!(slots().touching(&(48..60)), None);
        assert_eq!(slots().touching(&(32..40)), None);
    }
}
