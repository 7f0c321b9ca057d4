//! Name patterns: `*`, `?`, `[...]`, as in /etc/ld.so.conf and in shells, and matching files against them.
//!
//! Not obvious: file names may contain brackets and stars. So a pattern that is literally the name of a file
//! matches that file.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether a name selects a file: by path, file name or soname, which is evaluated last; literally, or as a pattern.
pub fn means_file<'a>(name: &str, path: &Path, soname: impl FnOnce() -> Option<&'a str>) -> bool {
    is_one_of(path, soname, |text| text == name.as_bytes() || fits(name.as_bytes(), text))
}

/// The same, literally only.
pub fn names_file<'a>(name: &str, path: &Path, soname: impl FnOnce() -> Option<&'a str>) -> bool {
    is_one_of(path, soname, |text| text == name.as_bytes())
}

fn is_one_of<'a>(path: &Path, soname: impl FnOnce() -> Option<&'a str>, is: impl Fn(&[u8]) -> bool) -> bool {
    is(path.as_os_str().as_bytes())
        || path.file_name().is_some_and(|name| is(name.as_bytes()))
        || soname().is_some_and(|name| is(name.as_bytes()))
}

/// Whether a name matches a pattern (`fnmatch` in the C locale). A leading dot is not special.
pub fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut rest, mut left) = (pattern, name);
    // Where to go on when what follows the last star does not fit: after the star, one character further.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some((b'*', after)) = rest.split_first() {
            retry = Some((after, left));
            rest = after;
            continue;
        }
        if rest.is_empty() && left.is_empty() {
            return true;
        }
        if let (Some(after), Some((_, tail))) = (one(rest, left), left.split_first()) {
            (rest, left) = (after, tail);
            continue;
        }
        let Some((after, from)) = retry else { return false };
        let Some((_, from)) = from.split_first() else { return false };
        retry = Some((after, from));
        (rest, left) = (after, from);
    }
}

/// Whether a pattern contains wildcards.
pub fn is_pattern(pattern: &[u8]) -> bool {
    pattern.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'\\'))
}

/// What follows the pattern's first item, if that fits the name's first byte.
fn one<'a>(pattern: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (&byte, (&item, after)) = (name.first()?, pattern.split_first()?);
    match item {
        b'?' => Some(after),
        b'[' => match set(after, byte) {
            Some((true, after)) => Some(after),
            Some((false, _)) => None,
            // Without an end it is an ordinary character.
            None => (byte == b'[').then_some(after),
        },
        b'\\' => after.split_first().and_then(|(&item, after)| (item == byte).then_some(after)),
        item => (item == byte).then_some(after),
    }
}

/// Whether a byte is in the set whose inside begins the pattern, and what follows the set.
fn set(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let (negated, mut rest) = match pattern.split_first()? {
        (b'!' | b'^', rest) => (true, rest),
        _ => (false, pattern),
    };
    let (mut is_in, mut is_first) = (false, true);
    loop {
        let (&item, after) = rest.split_first()?;
        if item == b']' && !is_first {
            return Some((is_in != negated, after));
        }
        is_first = false;
        let end = match after {
            [b'-', end, ..] if *end != b']' => Some(*end),
            _ => None,
        };
        is_in |= (item..=end.unwrap_or(item)).contains(&byte);
        rest = if end.is_some() { after.get(2..)? } else { after };
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{fits, means_file, names_file};

    #[test]
    fn patterns_are_those_of_the_shell() {
        let fitting = [
            ("*.conf", "a.conf"),
            ("lib?.so*", "liba.so.1"),
            ("[a-c]x", "bx"),
            ("[!a]", "b"),
            ("[]]", "]"),
            ("a*b*c", "aXbbYc"),
            ("[x", "[x"),
            ("\\*", "*"),
            ("", ""),
        ];
        for (pattern, name) in fitting {
            assert!(fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [("*.conf", "a.con"), ("?", ""), ("[a-c]", "d"), ("a", "ab"), ("\\*", "a"), ("*a", "b")]
        {
            assert!(!fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        let long = [b'a'; 5000];
        assert!(!fits(b"*a*a*a*a*a*a*b", &long));
    }

    #[test]
    fn files_are_meant_by_path_name_or_soname() {
        let path = Path::new("/opt/a*b[c]?d");
        let soname = || Some("libd.so.1");
        for name in ["a*b[c]?d", "/opt/a*b[c]?d", "a*", "/opt/*", "libd.so.1", "libd.so*"] {
            assert!(means_file(name, path, soname), "{name}");
        }
        assert!(!means_file("opt", path, soname) && !means_file("libd", path, soname));
        assert!(names_file("a*b[c]?d", path, soname) && !names_file("a*", path, soname));
        // The pattern would mean another file.
        assert!(!fits(b"a*b[c]?d", b"a*b[c]?d") && means_file("a*b[c]?d", Path::new("axbcxd"), || None));
    }
}
