//! FUSE: a file whose pages are its own, and one that passes through to a file beneath. Needs root and /dev/fuse.

use std::ffi::OsStr;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

use coldstart_pagecache::{Backing, Detail, EvictOptions, Method, Stayed, evict, pages, residency};
use fuser::{
    BackingId, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, Request,
};

use crate::common::{file_with, hold, read_pages, scratch, skip};

const PAGES: u64 = 64;
const OWN: INodeNo = INodeNo(2);
const PASSED: INodeNo = INodeNo(3);
const FOREVER: Duration = Duration::from_secs(3600);

/// Two files: `own` is read from the server, `passed` is handed to the kernel as an open file beneath.
struct TwoFiles {
    beneath: PathBuf,
    passes_through: bool,
    backing: Mutex<Option<BackingId>>,
}

impl TwoFiles {
    fn attributes(inode: INodeNo) -> FileAttr {
        let is_root = inode == INodeNo::ROOT;
        FileAttr {
            ino: inode,
            size: if is_root { 0 } else { PAGES * 4096 },
            blocks: 0,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_root { FileType::Directory } else { FileType::RegularFile },
            perm: 0o755,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for TwoFiles {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        self.passes_through =
            config.add_capabilities(InitFlags::FUSE_PASSTHROUGH).is_ok() && config.set_max_stack_depth(1).is_ok();
        Ok(())
    }

    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("own") => reply.entry(&FOREVER, &Self::attributes(OWN), Generation(0)),
            Some("passed") if self.passes_through => reply.entry(&FOREVER, &Self::attributes(PASSED), Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &Self::attributes(inode));
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        if inode == OWN {
            return reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
        }
        // One for ever: the kernel wants the same one for all who have the file open at a time.
        let mut backing = self.backing.lock().unwrap();
        if backing.is_none() {
            *backing = File::open(&self.beneath).and_then(|file| reply.open_backing(file)).ok();
        }
        match backing.as_ref() {
            Some(backing) => reply.opened_passthrough(FileHandle(1), FopenFlags::empty(), backing),
            None => reply.error(Errno::EIO),
        }
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(&vec![9; size as usize]);
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}

fn ranges(path: &Path) -> Vec<(u64, u64)> {
    pages(File::open(path).unwrap()).unwrap().iter().map(|range| (range.start.0, range.count)).collect()
}

#[test]
fn own_pages_and_passed_through_pages_are_seen() {
    let directory = scratch();
    let beneath = directory.path().join("beneath");
    let file = file_with(&beneath, PAGES, &[(1, 2), (40, 4)]);
    let held = hold(&file, &[(1, 2), (40, 4)]);
    let place = directory.path().join("mounted");
    std::fs::create_dir(&place).unwrap();
    let server = TwoFiles { beneath: beneath.clone(), passes_through: false, backing: Mutex::default() };
    let session = match fuser::spawn_mount(server, &place, &fuser::Config::default()) {
        Ok(session) => session,
        Err(error) => return skip(&format!("FUSE: {error}")),
    };

    let own = place.join("own");
    let own_file = File::open(&own).unwrap();
    read_pages(&own_file, &[(0, 2), (10, 3)]);
    let held_own = hold(&own_file, &[(0, 2), (10, 3)]);
    let found = residency(&own, Detail::Ranges).unwrap();
    assert_eq!((found.backing, found.known().unwrap().method), (Backing::Layered, Method::Mincore));
    assert_eq!(found.resident_pages(), Some(5));
    assert_eq!(ranges(&own), [(0, 2), (10, 3)]);
    drop(held_own);
    assert!(evict(&own, EvictOptions::default()).unwrap().is_gone());
    drop(own_file);

    let passed = place.join("passed");
    match File::open(&passed) {
        Err(error) => skip(&format!("FUSE passthrough: {error}")),
        Ok(file) => {
            assert_eq!(ranges(&passed), [(1, 2), (40, 4)], "the pages of the file beneath");
            // FUSE hands reading and mapping on, but not advice: the pages stay, and the reason says where to look.
            let evicted = evict(&passed, EvictOptions::default()).unwrap();
            assert_eq!(evicted.after.resident_pages(), Some(6));
            assert_eq!(evicted.reasons(&[], 0), [Stayed::Layered]);
            drop(held);
            assert!(evict(&beneath, EvictOptions::default()).unwrap().is_gone());
            assert_eq!(ranges(&passed), []);
            drop(file);
        }
    }
    // The server may learn of the end by a read that is ended so (`fuse_dev_do_read`, fs/fuse/dev.c).
    let ended = session.umount_and_join();
    assert!(ended.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionAborted, |()| true), "{ended:?}");
}
