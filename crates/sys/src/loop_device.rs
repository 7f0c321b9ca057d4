//! A block device whose content is a file (`drivers/block/loop.c`), for kernels and file systems that mount no regular files.
//!
//! The device is read-only and detaches itself with its last user, also when we are killed: a mount is a user. Reads go through the page cache of the file, so what
//! was read there before is not read from the disk again.
//!
//! `LOOP_CONFIGURE` came with Linux 5.8; before, a device could be seen half configured. Source: `include/uapi/linux/loop.h`.

use std::ffi::{OsString, c_void};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;

use coldstart_host::descriptor;
use rustix::fs::{Mode, OFlags, fstat, major, minor};
use rustix::io::Errno;
use rustix::ioctl::{self, Ioctl, IoctlOutput, Opcode};

use crate::facility_error::FacilityError;

/// Where the kernel is asked for a free device; the module makes it.
pub const CONTROL: &str = "/dev/loop-control";
const LOOP_CTL_GET_FREE: Opcode = 0x4c82;
const LOOP_CONFIGURE: Opcode = 0x4c0a;
const LO_FLAGS_READ_ONLY: u32 = 1;
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// A free device may be taken by somebody else before we take it.
const TRIES: u32 = 32;

/// A loop device while it is open.
#[derive(Debug)]
pub struct LoopDevice {
    device: OwnedFd,
}

impl LoopDevice {
    /// Attaches a free device to a file.
    ///
    /// # Errors
    /// [`FacilityError::Unsupported`] where there are no loop devices, or the kernel is older than 5.8;
    /// [`FacilityError::NotPermitted`] without the rights.
    pub fn attach(file: &File) -> Result<Self, FacilityError> {
        let mut taken = Errno::BUSY;
        for _ in 0..TRIES {
            match Self::try_attach(file) {
                Err(error) if error.errno() == Errno::BUSY => taken = error.errno(),
                answer => return answer,
            }
        }
        Err(FacilityError::new("LOOP_CONFIGURE", taken, &[]))
    }

    fn try_attach(file: &File) -> Result<Self, FacilityError> {
        let missing = [Errno::NOENT, Errno::NODEV, Errno::NXIO];
        let open = |path: PathBuf, facility| {
            rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                .map_err(|errno| FacilityError::new(facility, errno, &missing))
        };
        let control = open(PathBuf::from(CONTROL), CONTROL)?;
        // SAFETY: LOOP_CTL_GET_FREE takes no argument, and returns the number of a device.
        let number = unsafe { ioctl::ioctl(&control, GetFree) };
        let number = number.map_err(|errno| FacilityError::new("LOOP_CTL_GET_FREE", errno, &[]))?;
        let device = open(PathBuf::from(format!("/dev/loop{number}")), "/dev/loop")?;
        let config = Config {
            descriptor: file.as_fd().as_raw_fd().cast_unsigned(),
            block_size: 0,
            info: Info { flags: LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR, ..Info::ZERO },
            reserved: [0; 8],
        };
        // SAFETY: LOOP_CONFIGURE reads one `struct loop_config`.
        let result = unsafe { ioctl::ioctl(&device, ioctl::Setter::<LOOP_CONFIGURE, Config>::new(config)) };
        // Kernels without it say EINVAL; with these arguments nothing else does.
        result.map_err(|errno| FacilityError::new("LOOP_CONFIGURE", errno, &[Errno::INVAL]))?;
        Ok(Self { device })
    }

    /// A path to it, for this process only and as long as this lives.
    pub fn path(&self) -> PathBuf {
        descriptor::path(&self.device)
    }

    /// Its name among the backing devices: its numbers.
    pub(crate) fn backing_name(&self) -> Option<OsString> {
        let device = fstat(&self.device).ok()?.st_rdev;
        Some(format!("{}:{}", major(device), minor(device)).into())
    }
}

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

impl Info {
    const ZERO: Self = Self {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
}

/// `struct loop_config`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    descriptor: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

struct GetFree;

// SAFETY: no memory is given to the kernel, and its answer is the number that the call returns.
unsafe impl Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        LOOP_CTL_GET_FREE
    }

    fn as_ptr(&mut self) -> *mut c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(returned: IoctlOutput, _: *mut c_void) -> rustix::io::Result<u32> {
        u32::try_from(returned).map_err(|_| Errno::INVAL)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use coldstart_testing::{eventually, is_root, scratch, skip, succeed};

    use super::*;

    #[test]
    fn a_device_has_the_content_of_its_file_and_ends_with_its_user() {
        if !is_root() {
            return;
        }
        let directory = scratch();
        let path = directory.path().join("content");
        fs::write(&path, [7; 8192]).unwrap();
        let device = match LoopDevice::attach(&File::open(&path).unwrap()) {
            Ok(device) => device,
            Err(error) => return skip(&format!("no loop devices: {error}")),
        };
        let mut found = [0; 4];
        File::open(device.path()).unwrap().read_exact_at(&mut found, 8188).unwrap();
        assert_eq!(found, [7; 4]);
        let devices = || succeed(std::process::Command::new("losetup").arg("-j").arg(&path));
        assert_eq!(devices().lines().count(), 1);
        let written = fs::OpenOptions::new().write(true).open(device.path()).and_then(|file| file.write_at(&[1], 0));
        assert!(written.is_err());
        drop(device);
        eventually("the end of the device", || devices().is_empty());
    }
}
