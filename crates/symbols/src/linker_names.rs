//! An object's symbols under the names that linkers know: mangled, all names of an address, none left out.
//!
//! Traces hold names for people, one for each address. A linker needs the others.

use std::path::{Path, PathBuf};

use coldstart_elf::{ElfError, ElfFile, SymbolBinding, SymbolKind, build_id};

use super::debug_names::{DebugNames, symbol_tables};
use super::error::ObjectError;
use super::file::ObjectFile;
use super::sections::{loaded_sections, section_name};

/// A function or variable by one of its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkerSymbol {
    /// Address without load bias.
    pub address: u64,
    /// In bytes; 0 if unknown.
    pub size: u64,
    /// As in the symbol table, without a symbol version.
    pub name: Vec<u8>,
    /// Whether only its own object file can refer to it: several may have the same name.
    pub is_local: bool,
    /// Whether it is code.
    pub is_function: bool,
}

/// A loaded section by its place in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionPlace {
    /// ".text"
    pub name: String,
    /// Address without load bias.
    pub address: u64,
    /// In bytes.
    pub size: u64,
    /// Whether it contains code.
    pub is_executable: bool,
    /// Whether it contains jumps to other objects: `.plt` and the like.
    pub is_linkage: bool,
}

/// The symbols of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkerNames {
    /// Ascending by address, then by size and name; each once.
    pub symbols: Vec<LinkerSymbol>,
    /// Its loaded sections, ascending.
    pub sections: Vec<SectionPlace>,
    /// Its build id, in hexadecimal digits.
    pub build_id: Option<String>,
    /// The file with the names, if it is another one.
    pub debug_file: Option<PathBuf>,
    /// Whether there is a symbol table of the linker, and not only that of the loader.
    pub is_complete: bool,
}

/// Reads an object's symbols: its own, those of its debug file (by build id or `.gnu_debuglink`), those packed into it, the
/// loader's. It may be a debug file itself, which has no code.
///
/// # Errors
/// If the file cannot be read, or is no ELF file.
pub fn linker_names(path: &Path) -> Result<LinkerNames, ObjectError> {
    let object = ObjectFile::open(path)?;
    let debug = object.read(|file| DebugNames::of(path, file))?;
    let names = object.read(|file| {
        let has_own = file.symbols().is_ok_and(|symbols| symbols.is_some());
        let debug_file = match &debug {
            DebugNames::File(debug) => Some(debug.path().to_owned()),
            _ => None,
        };
        Ok(LinkerNames {
            symbols: symbols(file, &debug)?,
            sections: sections(file),
            build_id: build_id(file).map(|id| id.bytes().iter().map(|byte| format!("{byte:02x}")).collect()),
            debug_file,
            is_complete: has_own || debug.symbols().is_some(),
        })
    })?;
    let names = names.map_err(|source| ObjectError::Elf { path: path.to_owned(), source })?;
    match debug.shrank() {
        true => Err(ObjectError::Shrank { path: names.debug_file.unwrap_or_else(|| path.to_owned()) }),
        false => Ok(names),
    }
}

fn symbols(file: &ElfFile<'_>, debug: &DebugNames) -> Result<Vec<LinkerSymbol>, ElfError> {
    let mut found = Vec::new();
    for table in symbol_tables(file, debug.symbols()) {
        let mut room = table.name_room();
        for symbol in table.iter().filter(|symbol| symbol.has_address()) {
            let is_function = match symbol.kind {
                SymbolKind::Function | SymbolKind::IndirectFunction => true,
                SymbolKind::Object => false,
                _ => continue,
            };
            let name = table.name(&symbol);
            room.take(name)?;
            // `.symtab` has versions in the name: `realpath@@GLIBC_2.3`.
            let end = name.iter().position(|byte| *byte == b'@').filter(|end| *end > 0).unwrap_or(name.len());
            let name = name.get(..end).unwrap_or(name).to_vec();
            if name.is_empty() {
                continue;
            }
            let is_local = symbol.binding == SymbolBinding::Local;
            found.push(LinkerSymbol { address: symbol.value.0, size: symbol.size, name, is_local, is_function });
        }
    }
    found.sort_unstable();
    // The loader's table repeats the linker's.
    found.dedup_by(|next, first| next.address == first.address && next.name == first.name);
    Ok(found)
}

/// A debug file has the section headers of its object, and program headers whose offsets are wrong; so only the former are
/// used where there are any.
fn sections(file: &ElfFile<'_>) -> Vec<SectionPlace> {
    let is_linkage = |name: &str| name.starts_with(".plt") || name.starts_with(".iplt");
    let mut sections: Vec<SectionPlace> = file
        .sections()
        .iter()
        .filter(|section| {
            let header = &section.header;
            header.is_loaded() && header.size > 0 && !header.is_thread_local()
        })
        .map(|section| {
            let name = section_name(section);
            let header = &section.header;
            let is_linkage = is_linkage(&name);
            let (address, size) = (header.address.0, header.size);
            SectionPlace { name, address, size, is_executable: header.is_executable(), is_linkage }
        })
        .collect();
    if sections.is_empty() {
        let place = |loaded: super::sections::LoadedSection| SectionPlace {
            is_linkage: loaded.is_linkage(),
            is_executable: loaded.is_executable,
            name: loaded.section.name,
            address: loaded.section.address,
            size: loaded.section.size,
        };
        sections = loaded_sections(file).into_iter().map(place).collect();
    }
    sections.sort_by_key(|section| section.address);
    sections
}
