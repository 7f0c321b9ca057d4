//! Whether a file holds only what a debugger needs of another file.
//!
//! `objcopy --only-keep-debug` and `eu-strip -f` move the debugging sections to a file of their own and leave the program
//! headers as they were, or nearly. Their file offsets then lead to bytes of something else, so what lies in segments
//! must be read through sections there.

use crate::file::ElfFile;
use crate::section::SectionKind;

/// Whether everything that is loaded has been emptied, notes apart: such a file goes with another one.
pub fn is_debug_file(file: &ElfFile<'_>) -> bool {
    let headers = file.sections().iter().map(|section| &section.header);
    let mut has_emptied = false;
    for section in headers.filter(|section| section.is_loaded() && section.size > 0) {
        match section.kind {
            // Zeros that nobody can write have no use; the section had bytes before.
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
