//! Notes in which an object lists the libraries that it opens later with `dlopen`.
//!
//! These libraries are not in `DT_NEEDED`, so they are invisible in a file unless its author lists them in a note:
//! owner `FDO`, kind 0x407c0c0a, with JSON as its text (UAPI group, "Dlopen Metadata for ELF Files"; systemd was the
//! first to write it). An entry's sonames are alternatives: the first one found is used. The kernel and the loader
//! ignore the note.

use coldstart_elf::{ElfFile, notes};
use serde_json::Value;

/// Objects list a dozen libraries; further entries or alternatives of a hostile note are ignored.
const MOST: usize = 1000;

/// How important a library is to the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// The object does not work without it.
    Required,
    /// The object lacks an important feature without it. The default.
    #[default]
    Recommended,
    /// The object lacks a rarely used feature without it.
    Suggested,
}

impl Priority {
    /// Its name in the note.
    pub fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Recommended => "recommended",
            Self::Suggested => "suggested",
        }
    }
}

/// A library that an object may open later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DlopenEntry {
    /// Its names, the best first; at least one.
    pub sonames: Vec<String>,
    /// Its purpose, in a word.
    pub feature: Option<String>,
    /// Its purpose, in a sentence.
    pub description: Option<String>,
    /// Its importance.
    pub priority: Priority,
}

/// Why a note cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DlopenNoteError {
    /// Its text is not JSON.
    #[error("the dlopen note is not JSON: {0}")]
    NotJson(String),
    /// Valid JSON with an unexpected structure.
    #[error("the dlopen note is not a list of entries with a `soname`")]
    OtherShape,
}

/// The text of every such note in a file, as bytes. Malformed notes are skipped.
pub fn dlopen_texts<'data>(file: &ElfFile<'data>) -> impl Iterator<Item = &'data [u8]> + use<'data> {
    notes(file).flatten().filter_map(|note| note.dlopen())
}

/// Reads the text of one note: an array of objects, whose `soname` is an array of names.
///
/// # Errors
/// If it is not JSON, or not such an array. Unknown members are ignored, and so are an unknown `priority` and texts
/// that are not strings: the format may grow.
pub fn read_dlopen_text(text: &[u8]) -> Result<Vec<DlopenEntry>, DlopenNoteError> {
    let value: Value = serde_json::from_slice(text).map_err(|problem| DlopenNoteError::NotJson(problem.to_string()))?;
    let entries = value.as_array().ok_or(DlopenNoteError::OtherShape)?;
    entries.iter().take(MOST).map(entry).collect()
}

fn entry(value: &Value) -> Result<DlopenEntry, DlopenNoteError> {
    let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let sonames = value.get("soname").and_then(Value::as_array).ok_or(DlopenNoteError::OtherShape)?;
    // A name with a zero byte cannot be passed to `dlopen`.
    let usable = |name: &&str| !name.is_empty() && !name.contains('\0');
    let sonames: Vec<String> =
        sonames.iter().filter_map(Value::as_str).filter(usable).take(MOST).map(str::to_owned).collect();
    if sonames.is_empty() {
        return Err(DlopenNoteError::OtherShape);
    }
    let priority = match text("priority").as_deref() {
        Some("required") => Priority::Required,
        Some("suggested") => Priority::Suggested,
        _ => Priority::Recommended,
    };
    Ok(DlopenEntry { sonames, feature: text("feature"), description: text("description"), priority })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_specification_s_example() {
        let text = br#"[{"soname":["libfoo.so.2","libfoo.so.1"],"feature":"foo","description":"Foo support",
            "priority":"suggested"},{"soname":["libbar.so.3"],"unknown":[1]}]"#;
        let entries = read_dlopen_text(text).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].sonames, ["libfoo.so.2", "libfoo.so.1"]);
        assert_eq!(entries[0].priority, Priority::Suggested);
        assert_eq!(entries[0].feature.as_deref(), Some("foo"));
        assert_eq!(entries[1].priority, Priority::Recommended);
        assert_eq!(entries[1].description, None);
    }

    #[test]
    fn other_texts_are_refused() {
        assert!(matches!(read_dlopen_text(b""), Err(DlopenNoteError::NotJson(_))));
        assert!(matches!(read_dlopen_text(&b"[".repeat(100_000)), Err(DlopenNoteError::NotJson(_))));
        let shapes: [&[u8]; 5] =
            [b"{}", b"[1]", b"[{}]", br#"[{"soname":"libfoo.so"}]"#, br#"[{"soname":["a\u0000b"]}]"#];
        for text in shapes {
            assert_eq!(read_dlopen_text(text), Err(DlopenNoteError::OtherShape), "{}", String::from_utf8_lossy(text));
        }
        assert_eq!(read_dlopen_text(b"[]"), Ok(Vec::new()));
    }
}
