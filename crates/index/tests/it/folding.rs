//! A file system on which a name is found also by other letters, as those of Windows and macOS, and directories of ext4 with `+F`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, UNIX_EPOCH};

use coldstart_index::providers::Providers;
use coldstart_index::{Listing, Times};
use coldstart_testing::skip;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, ReplyAttr, ReplyDirectory, ReplyEntry,
    Request,
};

const FOREVER: Duration = Duration::from_secs(3600);
const MODULE: INodeNo = INodeNo(2);
const NAME: &str = "Module.pm";

/// A directory with one file.
struct Folding;

pub(crate) fn attributes(inode: INodeNo) -> FileAttr {
    let kind = if inode == INodeNo::ROOT { FileType::Directory } else { FileType::RegularFile };
    FileAttr {
        ino: inode,
        size: 0,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm: 0o755,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Folding {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.as_bytes().eq_ignore_ascii_case(NAME.as_bytes()) {
            true => reply.entry(&FOREVER, &attributes(MODULE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &attributes(inode));
    }

    fn readdir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if offset == 0 {
            let _ = reply.add(MODULE, 1, FileType::RegularFile, NAME);
        }
        reply.ok();
    }
}

#[test]
fn directories_that_do_not_tell_capitals_from_small_letters_are_left_to_the_interpreter() {
    let directory = tempfile::tempdir().unwrap();
    let [folding, plain] = ["folding", "plain"].map(|name| directory.path().join(name));
    for place in [&folding, &plain] {
        std::fs::create_dir(place).unwrap();
    }
    std::fs::write(plain.join("module.pm"), "").unwrap();
    std::fs::write(plain.join("A"), "").unwrap();
    std::fs::hard_link(plain.join("A"), plain.join("a")).unwrap();
    let _session = match fuser::spawn_mount(Folding, &folding, &fuser::Config::default()) {
        Ok(session) => session,
        Err(error) => return skip(&format!("FUSE: {error}")),
    };
    assert!(Listing::of(&folding).unwrap().unwrap().folds_case());
    assert!(!Listing::of(&plain).unwrap().unwrap().folds_case());
    let entries = [&folding, &plain].map(|path| path.as_os_str().as_bytes().to_vec());
    let names = BTreeSet::from([b"module.pm".to_vec()]);
    let providers = Providers::new(&entries, &names, &|name| vec![name.to_vec()], Times::Seconds);
    assert_eq!(providers.unknown.len(), 1, "{:?}", providers.unknown);
    assert!(providers.unknown[0].0 == folding && providers.unknown[0].1.contains("capitals"));
    assert_eq!(providers.name_count(), 1);
}
