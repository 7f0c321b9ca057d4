//! ELF objects of a trace, described so that a reader of the trace needs no other file.

use super::{FileId, Moment, ProcessId};

/// An ELF object that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedObject {
    /// Its file.
    pub file: FileId,
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// The build id, in hexadecimal digits.
    pub build_id: Option<String>,
    /// `e_machine`.
    pub machine: u16,
    /// Whether pointers have eight bytes.
    pub is_64_bit: bool,
    /// The address that the kernel or the loader enters (`e_entry`).
    pub entry: u64,
    /// Its PT_LOAD segments, ascending by address.
    pub segments: Vec<ObjectSegment>,
    /// Its sections, ascending by address, without those that are not loaded; made up from the dynamic table where
    /// there are no section headers.
    pub sections: Vec<ObjectSection>,
    /// Symbols of what the start touched, ascending by address.
    pub symbols: Vec<ObjectSymbol>,
    /// The effects of its relocation entries, in table order.
    pub relocations: Vec<RelocationRun>,
}

impl TracedObject {
    /// The address of a file offset, without load bias; by the first segment that contains it.
    pub fn address_of(&self, file_offset: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let inside = file_offset.checked_sub(segment.offset)?;
            (inside < segment.file_size).then(|| segment.address.checked_add(inside))?
        })
    }

    /// The section that contains an address, without load bias.
    pub fn section_at(&self, address: u64) -> Option<&ObjectSection> {
        let behind = self.sections.partition_point(|section| section.address <= address);
        let section = self.sections.get(behind.checked_sub(1)?)?;
        (address - section.address < section.size).then_some(section)
    }

    /// The symbol that contains an address, without load bias; one without a size extends to the next.
    pub fn symbol_at(&self, address: u64) -> Option<&ObjectSymbol> {
        let behind = self.symbols.partition_point(|symbol| symbol.address <= address);
        let symbol = self.symbols.get(behind.checked_sub(1)?)?;
        (symbol.size == 0 || address - symbol.address < symbol.size).then_some(symbol)
    }
}

/// A PT_LOAD segment. Addresses are without load bias; all in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectSegment {
    /// `p_vaddr`.
    pub address: u64,
    /// `p_offset`.
    pub offset: u64,
    /// `p_filesz`.
    pub file_size: u64,
    /// `p_memsz`: what is beyond `file_size` is zero-filled.
    pub memory_size: u64,
    /// `p_flags`: execute 1, write 2, read 4.
    pub flags: u32,
}

/// A section that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSection {
    /// ".text"; of a file without section headers the name that the table would have.
    pub name: String,
    /// Address without load bias.
    pub address: u64,
    /// File offset, in bytes; for zero-filled memory where it would be.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// Size of one entry of a table in bytes; 0 for none. Entry N of `.rela.dyn` is at `offset + N * entry_size`.
    pub entry_size: u64,
    /// Whether it has no bytes in the file (`SHT_NOBITS`).
    pub is_zero_filled: bool,
}

/// A function or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectSymbol {
    /// Address without load bias.
    pub address: u64,
    /// In bytes; 0 if unknown.
    pub size: u64,
    /// As in the symbol table, demangled; `fn_1a2b0` (its address) for functions known from unwind tables only.
    pub name: String,
    /// Whether it is code.
    pub is_function: bool,
}

/// Consecutive entries of a relocation table with the same effect on the same section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelocationRun {
    /// The table: ".rela.dyn", ".rela.plt", ".relr.dyn", ...
    pub table: String,
    /// Number of the first entry in it.
    pub first: u64,
    /// How many entries.
    pub count: u64,
    /// "RELATIVE", "GLOB_DAT", "64", ...: the type's name without its machine.
    pub kind: String,
    /// The section that they change; empty if it is unknown.
    pub section: String,
    /// The lowest address that they change, without load bias.
    pub from: u64,
    /// The highest address that they change.
    pub to: u64,
}

/// An object in a process's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The process.
    pub process: ProcessId,
    /// The object's file.
    pub file: FileId,
    /// What is added to addresses in the file; of position-dependent programs 0.
    pub bias: u64,
    /// When its first segment was mapped.
    pub at: Moment,
}
