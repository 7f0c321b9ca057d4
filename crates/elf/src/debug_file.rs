//! Whether a file holds only what a debugger needs of another file.
//!
//! `objcopy --only-keep-debug` and `eu-strip -f` move the debugging sections to a separate file and leave the program
//! headers almost unchanged. The headers' file offsets are then wrong, so segment contents must be read through
//! sections.

use crate::file::ElfFile;
use crate::section::SectionKind;

/// Whether all loaded sections except notes are empty: the file is the debug file of another one.
pub fn is_debug_file(file: &ElfFile<'_>) -> bool {
    let headers = file.sections().iter().map(|section| &section.header);
    let mut has_emptied = false;
    for section in headers.filter(|section| section.is_loaded() && section.size > 0) {
        match section.kind {
            // Read-only zeros have no use; the section had bytes before.
            SectionKind::Zeros => has_emptied |= !section.is_writable(),
            SectionKind::Note => {}
            _ => return false,
        }
    }
    has_emptied
}

#[cfg(test)]
mod tests {
    use super::is_debug_file;
    use crate::encoding::{ByteOrder, Class, Encoding};
    use crate::file::ElfFile;
    use crate::test_file::TestFile;

    #[test]
    fn a_file_without_sections_is_none() {
        let encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
        let bytes = TestFile::new(encoding).finish(&[]);
        assert!(!is_debug_file(&ElfFile::parse(&bytes).unwrap()));
    }
}
