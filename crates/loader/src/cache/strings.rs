//! The strings of a cache that is being written (elf/stringtable.c of glibc).
//!
//! Each string is stored once. A string that is a suffix of another is stored within it: most names are suffixes of
//! their paths, so names take almost no space.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Strings to be stored.
#[derive(Clone, Debug, Default)]
pub(super) struct StringTable {
    strings: BTreeSet<Vec<u8>>,
}

/// Stored strings and their offsets.
#[derive(Clone, Debug, Default)]
pub(super) struct StoredStrings {
    /// The strings, each followed by a zero byte.
    pub(super) bytes: Vec<u8>,
    places: BTreeMap<Vec<u8>, usize>,
}

impl StringTable {
    pub(super) fn add(&mut self, string: &[u8]) {
        if !self.strings.contains(string) {
            self.strings.insert(string.to_vec());
        }
    }

    /// Lays out the strings as `stringtable_finalize` does: in descending order of their reversed bytes, so that a
    /// string follows the longest one it is a suffix of.
    pub(super) fn store(self) -> StoredStrings {
        let mut sorted: Vec<Vec<u8>> = self.strings.into_iter().collect();
        sorted.sort_by(|left, right| compare_backwards(right, left));
        let mut stored = StoredStrings::default();
        let mut previous: Option<(Vec<u8>, usize)> = None;
        for string in sorted {
            let shared = previous.as_ref().filter(|(before, _)| before.ends_with(&string));
            let place = match shared {
                Some((before, place)) => place + (before.len() - string.len()),
                None => {
                    let place = stored.bytes.len();
                    stored.bytes.extend_from_slice(&string);
                    stored.bytes.push(0);
                    place
                }
            };
            stored.places.insert(string.clone(), place);
            previous = Some((string, place));
        }
        stored
    }
}

impl StoredStrings {
    /// Offset of a string from the first one; none for a string that was not added.
    pub(super) fn place(&self, string: &[u8]) -> Option<usize> {
        self.places.get(string).copied()
    }
}

/// Compares from the last byte to the first.
fn compare_backwards(left: &[u8], right: &[u8]) -> Ordering {
    left.iter().rev().cmp(right.iter().rev())
}

#[cfg(test)]
mod tests {
    use super::StringTable;

    #[test]
    fn ends_share_the_bytes_of_the_longest() {
        let mut table = StringTable::default();
        for string in ["liba.so", "/lib/liba.so", "/usr/lib/liba.so", "x", "liba.so", ""] {
            table.add(string.as_bytes());
        }
        let stored = table.store();
        assert_eq!(stored.bytes, b"x\0/usr/lib/liba.so\0");
        let places =
            ["x", "/usr/lib/liba.so", "/lib/liba.so", "liba.so", ""].map(|string| stored.place(string.as_bytes()));
        assert_eq!(places, [Some(0), Some(2), Some(6), Some(11), Some(18)]);
        assert_eq!(stored.place(b"y"), None);
    }
}
