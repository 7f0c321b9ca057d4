//! Any bytes as the text of a note about libraries opened later, or as an ELF file with such notes.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_loader::dlopen_notes::{dlopen_texts, read_dlopen_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(entries) = read_dlopen_text(bytes) {
        assert!(entries.iter().all(|entry| !entry.sonames.is_empty()));
    }
    if let Ok(file) = ElfFile::parse(bytes) {
        let _ = dlopen_texts(&file).map(read_dlopen_text).count();
    }
});
