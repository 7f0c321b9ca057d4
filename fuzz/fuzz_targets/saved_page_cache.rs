//! Any bytes as a saved page cache: refused or read, never a panic, and what is read can be written again.
//!
//! The checksum would keep the fuzzer out of everything behind it, so it is put right first, like the length.

#![no_main]

use coldstart_pagecache::SavedPageCache;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = SavedPageCache::from_bytes(bytes);
    if bytes.len() < 128 {
        return;
    }
    let mut bytes = bytes.to_vec();
    bytes[..8].copy_from_slice(b"coldpage");
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let length = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(saved) = SavedPageCache::from_bytes(&bytes) {
        for file in saved.files().iter().chain(saved.devices()) {
            assert!(!file.ranges.is_empty());
            assert!(file.ranges.windows(2).all(|pair| pair[0].end() < pair[1].start));
            assert!(file.pages() <= coldstart_profile::page_count(file.identity.size));
        }
        let written = saved.to_bytes().expect("what was read fits the format");
        assert_eq!(SavedPageCache::from_bytes(&written).expect("what we write we read"), saved);
    }
});

/// CRC-32 (IEEE 802.3), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
