//! Lists of functions as lld and BOLT read them: a name a line.
//!
//! lld (`--symbol-ordering-file`, `lld/ELF/Driver.cpp`, `getSymbolOrderingFile`) takes lines from `#` on for comments, and of
//! a name that stands twice the first place. It knows no local symbols apart: all that have the name move. BOLT
//! (`--function-order`, `bolt/lib/Passes/ReorderFunctions.cpp`) has no comments and ignores names that it does not find; a
//! repeated local name stands for all of them there, too.

use std::collections::HashSet;

use crate::error::OrderError;
use crate::functions::{Function, FunctionTable};

/// The first line of every list: how an earlier one is recognised.
pub const MARK: &str = "# coldstart order functions 1";
/// The first line of every fragment of a linker script.
pub const MARK_OF_SCRIPTS: &str = "/* coldstart order functions 1 */";

/// Who reads a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// lld and its relatives: comments are allowed.
    Lld,
    /// BOLT: only the mark is written besides the names.
    Bolt,
}

/// A function's names in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListEntry<'a> {
    /// Names that can be listed.
    pub names: Vec<&'a [u8]>,
}

impl<'a> ListEntry<'a> {
    /// A function's names, without those that no list can hold: with line breaks, blanks at an end, or a leading `#`. Of a
    /// function with global names, repeated local ones are left out, since they would move others.
    pub fn of(function: &'a Function, table: &FunctionTable) -> Self {
        let can_be_listed = |name: &&[u8]| {
            !name.contains(&b'\n') && !name.contains(&b'#') && name.trim_ascii().len() == name.len() && !name.is_empty()
        };
        let names: Vec<&[u8]> = function.names.iter().map(Vec::as_slice).filter(can_be_listed).collect();
        let unique: Vec<&[u8]> = names.iter().copied().filter(|name| table.occurrences(name) == 1).collect();
        Self { names: if unique.is_empty() { names } else { unique } }
    }
}

/// Writes a list, each name once.
pub fn write_list<'a>(
    entries: impl IntoIterator<Item = ListEntry<'a>>,
    format: ListFormat,
    comments: &[String],
) -> Vec<u8> {
    let mut text = format!("{MARK}\n").into_bytes();
    if format == ListFormat::Lld {
        for comment in comments {
            text.extend_from_slice(format!("# {}\n", comment.replace('\n', " ")).as_bytes());
        }
    }
    let mut listed = HashSet::new();
    for name in entries.into_iter().flat_map(|entry| entry.names) {
        if listed.insert(name) {
            text.extend_from_slice(name);
            text.push(b'\n');
        }
    }
    text
}

/// The names of a list, each once.
///
/// # Errors
/// If it has none.
pub fn read_list(text: &[u8]) -> Result<Vec<Vec<u8>>, OrderError> {
    let mut listed = HashSet::new();
    let names: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii())
        .filter(|name| !name.is_empty() && listed.insert(*name))
        .map(<[u8]>::to_vec)
        .collect();
    if names.is_empty() { Err(OrderError::EmptyList) } else { Ok(names) }
}

#[cfg(test)]
mod tests {
    use coldstart_symbols::LinkerSymbol;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_odd_names_are_left_out() {
        let symbol = |address, name: &str, is_local| LinkerSymbol {
            address,
            size: 8,
            name: name.as_bytes().to_vec(),
            is_local,
            is_function: true,
        };
        let symbols = [
            symbol(0, "init", true),
            symbol(16, "a", false),
            symbol(16, "init", true),
            symbol(32, "b\nc", false),
            symbol(48, "# d", false),
            symbol(64, "f(int, char) [clone .part.0]", false),
        ];
        let table = FunctionTable::new(&symbols);
        let entries = || table.all().iter().map(|function| ListEntry::of(function, &table));
        let list = write_list(entries(), ListFormat::Lld, &["of a\nb".to_owned()]);
        assert!(list.starts_with(b"# coldstart order functions 1\n# of a b\ninit\n"));
        let expected = ["init", "a", "f(int, char) [clone .part.0]"].map(|name| name.as_bytes().to_vec());
        assert_eq!(read_list(&list).unwrap(), expected);
        assert_eq!(read_list(&write_list(entries(), ListFormat::Bolt, &["x".to_owned()])).unwrap(), expected);
        assert!(matches!(read_list(b"# only\n\n"), Err(OrderError::EmptyList)));
    }
}
