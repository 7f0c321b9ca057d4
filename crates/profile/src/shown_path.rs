//! Paths for display: in a message, in JSON.
//!
//! A Unix path is bytes. It may contain newlines and terminal escapes, so it is never printed unchanged.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Serialize, Serializer};

use crate::is_unseen;

/// The path on one line of printable characters: invisible characters and bytes that are not UTF-8 are escaped.
pub fn printable(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for character in chunk.valid().chars() {
            if is_unseen(character) {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Text from a file, on one line of printable characters. The no-break space is escaped, too, because it looks like a
/// space.
pub fn escaped(text: &str) -> String {
    printable(Path::new(text)).replace('\u{a0}', "\\u{a0}")
}

/// A path in JSON, whose strings cannot represent every path.
///
/// `path` is always present and readable; `path_bytes` (hexadecimal) only if `path` is not exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JsonPath {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "hexadecimal")]
    path_bytes: Option<Vec<u8>>,
}

impl JsonPath {
    /// Of a path.
    pub fn new(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self { path: text.to_owned(), path_bytes: None },
            None => Self {
                path: path.to_string_lossy().into_owned(),
                path_bytes: Some(path.as_os_str().as_bytes().to_vec()),
            },
        }
    }
}

fn hexadecimal<S: Serializer>(bytes: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    let digits: String = bytes.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn path(bytes: &[u8]) -> &Path {
        Path::new(OsStr::from_bytes(bytes))
    }

    #[test]
    fn hostile_names_are_harmless() {
        assert_eq!(printable(path(b"a\nb\x1b[31m\xff")), "a\\nb\\u{1b}[31m\\xff");
        assert_eq!(printable(path("a\u{202e}b".as_bytes())), "a\\u{202e}b");
        assert_eq!(printable(path("höhe".as_bytes())), "höhe");
    }

    #[test]
    fn json_says_when_a_path_is_no_text() {
        let json = |bytes| serde_json::to_string(&JsonPath::new(path(bytes))).unwrap();
        assert_eq!(json(b"a"), r#"{"path":"a"}"#);
        assert_eq!(json(b"a\xff"), "{\"path\":\"a\u{fffd}\",\"path_bytes\":\"61ff\"}");
    }
}
