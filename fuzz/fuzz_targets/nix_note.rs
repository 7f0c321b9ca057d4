//! Any bytes as a resolution note of Nix: refused, or read; what is read and written again says the same.

#![no_main]

use coldstart_elf::ByteOrder;
use coldstart_loader::nix_note::NixNote;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(note) = NixNote::parse(bytes) else { return };
    let again = NixNote::parse(&note.descriptor()).expect("what was written can be read");
    assert_eq!(note, again);
    for entry in &note.entries {
        assert!(note.places(&entry.needed).is_some());
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        assert!(note.to_bytes(order).len() % 4 == 0);
    }
});
