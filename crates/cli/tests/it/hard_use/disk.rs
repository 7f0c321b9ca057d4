//! A file system that hands everything on to a directory, and is told of every change before it is made: to refuse it, or to
//! remember it.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coldstart_host::descriptor;
use fuser::{
    BackgroundSession, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, Timespec, Timestamps};

use super::room::Room;
use crate::killed::eventually;

/// The kernel asks again each time.
const NEVER: Duration = Duration::ZERO;
/// Flags of open(2) that are handed on.
const HANDED_ON: OFlags = OFlags::RDWR.union(OFlags::WRONLY).union(OFlags::TRUNC).union(OFlags::EXCL);

/// A change that is about to be made. Files and directories are known by their inode's number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Create {
        directory: u64,
        name: OsString,
    },
    /// Right after [`Self::Create`], with the number that the file got, or of a file that gets another name.
    Name {
        directory: u64,
        name: OsString,
        file: u64,
    },
    Write {
        file: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    Cut {
        file: u64,
        size: u64,
    },
    Reserve {
        file: u64,
    },
    Rename {
        from: (u64, OsString),
        to: (u64, OsString),
        exchange: bool,
    },
    Remove {
        directory: u64,
        name: OsString,
    },
    Attribute {
        file: u64,
    },
    Flush {
        file: u64,
    },
    FlushDirectory {
        directory: u64,
    },
}

/// Who is told of changes.
pub(super) trait Watcher: Send + Sync + 'static {
    /// Before the change: whether it may be made.
    fn may(&self, change: &Change) -> Result<(), Errno>;
    /// After it.
    fn made(&self, _change: Change) {}
}

/// The file system.
struct Disk<W> {
    watcher: Arc<W>,
    inodes: Mutex<HashMap<u64, Arc<File>>>,
    handles: Mutex<HashMap<u64, Arc<File>>>,
}

/// Shows a directory at another place, until it is dropped.
///
/// # Errors
/// Where there is no FUSE.
pub(super) fn show<W: Watcher>(beneath: &Path, place: &Path, watcher: &Arc<W>) -> io::Result<BackgroundSession> {
    fs::create_dir_all(place)?;
    let root = Arc::new(by_name(beneath)?);
    let disk = Disk {
        watcher: Arc::clone(watcher),
        inodes: Mutex::new(HashMap::from([(INodeNo::ROOT.0, root)])),
        handles: Mutex::default(),
    };
    let mut config = fuser::Config::default();
    config.mount_options = vec![fuser::MountOption::Suid, fuser::MountOption::Exec, fuser::MountOption::RW];
    fuser::spawn_mount(disk, place, &config)
}

/// Does something while a room is shown at another place; everything that it starts ends before.
pub(super) fn through<W: Watcher, T>(room: &Room, place: &Path, watcher: &Arc<W>, what: impl FnOnce() -> T) -> T {
    let session = show(&room.path(""), place, watcher).unwrap();
    let done = what();
    eventually("the end of all that the command had started", &room.mark(), <[String]>::is_empty);
    // The server may learn of the end by a read that is ended so.
    let _ = session.umount_and_join();
    done
}

/// A result as FUSE wants it.
fn sys<T>(result: rustix::io::Result<T>) -> Result<T, Errno> {
    result.map_err(|errno| io::Error::from(errno).into())
}

/// A file that is only named, whatever it is.
fn by_name(path: &Path) -> io::Result<File> {
    Ok(File::from(rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?))
}

