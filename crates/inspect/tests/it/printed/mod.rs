//! What `readelf` printed about a file, line by line as it comes: the output for one machine's files has gigabytes.
//!
//! The lines are kept as text where our side can write the same line, and as numbers where there are millions of them.
//! Written for binutils 2.35 to 2.45; a heading that a later one words differently shows up as a table that is missing.

mod relocations;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) use relocations::{PrintedRelocation, PrintedTable};

/// What was printed about one file.
#[derive(Debug, Default)]
pub(crate) struct Printed {
    /// The path that stands in `PT_INTERP`.
    pub(crate) interpreter: Option<String>,
    /// A line for each program header.
    pub(crate) segments: Vec<String>,
    /// A line for each section header, without its number.
    pub(crate) sections: Vec<String>,
    /// Offset in the file and number of entries of the dynamic table, the final `DT_NULL` included.
    pub(crate) dynamic: Option<(u64, u64)>,
    /// A line for each of these entries.
    pub(crate) entries: Vec<String>,
    /// The number of dynamic symbols.
    pub(crate) symbol_count: u64,
    /// A line for each of them.
    pub(crate) symbols: Vec<String>,
    /// The tables of relocations.
    pub(crate) tables: Vec<PrintedTable>,
    /// Number of files in the table of needed versions.
    pub(crate) needed_files: u64,
    /// Number of entries of the table of defined versions.
    pub(crate) defined_versions: u64,
    /// The versions: `file NAME`, `needed NUMBER NAME`, `defined NUMBER NAME`, `parent NAME`.
    pub(crate) versions: Vec<String>,
    /// All build ids.
    pub(crate) build_ids: Vec<String>,
}

impl Printed {
    /// See [`relocations::without_overlap`].
    pub(crate) fn drop_overlap(&mut self) {
        relocations::without_overlap(&mut self.tables);
    }
}

/// Which part of the output the next line belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Other,
    Segments,
    Sections,
    Dynamic,
    Relocations,
    Symbols,
    Versions,
    Notes,
}

/// Runs `readelf` on several files at once, because starting it takes longer than reading a small file, and calls `visit`
/// with what it printed about each. Relocations are found as the loader finds them, or by sections alone.
pub(crate) fn readelf(files: &[PathBuf], by_dynamic_table: bool, mut visit: impl FnMut(&Path, Printed)) {
    let mut command = Command::new("readelf");
    command.args(["-W", "-l", "-S", "-d", "-n", "-V", "-r", "--dyn-syms"]);
    if by_dynamic_table {
        command.arg("-D");
    }
    // Names in UTF-8 are printed as they are; warnings about odd notes do not matter.
    command.args(files).env("LC_ALL", "C.UTF-8").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("readelf of the package binutils");
    let mut output = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
    let (mut line, mut rest) = (Vec::new(), files.iter());
    // With one file, its name is not printed.
    let mut current = if files.len() == 1 { rest.next() } else { None };
    let mut reader = Reader::default();
    loop {
        line.clear();
        if output.read_until(b'\n', &mut line).unwrap() == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        if let Some(name) = text.strip_prefix(b"File: ")
            && let Some(next) = rest.as_slice().first()
            && next.as_os_str().as_encoded_bytes() == name
        {
            if let Some(finished) = current {
                visit(finished, std::mem::take(&mut reader).printed);
            }
            current = rest.next();
        } else {
            reader.line(text);
        }
    }
    if let Some(finished) = current {
        visit(finished, reader.printed);
    }
    assert_eq!(rest.count(), 0, "readelf stopped early");
    child.wait().unwrap();
}

struct Reader {
    printed: Printed,
    part: Part,
}

impl Default for Reader {
    fn default() -> Self {
        Self { printed: Printed::default(), part: Part::Other }
    }
}

