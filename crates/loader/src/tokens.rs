//! `$ORIGIN`, `$LIB` and `$PLATFORM` in names and search paths (gABI, "Substitution Sequences"; elf/dl-load.c).
//!
//! A token ends at any character that cannot belong to its name: `$ORIGINAL` is not a token, `$ORIGIN-2` contains
//! one.

/// A text of an object with its tokens replaced, outside secure mode: `$ORIGIN` by the object's directory. None if a
/// token has no value; the text is then skipped.
pub fn expand_tokens(
    text: &[u8],
    origin: Option<&[u8]>,
    lib: Option<&[u8]>,
    platform: Option<&[u8]>,
) -> Option<Vec<u8>> {
    Tokens { origin, lib, platform, secure: None }.expand(text)
}

/// The values of the tokens in one object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'a> {
    /// The directory of the object; none if it is unknown.
    pub(crate) origin: Option<&'a [u8]>,
    pub(crate) lib: Option<&'a [u8]>,
    pub(crate) platform: Option<&'a [u8]>,
    /// Set in secure mode: the directories that `$ORIGIN` may refer to, for the program itself.
    pub(crate) secure: Option<Secure<'a>>,
}

/// The restrictions of secure mode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Secure<'a> {
    /// The object is the program: only its result is checked against the trusted directories.
    pub(crate) is_program: bool,
    pub(crate) trusted: &'a [Vec<u8>],
}

impl Tokens<'_> {
    /// The text with its tokens replaced; none if one has no value and the text must be skipped.
    pub(crate) fn expand(&self, text: &[u8]) -> Option<Vec<u8>> {
        let (mut result, mut rest, mut from_origin) = (Vec::with_capacity(text.len()), text, false);
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            if first != b'$' {
                result.push(first);
                continue;
            }
            let Some((token, length)) = token(after) else {
                result.push(b'$');
                continue;
            };
            let tail = after.get(length..).unwrap_or_default();
            let value = match token {
                Token::Origin => {
                    let alone = after.len() + 1 == text.len() && matches!(tail.first(), None | Some(b'/'));
                    from_origin = true;
                    if self.secure.is_some() && !alone { None } else { self.origin }
                }
                Token::Lib => self.lib,
                Token::Platform => self.platform,
            };
            result.extend_from_slice(value?);
            rest = tail;
        }
        match self.secure {
            Some(secure) if from_origin && secure.is_program && !is_trusted(&result, secure.trusted) => None,
            _ => Some(result),
        }
    }
}

/// Whether a text contains a token.
pub(crate) fn has_token(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(dollar) = rest.iter().position(|&byte| byte == b'$') {
        rest = rest.get(dollar + 1..).unwrap_or_default();
        if token(rest).is_some() {
            return true;
        }
    }
    false
}

#[derive(Clone, Copy)]
enum Token {
    Origin,
    Lib,
    Platform,
}

/// The token after a dollar sign, and its length.
fn token(text: &[u8]) -> Option<(Token, usize)> {
    let names = [(Token::Origin, "ORIGIN"), (Token::Platform, "PLATFORM"), (Token::Lib, "LIB")];
    let (braced, inside) = match text.strip_prefix(b"{") {
        Some(inside) => (true, inside),
        None => (false, text),
    };
    names.into_iter().find_map(|(token, name)| {
        let next = inside.strip_prefix(name.as_bytes())?.first();
        if braced {
            return (next == Some(&b'}')).then_some((token, name.len() + 2));
        }
        let ends = !next.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_');
        ends.then_some((token, name.len()))
    })
}

/// Whether a path is below a trusted directory once `.`, `..` and doubled slashes are resolved
/// (`is_trusted_path_normalize`).
fn is_trusted(path: &[u8], trusted: &[Vec<u8>]) -> bool {
    if path.first() != Some(&b'/') {
        return false;
    }
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let parts = &parts;
    trusted.iter().any(|directory| {
        let wanted: Vec<&[u8]> = directory.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).collect();
        parts.starts_with(&wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::{Secure, Tokens, has_token};

    const TOKENS: Tokens<'static> =
        Tokens { origin: Some(b"/opt/app"), lib: Some(b"lib64"), platform: None, secure: None };

    fn expanded(tokens: Tokens<'_>, text: &str) -> Option<String> {
        tokens.expand(text.as_bytes()).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn tokens_end_where_their_name_cannot_go_on() {
        assert_eq!(expanded(TOKENS, "$ORIGIN/../$LIB").unwrap(), "/opt/app/../lib64");
        assert_eq!(expanded(TOKENS, "${ORIGIN}AL:${LIB").unwrap(), "/opt/appAL:${LIB");
        assert_eq!(expanded(TOKENS, "$ORIGINAL/$$ORIGIN-2").unwrap(), "$ORIGINAL/$/opt/app-2");
        assert!(has_token(b"a$b$LIB") && !has_token(b"$ORIGINAL$"));
    }

    #[test]
    fn a_token_without_value_drops_the_text() {
        assert_eq!(expanded(TOKENS, "/a/$PLATFORM"), None);
    }

    #[test]
    fn secure_programs_may_only_begin_with_origin_and_end_in_trusted_directories() {
        let trusted = [b"/usr/lib".to_vec()];
        let secure = Some(Secure { is_program: true, trusted: &trusted });
        let tokens = Tokens { origin: Some(b"/usr/bin"), secure, ..TOKENS };
        assert_eq!(expanded(tokens, "$ORIGIN/../lib/app").unwrap(), "/usr/bin/../lib/app");
        assert_eq!(expanded(tokens, "$ORIGIN/../share"), None);
        assert_eq!(expanded(tokens, "/usr/lib/$ORIGIN"), None);
        assert_eq!(expanded(tokens, "/anywhere/$LIB").unwrap(), "/anywhere/lib64");
    }
}