fn attributes(found: &Metadata) -> FileAttr {
    let time = |seconds: i64, nanoseconds: i64| UNIX_EPOCH + Duration::new(seconds as u64, nanoseconds as u32);
    FileAttr {
        ino: INodeNo(found.ino()),
        size: found.size(),
        blocks: found.blocks(),
        atime: time(found.atime(), found.atime_nsec()),
        mtime: time(found.mtime(), found.mtime_nsec()),
        ctime: time(found.ctime(), found.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind: FileType::from_std(found.file_type()).unwrap(),
        perm: (found.mode() & 0o7777) as u16,
        nlink: found.nlink() as u32,
        uid: found.uid(),
        gid: found.gid(),
        rdev: found.rdev() as u32,
        blksize: 4096,
        flags: 0,
    }
}

impl<W: Watcher> Disk<W> {
    fn inode(&self, number: INodeNo) -> Result<Arc<File>, Errno> {
        self.inodes.lock().unwrap().get(&number.0).cloned().ok_or(Errno::ENOENT)
    }

    /// A path that leads to it.
    fn path(&self, number: INodeNo) -> Result<PathBuf, Errno> {
        Ok(descriptor::path(self.inode(number)?))
    }

    fn below(&self, directory: INodeNo, name: &OsStr) -> Result<PathBuf, Errno> {
        Ok(self.path(directory)?.join(name))
    }

    /// Its number in changes: the root's is that of the directory beneath.
    fn number(&self, number: INodeNo) -> u64 {
        self.inode(number).ok().and_then(|file| file.metadata().ok()).map_or(number.0, |found| found.ino())
    }

    fn attributes_of(&self, number: INodeNo) -> Result<FileAttr, Errno> {
        Ok(FileAttr { ino: number, ..attributes(&self.inode(number)?.metadata()?) })
    }

    fn find(&self, directory: INodeNo, name: &OsStr) -> Result<FileAttr, Errno> {
        let file = by_name(&self.below(directory, name)?)?;
        let found = attributes(&file.metadata()?);
        self.inodes.lock().unwrap().insert(found.ino.0, Arc::new(file));
        Ok(found)
    }

    fn handle(&self, handle: FileHandle) -> Result<Arc<File>, Errno> {
        self.handles.lock().unwrap().get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    fn keep(&self, file: File) -> FileHandle {
        let mut handles = self.handles.lock().unwrap();
        let number = handles.keys().max().map_or(1, |last| last + 1);
        handles.insert(number, Arc::new(file));
        FileHandle(number)
    }

    /// Makes a change unless the watcher is against it.
    fn change<T>(&self, change: Change, make: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        self.watcher.may(&change)?;
        let made = make()?;
        self.watcher.made(change);
        Ok(made)
    }

    /// Makes a name.
    fn create_by(
        &self,
        directory: INodeNo,
        name: &OsStr,
        make: impl FnOnce(&Path) -> Result<(), Errno>,
    ) -> Result<FileAttr, Errno> {
        let path = self.below(directory, name)?;
        let (directory_number, own) = (self.number(directory), name.to_owned());
        self.change(Change::Create { directory: directory_number, name: own.clone() }, || make(&path))?;
        let found = self.find(directory, name)?;
        self.watcher.made(Change::Name { directory: directory_number, name: own, file: found.ino.0 });
        Ok(found)
    }

    fn set(
        &self,
        inode: INodeNo,
        handle: Option<FileHandle>,
        (mode, owner, size): (Option<u32>, [Option<u32>; 2], Option<u64>),
        times: [Option<TimeOrNow>; 2],
    ) -> Result<FileAttr, Errno> {
        let (path, file) = (self.path(inode)?, self.number(inode));
        if let Some(size) = size {
            let open = match handle.and_then(|handle| self.handle(handle).ok()) {
                Some(open) => open,
                None => Arc::new(OpenOptions::new().write(true).open(&path)?),
            };
            self.change(Change::Cut { file, size }, || Ok(open.set_len(size)?))?;
        }
        if mode.is_some() || owner != [None; 2] || times.iter().any(Option::is_some) {
            self.change(Change::Attribute { file }, || {
                if owner != [None; 2] {
                    std::os::unix::fs::chown(&path, owner[0], owner[1])?;
                }
                if let Some(mode) = mode {
                    fs::set_permissions(&path, Permissions::from_mode(mode))?;
                }
                let [last_access, last_modification] = times.map(time);
                let times = Timestamps { last_access, last_modification };
                sys(rustix::fs::utimensat(CWD, &path, &times, AtFlags::empty()))
            })?;
        }
        self.attributes_of(inode)
    }
}

/// A time as utimensat(2) takes it.
fn time(given: Option<TimeOrNow>) -> Timespec {
    let (tv_sec, tv_nsec) = match given {
        None => (0, rustix::fs::UTIME_OMIT),
        Some(TimeOrNow::Now) => (0, rustix::fs::UTIME_NOW),
        Some(TimeOrNow::SpecificTime(time)) => {
            let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
            (since.as_secs() as i64, i64::from(since.subsec_nanos()))
        }
    };
    Timespec { tv_sec, tv_nsec: tv_nsec as _ }
}

/// Sends the result, or the error.
macro_rules! answer {
    ($reply:ident, $result:expr, $found:pat => $send:expr) => {
        match $result {
            Ok($found) => $send,
            Err(errno) => $reply.error(errno),
        }
    };
}

impl<W: Watcher> Filesystem for Disk<W> {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer!(reply, self.find(parent, name), found => reply.entry(&NEVER, &found, Generation(0)));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        answer!(reply, self.attributes_of(inode), found => reply.attr(&NEVER, &found));
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = self.set(inode, handle, (mode, [uid, gid], size), [atime, mtime]);
        answer!(reply, set, found => reply.attr(&NEVER, &found));
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        let read = || sys(rustix::fs::readlinkat(&*self.inode(inode)?, c"", Vec::new()));
        answer!(reply, read(), text => reply.data(text.as_bytes()));
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let make = |path: &Path| {
            fs::create_dir(path)?;
            Ok(fs::set_permissions(path, Permissions::from_mode(mode & !umask))?)
        };
        answer!(reply, self.create_by(parent, name, make), found => reply.entry(&NEVER, &found, Generation(0)));
    }

    fn symlink(&self, _: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let make = |path: &Path| Ok(std::os::unix::fs::symlink(target, path)?);
        answer!(reply, self.create_by(parent, name, make), found => reply.entry(&NEVER, &found, Generation(0)));
    }

    fn link(&self, _: &Request, inode: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let from = self.path(inode);
        let make = |path: &Path| sys(rustix::fs::linkat(CWD, from?, CWD, path, AtFlags::SYMLINK_FOLLOW));
        answer!(reply, self.create_by(parent, name, make), found => reply.entry(&NEVER, &found, Generation(0)));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let change = Change::Remove { directory: self.number(parent), name: name.to_owned() };
        answer!(reply, self.change(change, || Ok(fs::remove_file(self.below(parent, name)?)?)), () => reply.ok());
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let change = Change::Remove { directory: self.number(parent), name: name.to_owned() };
        answer!(reply, self.change(change, || Ok(fs::remove_dir(self.below(parent, name)?)?)), () => reply.ok());
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let change = Change::Rename {
            from: (self.number(parent), name.to_owned()),
            to: (self.number(new_parent), new_name.to_owned()),
            exchange: flags.contains(RenameFlags::RENAME_EXCHANGE),
        };
        let rename = || {
            let (from, to) = (self.below(parent, name)?, self.below(new_parent, new_name)?);
            let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
            sys(rustix::fs::renameat_with(CWD, from, CWD, to, flags))
        };
        answer!(reply, self.change(change, rename), () => reply.ok());
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let open = || {
            let flags = OFlags::from_bits_retain(flags.0 as u32) & HANDED_ON;
            let file = sys(rustix::fs::open(self.path(inode)?, flags | OFlags::CLOEXEC, Mode::empty()))?;
            Ok(self.keep(File::from(file)))
        };
        answer!(reply, open(), handle => reply.opened(handle, FopenFlags::empty()));
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let mut handle = FileHandle(0);
        let make = |path: &Path| {
            let exclusive = flags & OFlags::EXCL.bits() as i32 != 0;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).create_new(exclusive).mode(mode & !umask);
            handle = self.keep(options.open(path)?);
            Ok(())
        };
        let created = self.create_by(parent, name, make);
        answer!(reply, created, found => reply.created(&NEVER, &found, Generation(0), handle, FopenFlags::empty()));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = || {
            let mut bytes = vec![0; size as usize];
            let read = self.handle(handle)?.read_at(&mut bytes, offset)?;
            bytes.truncate(read);
            Ok(bytes)
        };
        answer!(reply, read(), bytes => reply.data(&bytes));
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let change = Change::Write { file: self.number(inode), offset, bytes: data.to_vec() };
        let write = || Ok(self.handle(handle)?.write_all_at(data, offset)?);
        answer!(reply, self.change(change, write), () => reply.written(data.len() as u32));
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.handles.lock().unwrap().remove(&handle.0);
        reply.ok();
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        // What a power loss leaves is computed: there is no need to wait for the disk.
        answer!(reply, self.change(Change::Flush { file: self.number(inode) }, || Ok(())), () => reply.ok());
    }

    fn fsyncdir(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let change = Change::FlushDirectory { directory: self.number(inode) };
        answer!(reply, self.change(change, || Ok(())), () => reply.ok());
    }

    fn readdir(&self, _: &Request, inode: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = self.path(inode).and_then(|path| Ok(fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?));
        let Ok(mut entries) = entries else { return reply.error(Errno::EIO) };
        entries.sort_by_key(fs::DirEntry::file_name);
        for (number, entry) in entries.iter().enumerate().skip(offset as usize) {
            let Ok(found) = entry.metadata() else { continue };
            let kind = attributes(&found).kind;
            if reply.add(INodeNo(found.ino()), number as u64 + 1, kind, entry.file_name()) {
                break;
            }
        }
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        handle: FileHandle,
        at: u64,
        size: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let reserve = || {
            let mode = FallocateFlags::from_bits_retain(mode as u32);
            sys(rustix::fs::fallocate(&*self.handle(handle)?, mode, at, size))
        };
        answer!(reply, self.change(Change::Reserve { file: self.number(inode) }, reserve), () => reply.ok());
    }

    fn setxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, value: &[u8], _: i32, _: u32, reply: ReplyEmpty) {
        let set = || sys(rustix::fs::setxattr(self.path(inode)?, name, value, rustix::fs::XattrFlags::empty()));
        answer!(reply, self.change(Change::Attribute { file: self.number(inode) }, set), () => reply.ok());
    }

    fn removexattr(&self, _: &Request, inode: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.path(inode).and_then(|path| sys(rustix::fs::removexattr(path, name)));
        answer!(reply, removed, () => reply.ok());
    }

    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        let mut value = vec![0; 1 << 16];
        let mut read = || sys(rustix::fs::getxattr(self.path(inode)?, name, &mut value[..]));
        answer_sized(reply, size, read().map(|length| value[..length].to_vec()));
    }

    fn listxattr(&self, _: &Request, inode: INodeNo, size: u32, reply: ReplyXattr) {
        let mut names = vec![0; 1 << 16];
        let mut read = || sys(rustix::fs::listxattr(self.path(inode)?, &mut names[..]));
        answer_sized(reply, size, read().map(|length: usize| names[..length].to_vec()));
    }
}

/// Sends a value, or only its size where that is asked for.
fn answer_sized(reply: ReplyXattr, size: u32, value: Result<Vec<u8>, Errno>) {
    match value {
        Err(errno) => reply.error(errno),
        Ok(value) if size == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > size as usize => reply.error(Errno::ERANGE),
        Ok(value) => reply.data(&value),
    }
}
