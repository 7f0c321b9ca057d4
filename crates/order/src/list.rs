//! Lists of functions as lld and BOLT read them: a name a line.
//!
//! lld (`--symbol-ordering-file`, `lld/ELF/Driver.cpp`, `getSymbolOrderingFile`) takes lines from `#` on for comments, and of
//! a name that stands twice the first place. It knows no local symbols apart: all that have the name move. BOLT
//! (`--function-order`, `bolt/lib/Passes/ReorderFunctions.cpp`) has no comments and ignores names that it does not find; a
//! repeated local name stands for all of them there, too.

use std::collections::HashSet;

use crate::error::OrderError;
use crate::functions::{Function, FunctionTable};
use crate::section_list::{function_of_section, is_script, sections_in_script};

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

/// A list that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadList {
    /// Names of symbols, each once.
    Symbols(Vec<Vec<u8>>),
    /// Names of sections, each once, of a list or a script for GNU ld.
    Sections(Vec<Vec<u8>>),
}

impl ReadList {
    /// The listed functions. A section whose function is unknown has its own name.
    pub fn functions(&self, is_function: impl Fn(&[u8]) -> bool) -> Vec<Vec<u8>> {
        match self {
            Self::Symbols(names) => names.clone(),
            Self::Sections(names) => names
                .iter()
                .map(|section| function_of_section(section, &is_function).unwrap_or_else(|| section.clone()))
                .collect(),
        }
    }
}

/// Reads a list: a name of a symbol or a section on each line, or a linker script.
///
/// # Errors
/// If it has no names, or is a file of another kind.
pub fn read_list(text: &[u8]) -> Result<ReadList, OrderError> {
    let magics: [(&[u8], _); 3] =
        [(b"\x7fELF", "a program or an object file"), (b"SQLite format 3\0", "a trace"), (b"!<arch>\n", "an archive")];
    let known = magics.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, what)| *what);
    if let Some(what) = known.or_else(|| text.contains(&0).then_some("a binary file")) {
        return Err(OrderError::NotList { what });
    }
    if is_script(text) {
        let sections = sections_in_script(text);
        return if sections.is_empty() { Err(OrderError::NoSectionListed) } else { Ok(ReadList::Sections(sections)) };
    }
    let mut listed = HashSet::new();
    let names: Vec<Vec<u8>> = text
        .split(|byte| *byte == b'\n')
        .map(|line| line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii())
        .filter(|name| !name.is_empty() && listed.insert(*name))
        .map(<[u8]>::to_vec)
        .collect();
    match names.iter().all(|name| name.starts_with(b".text.")) {
        _ if names.is_empty() => Err(OrderError::EmptyList),
        true => Ok(ReadList::Sections(names)),
        false => Ok(ReadList::Symbols(names)),
    }
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
        let expected = ReadList::Symbols(expected.to_vec());
        assert_eq!(read_list(&list).unwrap(), expected);
        assert_eq!(read_list(&write_list(entries(), ListFormat::Bolt, &["x".to_owned()])).unwrap(), expected);
        assert!(matches!(read_list(b"# only\n\n"), Err(OrderError::EmptyList)));
    }

    #[test]
    fn lists_of_sections_are_told_apart() {
        let sections = ReadList::Sections(vec![b".text.b".to_vec(), b".text.hot.a".to_vec(), b".text.gone".to_vec()]);
        assert_eq!(read_list(b".text.b\n.text.hot.a\n.text.b\n.text.gone\n").unwrap(), sections);
        assert_eq!(read_list(b".text : { *(.text.b) *(.text.hot.a) *(.text*) *(.text.gone) }\n").unwrap(), sections);
        let functions = sections.functions(|name| [&b"a"[..], b"b"].contains(&name));
        assert_eq!(functions, [&b"b"[..], b"a", b".text.gone"]);
        assert!(matches!(read_list(b"SECTIONS { .text : { *(.text .text.*) } }"), Err(OrderError::NoSectionListed)));
        assert!(matches!(
            read_list(b"\x7fELF\x02\x01"),
            Err(OrderError::NotList { what: "a program or an object file" })
        ));
        assert!(matches!(read_list(b"a\0b"), Err(OrderError::NotList { .. })));
    }
}
