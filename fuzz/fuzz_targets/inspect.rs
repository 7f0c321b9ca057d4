//! Any bytes as an ELF file, inspected as a whole: a report or a refusal, in time and memory that follow the file's size.

#![no_main]

use coldstart_elf::ElfFile;
use coldstart_inspect::{Figures, Object, Offers, Wants, inspect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = ElfFile::parse(bytes) else { return };
    if let (Ok(wants), Some(offers)) = (Wants::of(&file), Offers::of(&file)) {
        offers.any(&wants);
    }
    let Ok(object) = Object::read(file, None) else { return };
    let inspection = inspect(&object);
    let _ = Figures::of(&inspection).list();
    let space: u64 = inspection.parts.space.iter().map(|part| part.bytes).sum();
    assert_eq!(space, bytes.len() as u64, "every byte counts once");
});
