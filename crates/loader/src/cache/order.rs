//! The order of names in a cache.

use std::cmp::Ordering;

/// The order by which a cache is sorted, descending (`_dl_cache_libcmp` in elf/dl-cache.c): runs of digits count as
/// numbers and stand after other characters. Names may be equal here and different in bytes (`a01` and `a1`).
///
/// Numbers wrap around at 32 bits, as they do in glibc's `int`; a zero byte ends a name.
pub fn compare_names(left: &[u8], right: &[u8]) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (first, second) = (head(left), head(right));
        if first == 0 {
            return signed(first).cmp(&signed(second));
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
            (false, false) if first != second => return signed(first).cmp(&signed(second)),
            (false, false) => {
                left = left.get(1..).unwrap_or_default();
                right = right.get(1..).unwrap_or_default();
            }
        }
    }
}

/// Sorts as `ldconfig` does, which inserts each entry behind all that do not stand after it.
///
/// Numbers that wrap around make the order of names inconsistent; which order results then depends on the way of sorting,
/// and only `ldconfig`'s own, which is slow, gives its result.
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

/// Whether a name has a run of more digits than surely fit a number of 31 bits.
fn may_wrap(name: &[u8]) -> bool {
    name.split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() > 9)
}

fn head(text: &[u8]) -> u8 {
    text.first().copied().unwrap_or(0)
}

/// `char` is signed where the cache is mostly used.
fn signed(byte: u8) -> i8 {
    byte as i8
}

/// Takes the number at the beginning.
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

    use super::compare_names;

    #[test]
    fn digits_count_as_numbers_and_stand_after_the_rest() {
        assert_eq!(compare_names(b"libsyn149.so", b"libsyn9.so"), Greater);
        assert_eq!(compare_names(b"libx.so.01", b"libx.so.1"), Equal);
        assert_eq!(compare_names(b"libx.so", b"libx.so.1"), Less);
        assert_eq!(compare_names(b"liba1", b"libab"), Greater);
        assert_eq!(compare_names(b"liba", b"liba"), Equal);
        assert_eq!(compare_names(b"99999999999999999999", b"1"), compare_names(b"1661992959", b"1"));
    }
}
