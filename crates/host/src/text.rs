//! Common parts of files of `/proc` and `/sys`: `name: value` lines, numbers, octal escapes.

use std::str::FromStr;

/// The value of the first `name: value` line with this name, without the blanks around it.
pub fn field<'t>(text: &'t [u8], name: &str) -> Option<&'t [u8]> {
    text.split(|&byte| byte == b'\n').find_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (found, value) = line.split_at(colon);
        (found.trim_ascii() == name.as_bytes()).then(|| value.get(1..).unwrap_or_default().trim_ascii())
    })
}

/// The value of the first `name: value kB` line with this name, in bytes.
pub fn kibibytes(text: &[u8], name: &str) -> Option<u64> {
    let number: u64 = decimal(field(text, name)?.strip_suffix(b"kB")?.trim_ascii_end())?;
    number.checked_mul(1024)
}

/// A decimal number without sign or blanks.
pub fn decimal<N: FromStr>(word: &[u8]) -> Option<N> {
    // `parse` would accept a plus sign.
    if word.starts_with(b"+") {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A number written in hexadecimal digits without a prefix.
pub fn hexadecimal(word: &[u8]) -> Option<u64> {
    if !word.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()
}

/// The words of a text, separated by ASCII white space.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The word in brackets of a list of choices such as `none [mq-deadline] kyber`; all of it where nothing is in brackets.
pub fn chosen(choices: &str) -> &str {
    let inside = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(choices, |(inside, _)| inside)
}

/// The number of processors in a list of ranges such as `0-3,6`. Malformed ranges do not count.
pub fn count_of_ranges(list: &str) -> u32 {
    let length = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    list.split(',').filter_map(length).fold(0, u32::saturating_add)
}

/// Replaces each backslash and three octal digits by the byte they encode (`seq_escape` in `fs/seq_file.c`).
///
/// Where a format escapes the backslash itself, as `mountinfo` does, this restores exactly the original text.
pub fn without_octal_escapes(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        match escaped_byte(rest) {
            Some(byte) => {
                plain.push(byte);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                plain.push(first);
                rest = behind;
            }
        }
    }
    plain
}

/// The byte of `\ooo` at the beginning of a text.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ..] = text else { return None };
    Some((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = b"SwapCached:  7 kB\nCached:   9 kB\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: Other\nodd\nA:b:c\n\xff: x\n";
        assert_eq!(field(text, "Cached"), Some(&b"9 kB"[..]));
        assert_eq!(field(text, "model name"), Some(&b"Some CPU @ 2 GHz"[..]));
        assert_eq!(field(text, "A"), Some(&b"b:c"[..]));
        assert_eq!(field(text, "odd"), None);
        assert_eq!(kibibytes(text, "Cached"), Some(9 << 10));
        assert_eq!(kibibytes(text, "A"), None);
        assert_eq!(kibibytes(b"A: 18446744073709551615 kB", "A"), None);
    }

    #[test]
    fn numbers_are_digits_only() {
        assert_eq!((decimal::<u64>(b"42"), decimal::<u64>(b"+42"), decimal::<u64>(b"4 2")), (Some(42), None, None));
        assert_eq!(decimal::<i64>(b"-1"), Some(-1));
        assert_eq!(
            (hexadecimal(b"fE"), hexadecimal(b""), hexadecimal(b"+1"), hexadecimal(b"0x1")),
            (Some(254), None, None, None)
        );
        assert_eq!(words(b" a\tb\n ").collect::<Vec<_>>(), [b"a", b"b"]);
    }

    #[test]
    fn the_choice_in_use_stands_in_brackets() {
        assert_eq!(
            (chosen("none [mq-deadline] kyber"), chosen("none"), chosen("a ] [b")),
            ("mq-deadline", "none", "a ] [b")
        );
    }

    #[test]
    fn processors_come_in_ranges() {
        for (list, count) in [("0", 1), ("0-3,6", 5), ("", 0), ("3-1", 0), ("x,0-1", 2), ("0-4294967295", 0)] {
            assert_eq!(count_of_ranges(list), count, "{list}");
        }
    }

    #[test]
    fn only_whole_escapes_of_bytes_are_undone() {
        assert_eq!(without_octal_escapes(b"with\\040blank\\134x"), b"with blank\\x");
        assert_eq!(without_octal_escapes(b"\\134040"), b"\\040", "an escaped backslash begins no escape");
        for text in [&b"end\\04"[..], b"\\777", b"\\+12", b"\\08a", b"\\"] {
            assert_eq!(without_octal_escapes(text), text);
        }
    }

    proptest! {
        #[test]
        fn escaping_and_back_is_the_same(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let escape = |&byte: &u8| match byte {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
                other => vec![other],
            };
            let escaped: Vec<u8> = bytes.iter().flat_map(escape).collect();
            prop_assert_eq!(without_octal_escapes(&escaped), bytes);
        }
    }
}
