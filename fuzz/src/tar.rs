//! Tar files whose checksums are right: hardly any made-up block has the right one.

/// Bytes of a block.
pub const BLOCK: usize = 512;

/// Puts the checksums of all headers right.
pub fn put_checksums_right(tar: &mut [u8]) {
    let mut at = 0;
    while let Some(header) = tar.get_mut(at..).and_then(|rest| rest.get_mut(..BLOCK)) {
        put_checksum_right(header);
        let digits = header[124..135].iter().filter(|byte| byte.is_ascii_digit());
        let size = digits.fold(0usize, |size, digit| size.saturating_mul(8).saturating_add(usize::from(*digit - b'0')));
        at = at.saturating_add(BLOCK).saturating_add(size.min(tar.len()).next_multiple_of(BLOCK));
    }
}

/// Puts the checksum of one header right.
pub fn put_checksum_right(header: &mut [u8]) {
    if header.iter().all(|byte| *byte == 0) {
        return;
    }
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}
