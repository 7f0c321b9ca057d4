//! Trees of files, images of them, and the independent witnesses.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use coldstart_image::read::Image;
use coldstart_image::tree::Collector;
use coldstart_image::verify::{Comparison, Scope, Soundness, check, compare, compare_mounted};
use coldstart_image::{Compression, HotOrder, HotRun, Plan, Written, write_image};
use coldstart_profile::PageRange;
use coldstart_testing::{is_there, scratch, skip, succeed};
use rustix::fs::{CWD, FileType, Mode, Timespec, Timestamps, XattrFlags, lsetxattr, makedev, mknodat, utimensat};
use tempfile::TempDir;

/// A directory with a tree in `tree` and room for images.
pub(crate) struct Scene {
    directory: TempDir,
}

impl Scene {
    /// An empty tree.
    pub(crate) fn new() -> Self {
        let directory = scratch();
        fs::create_dir(directory.path().join("tree")).unwrap();
        Self { directory }
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.directory.path().join("tree")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The plan of the whole tree.
    pub(crate) fn plan(&self, hot: &HotOrder) -> Plan {
        let mut collector = Collector::new(&self.tree()).unwrap();
        collector.add_tree(Path::new("/")).unwrap();
        let (entries, trees) = collector.finish();
        Plan::new(entries, trees, hot).unwrap()
    }

    /// As [`Self::image`], with compressed hot files.
    pub(crate) fn compressed_image(&self, name: &str, hot: &HotOrder) -> (PathBuf, Written) {
        let mut collector = Collector::new(&self.tree()).unwrap();
        collector.add_tree(Path::new("/")).unwrap();
        let (entries, trees) = collector.finish();
        let plan = Plan::with_compression(entries, trees, hot, Compression::Zstd).unwrap();
        let path = self.path(name);
        let file = File::create_new(&path).unwrap();
        let written = write_image(&file, &plan, &mut go_on).unwrap();
        assert_eq!(file.metadata().unwrap().len(), written.size.total);
        assert!(written.size.total <= plan.size().total);
        (path, written)
    }

    /// The image of the whole tree, in a file.
    pub(crate) fn image(&self, name: &str, hot: &HotOrder) -> (PathBuf, Written) {
        let (path, plan) = (self.path(name), self.plan(hot));
        let file = File::create_new(&path).unwrap();
        let written = write_image(&file, &plan, &mut go_on).unwrap();
        assert_eq!(file.metadata().unwrap().len(), plan.size().total);
        (path, written)
    }

    /// The image is as it was written, equal to the tree, and all witnesses agree.
    #[track_caller]
    pub(crate) fn judge(&self, path: &Path) {
        let (soundness, comparison) = (sound(path), compared(path, &self.tree()));
        assert_eq!(soundness.flaws, []);
        assert!(soundness.index.is_some());
        assert_eq!(comparison.differences, []);
        // Compressed data that begins at any byte is known to fsck.erofs since erofs-utils 1.9, newer than what distributions have.
        if soundness.index.is_some_and(|index| index.packed.is_none()) {
            fsck(path);
        }
        match compare_mounted(&File::open(path).unwrap(), &self.tree(), &Scope::Whole) {
            Ok(by_kernel) => assert_eq!(by_kernel.unwrap(), comparison),
            Err(error) => skip(&format!("the kernel does not mount the image: {error}")),
        }
    }
}

/// Progress that nobody watches.
pub(crate) fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// What our reader says of an image.
#[track_caller]
pub(crate) fn sound(path: &Path) -> Soundness {
    check(&Image::open(File::open(path).unwrap()).unwrap()).unwrap()
}

/// What our reader sees, compared with a tree.
#[track_caller]
pub(crate) fn compared(path: &Path, tree: &Path) -> Comparison {
    compare(&Image::open(File::open(path).unwrap()).unwrap(), tree, &Scope::Whole).unwrap()
}

/// fsck.erofs finds nothing, and extracts the same contents.
#[track_caller]
pub(crate) fn fsck(path: &Path) {
    if !is_there("fsck.erofs") {
        return skip("needs fsck.erofs (erofs-utils)");
    }
    succeed(Command::new("fsck.erofs").arg(path));
}

/// Hot pages of files, in this order, of one program.
pub(crate) fn hot(pages: &[(&str, u64)]) -> HotOrder {
    let run = |&(path, page): &(&str, u64)| HotRun {
        path: Arc::from(Path::new(path)),
        pages: PageRange::new(page, 1).unwrap(),
        programs: 1,
    };
    HotOrder { programs: vec!["program --option".into()], runs: pages.iter().map(run).collect(), ..HotOrder::default() }
}

/// Bytes that repeat nowhere.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

/// One of everything that an image can hold.
pub(crate) fn fill_with_everything(tree: &Path) {
    let at = |name: &str| tree.join(name);
    for (index, size) in [0, 1, 4095, 4096, 4097, 8192, 100_000, 3_000_000].into_iter().enumerate() {
        fs::write(at(&format!("file-{size}")), noise(index as u64, size)).unwrap();
    }
    fs::create_dir_all(at("directory/deeper/still deeper")).unwrap();
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("directory/deeper/a"), "a").unwrap();
    fs::hard_link(at("directory/deeper/a"), at("b")).unwrap();
    fs::hard_link(at("directory/deeper/a"), at("directory/c")).unwrap();
    // Many names: several blocks, with names of all lengths and bytes.
    fs::create_dir(at("many")).unwrap();
    for number in 1..=255_usize {
        let name: String = "nöñ sense".chars().cycle().take(number).collect();
        if name.len() < 250 {
            fs::write(at("many").join(format!("{name}{number:03}")), []).unwrap();
        }
    }
    fs::write(at("many").join("x".repeat(255)), "longest").unwrap();
    {
        use std::os::unix::ffi::OsStrExt;
        fs::write(at("many").join(std::ffi::OsStr::from_bytes(b"\xff\x01\n not text")), "odd").unwrap();
        // `.` and `..` are not first in the order of bytes.
        for name in [&b"!"[..], b"-", b"..!", b"...", b".\x01"] {
            fs::write(at("many").join(std::ffi::OsStr::from_bytes(name)), name).unwrap();
        }
    }
    symlink("directory/deeper", at("link")).unwrap();
    symlink("x".repeat(4000), at("long link")).unwrap();
    symlink("y".repeat(4095), at("longest link")).unwrap();
    fs::hard_link(at("link"), at("the same link")).unwrap();
    // Holes: in the middle, at both ends, too short, and nothing else.
    let sparse = File::create(at("sparse")).unwrap();
    sparse.set_len(2_000_001).unwrap();
    sparse.write_all_at(&noise(9, 5000), 500_000).unwrap();
    sparse.write_all_at(b"word", 1_200_000).unwrap();
    File::create(at("all hole")).unwrap().set_len(1 << 21).unwrap();
    File::create(at("short hole")).unwrap().set_len(8192).unwrap();
    let huge = File::create(at("huge")).unwrap();
    huge.set_len(5 << 28).unwrap();
    huge.write_all_at(b"far", 1 << 30).unwrap();
    // Attributes.
    fs::write(at("attributes"), "attributes").unwrap();
    for (name, value) in [("user.short", &b""[..]), ("user.long", &noise(1, 3000)), ("user.other", b"\0\xff")] {
        lsetxattr(at("attributes"), name, value, XattrFlags::empty()).unwrap();
    }
    lsetxattr(at("directory"), "user.of.a.directory", b"1", XattrFlags::empty()).unwrap();
    for (name, mode) in [("attributes", 0o4751), ("b", 0o400), ("empty", 0o1777), ("directory", 0o2750)] {
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    for (name, seconds, nanoseconds) in [("b", 0, 1), ("file-1", -5, 999_999_999), ("link", 1 << 32, 7)] {
        set_time(&at(name), seconds, nanoseconds);
    }
    if rustix::process::geteuid().is_root() {
        fill_as_root(tree);
    }
}

/// What only root may make.
fn fill_as_root(tree: &Path) {
    let at = |name: &str| tree.join(name);
    for (name, kind, major, minor) in [
        ("null", FileType::CharacterDevice, 1, 3),
        ("disk", FileType::BlockDevice, 259, 1_000_000),
        ("pipe", FileType::Fifo, 0, 0),
        ("socket", FileType::Socket, 0, 0),
    ] {
        mknodat(CWD, at(name), kind, Mode::from_raw_mode(0o640), makedev(major, minor)).unwrap();
    }
    rustix::fs::chown(
        at("attributes"),
        Some(rustix::fs::Uid::from_raw(70_000)),
        Some(rustix::fs::Gid::from_raw(4_000_000_000)),
    )
    .unwrap();
    // cap_net_raw, as setcap writes it (`struct vfs_ns_cap_data`).
    let capability = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    lsetxattr(at("file-4096"), "security.capability", &capability, XattrFlags::empty()).unwrap();
    lsetxattr(at("link"), "trusted.of.a.link", b"2", XattrFlags::empty()).unwrap();
    succeed(Command::new("setfacl").args(["-m", "u:65534:rx,g:1:-"]).arg(at("directory")));
    succeed(Command::new("setfacl").args(["-d", "-m", "u:65534:rwx"]).arg(at("directory")));
    succeed(Command::new("setfacl").args(["-m", "u:12:r"]).arg(at("file-4097")));
}

pub(crate) fn set_time(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}
