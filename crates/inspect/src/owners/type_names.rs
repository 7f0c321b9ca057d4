//! Whether bytes look like the type name in a C++ typeinfo.
//!
//! It is the mangled name of a type without `_Z` (Itanium C++ ABI, sections 2.9.5 and 5.1.5): `6Widget`,
//! `N3foo3barE`, `*12_GLOBAL__N_1...` for types of one translation unit. Checking its length fields makes a chance
//! match in other text very unlikely.

/// Limit on the length of a name, in bytes.
const FAR_ENOUGH: usize = 4096;

/// Whether a zero-terminated mangled type name begins here.
pub(super) fn is_type_name(bytes: &[u8]) -> bool {
    let head = bytes.get(..FAR_ENOUGH).unwrap_or(bytes);
    let Some(end) = head.iter().position(|byte| *byte == 0) else { return false };
    let name = head.get(..end).unwrap_or_default();
    let name = name.strip_prefix(b"*").unwrap_or(name);
    if !name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')) {
        return false;
    }
    // Qualifiers, pointers, and the nested, local and standard forms are before the first source name.
    let before = name.iter().take_while(|byte| b"NKVPROSZtTlsabijdLFDpMo".contains(byte)).count();
    let rest = name.get(before..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let Some(length) = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok())
    else {
        // Built-in types have no source name and are indistinguishable from other text.
        return false;
    };
    let first = rest.get(digits..).unwrap_or_default();
    length > 0 && first.len() >= length && first.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::is_type_name;

    #[test]
    fn names_of_types_are_told_from_other_text() {
        for name in [
            &b"6Widget\0"[..],
            b"N3foo3barE\0",
            b"*N12_GLOBAL__N_13FooE\0",
            b"St9exception\0",
            b"NSt7__cxx1112basic_stringIcE\0",
        ] {
            assert!(is_type_name(name), "{}", String::from_utf8_lossy(name));
        }
        for text in
            [&b"\0"[..], b"hello world\0", b"6Wid\0", b"99bottles\0", b"6Widget", b"1\0", b"/usr/lib\0", b"Usage\0"]
        {
            assert!(!is_type_name(text), "{}", String::from_utf8_lossy(text));
        }
    }
}
