//! What an object says of the libraries that it opens later, with `dlopen`.
//!
//! No `DT_NEEDED` names those, so nobody sees them in a file, unless its author wrote them down in a note: owner `FDO`, kind
//! 0x407c0c0a, and JSON as its text (UAPI group, "Dlopen Metadata for ELF Files"; systemd is the first to do so). An entry's
//! sonames are alternatives: the first that is found will do. The kernel and the loader do not look at the note.

use coldstart_elf::{ElfFile, notes};
use serde_json::Value;

/// Objects name a dozen libraries; what is beyond this many entries or alternatives of a hostile note is left out.
const MOST: usize = 1000;

/// How much an object wants what it opens later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// It does not work without.
    Required,
    /// It lacks something important without. What the note does not say counts as this.
    #[default]
    Recommended,
    /// It lacks something few need without.
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

/// One library that an object may open later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DlopenEntry {
    /// Its names, the best first; at least one.
    pub sonames: Vec<String>,
    /// What it is for, in a word.
    pub feature: Option<String>,
    /// What it is for, in a sentence.
    pub description: Option<String>,
    /// How much it is wanted.
    pub priority: Priority,
}

/// Why a note cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DlopenNoteError {
    /// Its text is not JSON.
    #[error("the note about libraries opened later is no JSON: {0}")]
    NotJson(String),
    /// It is JSON of another shape.
    #[error("the note about libraries opened later is no list of entries with a `soname` each")]
    OtherShape,
}

/// The text of every such note in a file, as bytes. Notes that cannot be told apart from others' are passed over.
pub fn dlopen_texts<'data>(file: &ElfFile<'data>) -> impl Iterator<Item = &'data [u8]> + use<'data> {
    notes(file).flatten().filter_map(|note| note.dlopen())
}

/// Reads the text of one note: an array of objects, whose `soname` is an array of names.
///
/// # Errors
/// If it is no JSON, or not such an array. Members that are not known are passed over, and so are an unknown `priority` and
/// texts that are no strings: the format may grow.
pub fn read_dlopen_text(text: &[u8]) -> Result<Vec<DlopenEntry>, DlopenNoteError> {
    let value: Value = serde_json::from_slice(text).map_err(|problem| DlopenNoteError::NotJson(problem.to_string()))?;
    let entries = value.as_array().ok_or(DlopenNoteError::OtherShape)?;
    entries.iter().take(MOST).map(entry).collect()
}

fn entry(value: &Value) -> Result<DlopenEntry, DlopenNoteError> {
    let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let sonames = value.get("soname").and_then(Value::as_array).ok_or(DlopenNoteError::OtherShape)?;
    // A name with a zero byte can never be handed to `dlopen`.
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
