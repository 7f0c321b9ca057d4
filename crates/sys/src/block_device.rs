//! The size of a block device, which `stat` gives as 0.
//!
//! `lseek` to the end would also give it, but moves the offset that a caller's descriptor shares with others.
//!
//! Source: `block/ioctl.c`, `BLKGETSIZE64`.

use std::os::fd::AsFd;

use rustix::ioctl::{self, opcode};

use crate::facility_error::FacilityError;

/// The kernel's definition says `size_t` but means `u64`, so the number differs on 32-bit machines.
const BLKGETSIZE64: ioctl::Opcode = opcode::read::<usize>(0x12, 114);

/// Size in bytes.
///
/// # Errors
/// [`FacilityError::Unsupported`] for anything but a block device.
pub fn block_device_size(device: impl AsFd) -> Result<u64, FacilityError> {
    // SAFETY: BLKGETSIZE64 writes one u64, whatever its number says about the size.
    let result = unsafe { ioctl::ioctl(device, ioctl::Getter::<BLKGETSIZE64, u64>::new()) };
    result.map_err(|errno| FacilityError::new("BLKGETSIZE64", errno, &[rustix::io::Errno::INVAL]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_block_devices_have_it() {
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        assert!(matches!(block_device_size(&file), Err(FacilityError::Unsupported { .. })));
    }
}
