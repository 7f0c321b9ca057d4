//! The loader never looks at sections, so that a file without them has to tell the same.

use coldstart_elf::{ElfFile, RelocationTable, Result, build_id};

/// What the loader's own tables tell.
#[derive(Debug, PartialEq)]
pub(crate) struct Tables {
    symbols: usize,
    relocations: Vec<(u64, usize)>,
    packed: u64,
    build_id: Option<String>,
}

/// Reads them.
pub(crate) fn tables(file: ElfFile<'_>) -> Result<Tables> {
    let Some(dynamic) = file.dynamic()? else {
        return Ok(Tables { symbols: 0, relocations: Vec::new(), packed: 0, build_id: None });
    };
    let relocations = file.dynamic_relocations(&dynamic)?;
    let place = |table: &RelocationTable<'_>| (table.file_offset().0, table.len());
    Ok(Tables {
        symbols: file.dynamic_symbols(&dynamic)?.len(),
        relocations: relocations.all_tables().map(place).collect(),
        packed: relocations.relr.map_or(0, |relr| relr.relocation_count()),
        build_id: build_id(&file).map(|id| id.to_string()),
    })
}

/// Takes offset, number and names of the section headers out of the ELF header; zero is the same in both byte orders.
pub(crate) fn remove_sections(bytes: &mut [u8]) {
    let (offset, count) = if bytes[4] == 2 { (40..48, 60..64) } else { (32..36, 48..52) };
    bytes[offset].fill(0);
    bytes[count].fill(0);
}
