//! `sync_file_range(2)`: start writing a file's new pages to the disk, without waiting for them.
//!
//! It does not make data durable: neither the file's length nor its block list is written, and it does not wait. It only lets
//! the disk work while the processor does, so that the later `fsync` has less to do.
//!
//! Source: `fs/sync.c`, `sync_file_range`.

use std::os::fd::{AsFd, AsRawFd};

use crate::facility_error::FacilityError;

/// Starts write-back of the dirty pages of bytes `offset .. offset + length`; a `length` of 0 means to the end.
///
/// It may still wait where the device's queue is full.
///
/// # Errors
/// [`FacilityError::Unsupported`] for anything but a regular file; [`FacilityError::Failed`] for ranges beyond the kernel's
/// numbers, or on an error of the disk.
pub fn start_write_back(file: impl AsFd, offset: u64, length: u64) -> Result<(), FacilityError> {
    let error = |errno| FacilityError::new("sync_file_range", errno, &[rustix::io::Errno::SPIPE]);
    let number = |value: u64| i64::try_from(value).map_err(|_| error(rustix::io::Errno::INVAL));
    let (offset, length) = (number(offset)?, number(length)?);
    let descriptor = file.as_fd().as_raw_fd();
    // SAFETY: takes numbers only; the descriptor stays open because `file` lives until after the call.
    let result = unsafe { libc::sync_file_range(descriptor, offset, length, libc::SYNC_FILE_RANGE_WRITE) };
    if result == 0 {
        return Ok(());
    }
    let code = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    Err(error(rustix::io::Errno::from_raw_os_error(code)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_pages_of_a_file_can_be_started_and_those_of_a_pipe_cannot() {
        let file = tempfile::tempfile_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
        file.set_len(1 << 20).unwrap();
        assert_eq!(start_write_back(&file, 0, 0), Ok(()));
        assert_eq!(start_write_back(&file, 4096, 4096), Ok(()));
        assert!(matches!(start_write_back(&file, u64::MAX, 1), Err(FacilityError::Failed { .. })));
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(matches!(start_write_back(&reader, 0, 0), Err(FacilityError::Unsupported { .. })));
    }
}
