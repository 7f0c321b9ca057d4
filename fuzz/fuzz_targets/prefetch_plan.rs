//! Any bytes as a prefetch plan: refused or read, never a panic, and what is read can be written again.
//!
//! The checksum would keep the fuzzer out of everything behind it, so it is put right first, like the length.

#![no_main]

use coldstart_profile::plan::PlanView;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = PlanView::read(bytes);
    if bytes.len() < 144 {
        return;
    }
    let mut bytes = bytes.to_vec();
    bytes[..8].copy_from_slice(b"coldplan");
    bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
    let length = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32(&bytes[32..]);
    bytes[24..28].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(view) = PlanView::read(&bytes) {
        let plan = view.to_plan();
        let written = plan.to_bytes().expect("what was read fits the format");
        let again = PlanView::read(&written).expect("what we write we read").to_plan();
        assert_eq!(again, plan);
    }
});

/// CRC-32 (IEEE 802.3), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 })
    })
}