impl Reader {
    fn line(&mut self, line: &[u8]) {
        match line.first() {
            // The rows of relocations are nearly all there is.
            Some(b'0'..=b'9' | b'a'..=b'f') if self.part == Part::Relocations => {
                self.printed.tables.last_mut().unwrap().row(line);
            }
            Some(b' ' | b'\t') => self.indented(&String::from_utf8_lossy(line)),
            Some(_) => self.heading(&String::from_utf8_lossy(line)),
            None => {}
        }
    }

    fn heading(&mut self, line: &str) {
        let printed = &mut self.printed;
        let entries = || number_before(line, " entr").unwrap_or(0);
        if line == "Program Headers:" {
            self.part = Part::Segments;
        } else if line == "Section Headers:" {
            self.part = Part::Sections;
        } else if line.starts_with("Dynamic section at offset ") {
            self.part = Part::Dynamic;
            printed.dynamic = Some((hex_after(line, "offset 0x").unwrap(), entries()));
        } else if line.contains("elocation section ") && line.contains(" at offset 0x") {
            self.part = Part::Relocations;
            printed.tables.push(PrintedTable::from_heading(line));
        } else if line.starts_with("Symbol table ") {
            self.part = Part::Symbols;
            printed.symbol_count = entries();
        } else if line.starts_with("Version needs section ") {
            self.part = Part::Versions;
            printed.needed_files = entries();
        } else if line.starts_with("Version definition section ") {
            self.part = Part::Versions;
            printed.defined_versions = entries();
        } else if line.starts_with("Displaying notes ") {
            self.part = Part::Notes;
        } else {
            self.part = Part::Other;
        }
    }

    fn indented(&mut self, line: &str) {
        let printed = &mut self.printed;
        match self.part {
            Part::Segments => {
                let interpreter = line.trim().strip_prefix("[Requesting program interpreter: ");
                if let Some(path) = interpreter {
                    printed.interpreter = path.strip_suffix(']').map(str::to_owned);
                } else if line.contains(" 0x") {
                    printed.segments.push(line.to_owned());
                } else if line.contains("Section to Segment") {
                    self.part = Part::Other;
                }
            }
            Part::Sections => {
                let row = line.trim_start().strip_prefix('[').and_then(|row| row.split_once("] "));
                if let Some((number, row)) = row
                    && number.trim().parse::<u64>().is_ok()
                {
                    printed.sections.push(row.to_owned());
                }
            }
            Part::Dynamic if line.starts_with(" 0x") => printed.entries.push(line.to_owned()),
            Part::Symbols if !line.trim_start().starts_with("Num:") => printed.symbols.push(line.to_owned()),
            Part::Versions => printed.versions.extend(version(line)),
            Part::Notes => {
                let id = line.split_once("Build ID: ").map(|(_, id)| id.trim().to_owned());
                printed.build_ids.extend(id);
            }
            _ => {}
        }
    }
}

fn version(line: &str) -> Option<String> {
    if let (Some(file), Some(_)) = (word_after(line, "File: "), word_after(line, "Cnt: ")) {
        Some(format!("file {file}"))
    } else if let (Some(index), Some(name)) = (word_after(line, "Index: "), word_after(line, "Name: ")) {
        Some(format!("defined {index} {name}"))
    } else if let (Some(name), Some(index)) = (word_after(line, "Name: "), word_after(line, "Version: ")) {
        Some(format!("needed {index} {name}"))
    } else {
        let (_, parent) = line.split_once(": Parent ")?;
        Some(format!("parent {}", parent.split_once(": ")?.1))
    }
}

fn word_after<'line>(line: &'line str, label: &str) -> Option<&'line str> {
    line.split_once(label)?.1.split_whitespace().next()
}

/// The hexadecimal number behind a label.
pub(crate) fn hex_after(line: &str, label: &str) -> Option<u64> {
    let digits = line.split_once(label)?.1;
    let end = digits.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(digits.len());
    u64::from_str_radix(&digits[..end], 16).ok()
}

/// The decimal number before a word.
pub(crate) fn number_before(line: &str, word: &str) -> Option<u64> {
    line.rsplit_once(word)?.0.rsplit(' ').next()?.parse().ok()
}
