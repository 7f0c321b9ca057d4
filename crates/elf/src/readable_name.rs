//! Names of C++ and Rust as they were written.

use std::fmt::{self, Write};

/// Longer names are not demangled: they are deeply nested, slow to demangle, and useless to read. In bytes.
const LONGEST: usize = 2_000;
/// Limit on the demangled size. Few bytes can expand to very many, because of back references.
const LONGEST_READABLE: usize = 8_000;

/// Demangles a C++ or Rust name, without parameters and without a symbol version; other names stay as they are. The caller escapes
/// unprintable characters.
pub fn readable_name(name: &[u8]) -> String {
    // `.symtab` has versions in the name: `realpath@@GLIBC_2.3`.
    let end = name.iter().position(|byte| *byte == b'@').filter(|end| *end > 0).unwrap_or(name.len());
    let text = String::from_utf8_lossy(name.get(..end).unwrap_or(name));
    if text.len() > LONGEST {
        return text.into_owned();
    }
    let mut readable = Limited(String::new());
    if let Ok(rust) = rustc_demangle::try_demangle(&text) {
        return match write!(readable, "{rust:#}") {
            Ok(()) => readable.0,
            Err(fmt::Error) => text.into_owned(),
        };
    }
    // Compilers add to names of parts of functions: `_Z1fv.cold`, `_Z1fv.part.0`.
    let (mangled, part) = text.split_once('.').map_or((&*text, None), |(mangled, part)| (mangled, Some(part)));
    if mangled.starts_with("_Z") {
        let options = cpp_demangle::DemangleOptions::default().no_params().no_return_type();
        let symbol = cpp_demangle::Symbol::new(mangled).ok();
        if symbol.is_some_and(|symbol| symbol.structured_demangle(&mut readable, &options).is_ok()) {
            return match part {
                Some(part) => format!("{}.{part}", readable.0),
                None => readable.0,
            };
        }
    }
    text.into_owned()
}

/// A text that refuses to grow beyond [`LONGEST_READABLE`].
struct Limited(String);

impl Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len().saturating_add(text.len()) > LONGEST_READABLE {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::readable_name;

    #[test]
    fn names_of_each_language_are_read() {
        assert_eq!(readable_name(b"printf"), "printf");
        assert_eq!(readable_name(b"realpath@@GLIBC_2.3"), "realpath");
        assert_eq!(readable_name(b"_ZN5space3fooEibc"), "space::foo");
        assert_eq!(readable_name(b"_ZN5space3fooEibc.cold"), "space::foo.cold");
        assert_eq!(readable_name(b"_RNvC6_123foo3bar"), "123foo::bar");
        assert_eq!(readable_name(b"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"), "core::fmt::Write::write_fmt");
        assert_eq!(readable_name(b"@"), "@");
    }

    #[test]
    fn a_name_that_unfolds_without_end_stays_as_it_is() {
        // Substitution 0 is `std::pair`, and each later one a pair of the one before.
        let unfolding = |count: usize| {
            let digits = ('1'..='9').chain('A'..='Z').take(count);
            let pairs: String = digits.map(|digit| format!("S0_IS{digit}_S{digit}_E")).collect();
            format!("_Z1fISt4pairIiiE{pairs}Evv")
        };
        let short = readable_name(unfolding(2).as_bytes());
        assert!(short.contains("std::pair<std::pair<int, int>, std::pair<int, int> >"), "{short}");
        let long = unfolding(35);
        assert_eq!(readable_name(long.as_bytes()), long);
    }
}
