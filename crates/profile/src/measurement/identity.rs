//! A program's identity when it was measured, to detect changes in later measurements.

use serde::{Deserialize, Serialize};

use super::super::FileIdentity;

/// A program's file and what identifies its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramIdentity {
    /// Its path, links followed, in the form of [`path_to_text`].
    pub path: String,
    /// Size and time of the file.
    pub file: FileIdentity,
    /// Build id of the first ELF file: of the program or, of a script, of what interprets it. Hexadecimal digits.
    pub build_id: Option<String>,
    /// BLAKE3 of the content, for scripts and other files without a build id of their own. Hexadecimal digits.
    pub content_hash: Option<String>,
}

impl ProgramIdentity {
    /// Whether both are known to be the same program, at any path. A script is its content and its interpreter.
    pub fn is_same_program(&self, other: &Self) -> bool {
        if (&self.build_id, &self.content_hash) == (&None, &None) {
            return self.file == other.file && (&other.build_id, &other.content_hash) == (&None, &None);
        }
        (&self.build_id, &self.content_hash) == (&other.build_id, &other.content_hash)
    }

    /// The first digits of the best identification: for a script its content, else the build ID.
    pub fn short(&self) -> Option<&str> {
        let digits = self.content_hash.as_deref().or(self.build_id.as_deref())?;
        Some(digits.get(..10).unwrap_or(digits))
    }
}

/// A path as reversible text: bytes that are not UTF-8 become `\xNN`, and a backslash
/// becomes two.
pub fn path_to_text(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// The bytes of the path that [`path_to_text`] made this text of; `None` if it made no such text.
pub fn path_from_text(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        rest = match after.strip_prefix('\\') {
            Some(after) => {
                bytes.push(b'\\');
                after
            }
            None => {
                let (digits, after) = after.strip_prefix('x')?.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                after
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    (path_to_text(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ordinary_paths_stay_as_they_are() {
        assert_eq!(path_to_text("/usr/bin/höhe".as_bytes()), "/usr/bin/höhe");
        assert_eq!(path_to_text(b"/a\\b\xff\n"), "/a\\\\b\\xff\n");
        for not_ours in ["\\", "\\x", "\\x4", "\\xzz", "\\a", "\\x41", "\\x+1"] {
            assert_eq!(path_from_text(not_ours), None, "{not_ours}");
        }
    }

    #[test]
    fn a_program_is_its_content() {
        let identity = |build_id: Option<&str>, content_hash: Option<&str>, modified| ProgramIdentity {
            path: "/a".into(),
            file: FileIdentity { size: 1, modified },
            build_id: build_id.map(Into::into),
            content_hash: content_hash.map(Into::into),
        };
        let same = |a: ProgramIdentity, b: ProgramIdentity| a.is_same_program(&b);
        assert!(same(identity(Some("ab"), None, 1), identity(Some("ab"), None, 2)), "copied");
        assert!(!same(identity(Some("ab"), Some("1"), 1), identity(Some("ab"), Some("2"), 1)), "another script");
        assert!(!same(identity(Some("ab"), Some("1"), 1), identity(Some("cd"), Some("1"), 1)), "another interpreter");
        assert!(same(identity(None, None, 1), identity(None, None, 1)));
        assert!(!same(identity(None, None, 1), identity(None, None, 2)));
        assert!(!same(identity(None, None, 1), identity(Some("ab"), None, 1)));
        assert_eq!(identity(Some("0123456789abcdef"), None, 1).short(), Some("0123456789"));
    }

    proptest! {
        #[test]
        fn any_path_comes_back(path: Vec<u8>) {
            prop_assert_eq!(path_from_text(&path_to_text(&path)), Some(path));
        }

        #[test]
        fn any_text_is_read_or_refused(text: String) {
            if let Some(path) = path_from_text(&text) {
                prop_assert_eq!(path_to_text(&path), text);
            }
        }
    }
}
