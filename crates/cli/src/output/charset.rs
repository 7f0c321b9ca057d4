//! The character set of output.
//!
//! Bars, trees, arrows and marks have a form in ASCII for locales with another character set than UTF-8. Names are not
//! changed by this: a character of a name is either shown or escaped, see [`printable`](super::path::printable).

use std::sync::OnceLock;

/// `utf_8`, or `ascii` where the locale's characters are not UTF-8.
pub(crate) fn either<T>(utf_8: T, ascii: T) -> T {
    if shows_utf_8() { utf_8 } else { ascii }
}

/// Whether the locale's characters are UTF-8. Where nothing is said of a locale, as in containers and services, nearly every
/// terminal shows UTF-8.
pub(crate) fn shows_utf_8() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    // In the order of POSIX (Base Definitions, 8.2). Tests within this program do not depend on where they run.
    let locale = || ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
    *ANSWER.get_or_init(|| cfg!(test) || locale().is_none_or(|locale| is_utf_8(&locale)))
}

/// By the name of a locale: `C.UTF-8`, `de_DE.utf8@euro`.
fn is_utf_8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::is_utf_8;

    #[test]
    fn locales_tell_their_characters() {
        assert!(["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro"].into_iter().all(is_utf_8));
        assert!(!["C", "POSIX", "de_DE@euro", "ja_JP.eucJP"].into_iter().any(is_utf_8));
    }
}
