//! CRC-32C (Castagnoli), as EROFS uses it: seed `!0`, no inversion at the end.
//!
//! Bit by bit: it is only ever computed over one block.

/// The polynomial, reflected.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// The sum that the superblock holds (`erofs_superblock_csum_verify`, `fs/erofs/super.c`).
pub(crate) fn erofs_checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ POLYNOMIAL } else { sum >> 1 })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_the_standard_one_without_the_last_inversion() {
        // RFC 3720, B.4, and the check value of the CRC catalogue.
        assert_eq!(!super::erofs_checksum(b"123456789"), 0xe306_9283);
        assert_eq!(!super::erofs_checksum(&[0; 32]), 0x8a91_36aa);
    }
}
