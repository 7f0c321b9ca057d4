//! The order of names in a cache.

use std::cmp::Ordering;

/// How a processor's C compares characters: the loader and `ldconfig` compare plain `char`, and its sign depends on
/// the ABI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Characters {
    /// Bytes from 0x80 on sort first: x86, MIPS, SPARC, LoongArch.
    #[default]
    Signed,
    /// They sort last: ARM, AArch64, PowerPC, RISC-V, s390.
    Unsigned,
}

/// Entry flags of architectures with unsigned `char` (`FLAG_REQUIRED_MASK` in sysdeps/generic/ldconfig.h): s390x,
/// powerpc64, ARM with hard floats, AArch64, ARM with soft floats, RISC-V with either ABI.
const UNSIGNED: [u32; 7] = [0x0400, 0x0500, 0x0900, 0x0a00, 0x0b00, 0x0f00, 0x1000];
/// `FLAG_REQUIRED_MASK`.
const REQUIRED: u32 = 0xff00;

impl Characters {
    /// The order for entries with these flags. 32-bit entries without an ABI flag are ambiguous; they count as x86
    /// unless other entries decide.
    pub fn of_flags(flags: impl IntoIterator<Item = u32>) -> Self {
        let is_unsigned = flags.into_iter().any(|flags| UNSIGNED.contains(&(flags & REQUIRED)));
        if is_unsigned { Self::Unsigned } else { Self::Signed }
    }

    fn compare(self, left: u8, right: u8) -> Ordering {
        match self {
            Self::Signed => (left as i8).cmp(&(right as i8)),
            Self::Unsigned => left.cmp(&right),
        }
    }
}

/// The order of a cache, descending (`_dl_cache_libcmp` in elf/dl-cache.c): runs of digits compare as numbers and
/// after other characters. Different names may compare equal (`a01` and `a1`).
///
/// Numbers wrap around at 32 bits, as in glibc's `int`; a zero byte ends a name.
pub fn compare_names(left: &[u8], right: &[u8], characters: Characters) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (first, second) = (head(left), head(right));
        if first == 0 {
            return characters.compare(first, second);
        }
        match (first.is_ascii_digit(), second.is_ascii_digit()) {
            (true, true) => {
                let (first, second) = (number(&mut left), number(&mut right));
                // glibc returns the difference, which may wrap as well.
                match first.wrapping_sub(second).cmp(&0) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                }
            }
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) if first != second => return characters.compare(first, second),
            (false, false) => {
                left = left.get(1..).unwrap_or_default();
                right = right.get(1..).unwrap_or_default();
            }
        }
    }
}

/// Sorts as `ldconfig` does, by insertion after all entries that are not greater.
///
/// Numbers that wrap around make the comparison inconsistent. The result then depends on the algorithm, and only
/// `ldconfig`'s own, which is slow, gives its result.
pub(super) fn sort<T>(items: &mut Vec<T>, name: impl Fn(&T) -> &[u8], compare: impl Fn(&T, &T) -> Ordering) {
    if !items.iter().any(|item| may_wrap(name(item))) {
        items.sort_by(compare);
        return;
    }
    let mut sorted: Vec<T> = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        let place = sorted.iter().position(|other| compare(other, &item) == Ordering::Greater);
        sorted.insert(place.unwrap_or(sorted.len()), item);
    }
    *items = sorted;
}

/// Whether a name has a run of digits that may exceed 31 bits.
fn may_wrap(name: &[u8]) -> bool {
    name.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 9)
}

fn head(text: &[u8]) -> u8 {
    text.first().copied().unwrap_or(0)
}

/// Parses the number at the beginning and removes it.
fn number(text: &mut &[u8]) -> i32 {
    let mut value = 0_i32;
    while let Some((&digit, rest)) = text.split_first() {
        if !digit.is_ascii_digit() {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(i32::from(digit - b'0'));
        *text = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering::{Equal, Greater, Less};

    use super::{Characters, compare_names};

    fn compare(left: &[u8], right: &[u8]) -> std::cmp::Ordering {
        compare_names(left, right, Characters::Signed)
    }

    #[test]
    fn bytes_from_0x80_on_stand_where_the_machine_has_them() {
        for (flags, order) in [(0x0303, Less), (0x0003, Less), (0x0a03, Greater), (0x0903, Greater), (0x0503, Greater)]
        {
            let characters = Characters::of_flags([0x0003, flags]);
            assert_eq!(compare_names(b"lib\xc3\xa4.so", b"libz.so", characters), order, "{flags:#x}");
            assert_eq!(compare_names(b"lib\xff", b"lib", characters), order, "{flags:#x}");
        }
    }

    #[test]
    fn digits_count_as_numbers_and_stand_after_the_rest() {
        assert_eq!(compare(b"libsyn149.so", b"libsyn9.so"), Greater);
        assert_eq!(compare(b"libx.so.01", b"libx.so.1"), Equal);
        assert_eq!(compare(b"libx.so", b"libx.so.1"), Less);
        assert_eq!(compare(b"liba1", b"libab"), Greater);
        assert_eq!(compare(b"liba", b"liba"), Equal);
        assert_eq!(compare(b"99999999999999999999", b"1"), compare(b"1661992959", b"1"));
    }
}
