//! Object files and archives of them: which section defines which function.

use coldstart_elf::{ElfFile, NameRoom, SymbolKind};

use crate::error::OrderError;
use crate::script::InputSections;

const ARCHIVE: &[u8] = b"!<arch>\n";
/// Bytes of a member's header (`ar.h`).
const HEADER: usize = 60;

/// Reads an object file, or an archive of some; members that are no ELF files are skipped.
///
/// # Errors
/// If it is neither.
pub fn object_sections(bytes: &[u8]) -> Result<InputSections, OrderError> {
    let mut sections = InputSections::default();
    match bytes.strip_prefix(ARCHIVE) {
        Some(members) => {
            for member in (Members { rest: members }) {
                // The archive's own index and table of names, metadata of other tools.
                let _ = add(member, &mut sections);
            }
        }
        None => add(bytes, &mut sections)?,
    }
    Ok(sections)
}

fn add(bytes: &[u8], sections: &mut InputSections) -> Result<(), OrderError> {
    let no_object = |error: coldstart_elf::ElfError| OrderError::NoObject { problem: error.to_string() };
    let file = ElfFile::parse(bytes).map_err(no_object)?;
    if file.sections().is_empty() {
        return Err(OrderError::NoObject { problem: "it has no section headers, or was cut before them".to_owned() });
    }
    let Some(table) = file.symbols().map_err(no_object)? else { return Ok(()) };
    let mut room = NameRoom::of(&file);
    for symbol in table.iter().filter(|symbol| symbol.kind == SymbolKind::Function && symbol.is_defined()) {
        if let Some(section) = file.sections().get(usize::from(symbol.section))
            && let Ok(name) = std::str::from_utf8(section.name)
        {
            let symbol = table.name(&symbol);
            room.take(symbol).and_then(|()| room.take(section.name)).map_err(no_object)?;
            sections.add_symbol(symbol, name);
        }
    }
    Ok(())
}

/// The contents of an archive's members.
struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (header, behind) = self.rest.split_at_checked(HEADER)?;
        let size: usize = std::str::from_utf8(header.get(48..58)?).ok()?.trim().parse().ok()?;
        let member = behind.get(..size)?;
        // Members begin at even offsets.
        self.rest = behind.get(size.saturating_add(size % 2)..).unwrap_or_default();
        Some(member)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::object_sections;

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(object_sections(b"text").is_err());
        let program = std::fs::read("/bin/true").unwrap();
        assert!(object_sections(&program).is_ok());
        let cut = object_sections(program.split_at(program.len() / 2).0).unwrap_err();
        assert!(cut.to_string().contains("no section headers"), "{cut}");
        assert!(object_sections(b"!<arch>\n").unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = object_sections(&[b"!<arch>\n".as_slice(), &bytes].concat());
        }
    }
}
