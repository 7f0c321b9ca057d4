//! Any bytes as a zip file: refused, or put into another order with the same entries.
//!
//! Made-up bytes are hardly ever an archive, so the input is also taken as changes to a small one: each three bytes, a place (two bytes, modulo the
//! length) and what stands there.

#![no_main]

use coldstart_archive::zip::{Piece, ZipArchive, ZipLayout, same, used_entries};
use libfuzzer_sys::fuzz_target;

/// Three stored entries, the second with a data descriptor.
fn small() -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, flags) in [(b"a", 0u8), (b"b", 8), (b"c", 0)] {
        let offset = bytes.len() as u32;
        let sizes = [[1u8; 4], 2u32.to_le_bytes(), 2u32.to_le_bytes()].concat();
        let fields = [&[20, 0, flags, 0, 0, 0, 0, 0, 0, 0][..], &sizes, &[1, 0, 0, 0]].concat();
        bytes.extend([&b"PK\x03\x04"[..], &fields, name, b"hi"].concat());
        if flags != 0 {
            bytes.extend([&b"PK\x07\x08"[..], &sizes].concat());
        }
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &fields, &[0; 10], &offset.to_le_bytes(), name].concat());
    }
    let (at, size) = (bytes.len() as u32, directory.len() as u32);
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0\x03\0\x03\0"[..], &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat());
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut changed = small();
    for [low, high, value] in bytes.as_chunks::<3>().0 {
        let place = usize::from(u16::from_le_bytes([*low, *high])) % changed.len();
        changed[place] = *value;
    }
    read(&changed);
});

fn read(bytes: &[u8]) {
    let Ok(archive) = ZipArchive::read(bytes) else { return };
    let _ = archive.check_unsigned();
    let used = used_entries(&archive, &[vec![1, 0]]);
    let reversed: Vec<usize> = (0..archive.entries().len()).rev().collect();
    for order in [used, reversed] {
        for layout in [ZipLayout::Plain, ZipLayout::Mozilla] {
            let Ok(plan) = archive.plan(&order, layout) else { continue };
            let mut new = Vec::new();
            for piece in &plan.pieces {
                match piece {
                    Piece::Copy(range) => new.extend_from_slice(&bytes[range.clone()]),
                    Piece::New(bytes) => new.extend_from_slice(bytes),
                }
            }
            let after = ZipArchive::read(&new).expect("what was written is read");
            same(&archive, &after).expect("it holds the same");
        }
    }
}
