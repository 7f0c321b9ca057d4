//! The slow file: a FUSE file system with one file, `disk.img`, whose reads take the model's time.
//!
//! One thread (fuser's session loop) receives the requests, copies the data at once and passes the read to the
//! [`scheduler`], which replies at the model's time. So any number of reads can run concurrently, although
//! requests are received one by one. Writes are answered at once.
//!
//! Not obvious: without `FUSE_ASYNC_DIO` the kernel would turn the loop device's asynchronous reads into
//! synchronous ones (fs/fuse/file.c, `fuse_direct_IO`), and every queue depth would look like depth 1.

use std::ffi::OsStr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, UNIX_EPOCH};

use anyhow::{Context, Result};
use fs_err as fs;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};
use rustix::fs::FallocateFlags;

use crate::model::Parameters;

mod scheduler;
mod statistics;

use scheduler::Arrival;
pub(crate) use statistics::Figures;
use statistics::Statistics;

/// The slow file's name in the mount.
pub(crate) const DISK: &str = "disk.img";
/// A file beside it with statistics, as JSON.
pub(crate) const STATISTICS: &str = "statistics.json";

const DISK_INODE: INodeNo = INodeNo(2);
const STATISTICS_INODE: INodeNo = INodeNo(3);
/// Names and attributes never change while the mount is up.
const VALID: Duration = Duration::from_secs(3600);
/// The largest request: 256 pages is what the kernel grants by default (fs.fuse.max_pages_limit).
const LARGEST_REQUEST: u32 = 1 << 20;
/// Requests the kernel may have under way. A loop device has 128; splitting may double them.
const IN_FLIGHT: u16 = 512;

/// Serves `image` at `mount_point` until it is unmounted.
///
/// # Errors
/// When the image cannot be opened, or the mount or the session fails.
pub(crate) fn serve(image: &Path, mount_point: &Path, parameters: &Parameters) -> Result<()> {
    let file = fs::File::options().read(true).write(true).open(image)?.into_parts().0;
    let bytes = file.metadata()?.len();
    let (sender, arrivals) = std::sync::mpsc::channel();
    let statistics = Arc::new(Statistics::default());
    let model = parameters.model(bytes);
    let scheduler = {
        let statistics = Arc::clone(&statistics);
        std::thread::Builder::new()
            .name("scheduler".into())
            .spawn(move || scheduler::run(&arrivals, model, &statistics))
            .context("cannot start the scheduler thread")?
    };
    let mut config = fuser::Config::default();
    config.mount_options =
        vec![fuser::MountOption::FSName("coldstart-testbed".into()), fuser::MountOption::Subtype("slowdisk".into())];
    let slow_file = SlowFile { file, bytes, arrivals: sender, statistics };
    let session = fuser::Session::new(slow_file, mount_point, &config)
        .with_context(|| format!("cannot mount FUSE at {}", mount_point.display()))?;
    session.run().context("the FUSE session failed")?;
    // The session owned the sender, so the scheduler sees the end of its queue.
    scheduler.join().map_err(|_| anyhow::anyhow!("the scheduler thread panicked"))
}

struct SlowFile {
    file: std::fs::File,
    bytes: u64,
    arrivals: Sender<Arrival>,
    statistics: Arc<Statistics>,
}

impl SlowFile {
    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            DISK_INODE => (FileType::RegularFile, 0o600, self.bytes),
            STATISTICS_INODE => (FileType::RegularFile, 0o400, 0),
            _ => return None,
        };
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    /// Up to `size` bytes from `offset`, fewer at the end of the file.
    fn data(&self, offset: u64, size: u32) -> std::io::Result<Vec<u8>> {
        let length = u64::from(size).min(self.bytes.saturating_sub(offset));
        let mut data = vec![0; length as usize];
        self.file.read_exact_at(&mut data, offset)?;
        Ok(data)
    }
}

impl Filesystem for SlowFile {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let refused = |what: &str| std::io::Error::other(format!("the kernel's FUSE does not support {what}"));
        config.add_capabilities(InitFlags::FUSE_ASYNC_DIO).map_err(|_| refused("asynchronous direct I/O"))?;
        // FUSE_MAX_PAGES follows from max_write; fuser asks for it by itself.
        config.set_max_write(LARGEST_REQUEST).map_err(|_| refused("requests of 1 MiB"))?;
        config.set_max_background(IN_FLIGHT).map_err(|_| refused("512 requests under way"))?;
        config.set_congestion_threshold(IN_FLIGHT).map_err(|_| refused("512 requests under way"))?;
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let inode = match name.to_str() {
            Some(DISK) if parent == INodeNo::ROOT => DISK_INODE,
            Some(STATISTICS) if parent == INodeNo::ROOT => STATISTICS_INODE,
            _ => return reply.error(Errno::ENOENT),
        };
        match self.attributes(inode) {
            Some(attributes) => reply.entry(&VALID, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&VALID, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(&self, _request: &Request, inode: INodeNo, _handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if inode != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (DISK_INODE, FileType::RegularFile, DISK),
            (STATISTICS_INODE, FileType::RegularFile, STATISTICS),
        ];
        for (next, (inode, kind, name)) in (1u64..).zip(entries).skip(usize::try_from(offset).unwrap_or(usize::MAX)) {
            if reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _request: &Request, _inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        // Direct: a second page cache above the model would hide it. Parallel writes: they need no order among them.
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let at = Instant::now();
        if inode == STATISTICS_INODE {
            let text = self.statistics.to_json();
            let rest = text.as_bytes().get(usize::try_from(offset).unwrap_or(usize::MAX)..).unwrap_or_default();
            return reply.data(&rest[..rest.len().min(size as usize)]);
        }
        match self.data(offset, size) {
            Ok(data) if data.is_empty() => reply.data(&data),
            Ok(data) => {
                self.statistics.arrived(data.len() as u64);
                let arrival = Arrival { at, offset, data, answer: Box::new(move |data| reply.data(data)) };
                // The scheduler outlives the session; if it died, dropping the reply answers with an error.
                drop(self.arrivals.send(arrival));
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let inside = offset.checked_add(data.len() as u64).is_some_and(|end| end <= self.bytes);
        if inode != DISK_INODE || !inside {
            return reply.error(Errno::EINVAL);
        }
        match self.file.write_all_at(data, offset) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn flush(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _owner: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _request: &Request, _inode: INodeNo, _handle: FileHandle, _datasync: bool, reply: ReplyEmpty) {
        // The working copy is thrown away with the bed; there is nothing to make durable.
        reply.ok();
    }

    fn fallocate(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        if inode != DISK_INODE {
            return reply.error(Errno::EINVAL);
        }
        // What the loop device's discards become. A mode the image's own file system lacks is refused by it.
        let mode = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        match rustix::fs::fallocate(&self.file, mode, offset, length) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(Errno::from_i32(error.raw_os_error())),
        }
    }
}
