//! The directory of an output, found once and then held open, so that no other user can exchange it for another one meanwhile.
//!
//! The way to it is walked name by name, because links on it may be other users':
//!
//! - In a world-writable directory, only links of its owner and of the caller are followed. That is the kernel's own rule
//!   (`fs.protected_symlinks`), which not every system has switched on.
//! - Root follows a link that another user can make or exchange only into a directory of that user: where the link leads, that
//!   user could write without root. systemd calls everything else an "unsafe path transition" (`CHASE_SAFE`, src/basic/fs-util.h).
//!
//! Not obvious: a path that was canonicalised is no safer. Whoever owns one of its directories can put a link in its place right
//! afterwards.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_host::descriptor;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, fstat, fstatfs, openat, openat2, readlinkat,
    stat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::error::OutputRefusal;

/// As many links as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: usize = 40;
/// Mode bits of a directory in which everybody may create files, and remove only their own (sticky bit).
const STICKY_FOR_ALL: u32 = 0o1002;
/// A name that is only looked up.
const FOUND: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// A directory that is held open. Files in it are named below its [sure path](Self::sure), whatever becomes of its names meanwhile.
#[derive(Clone, Debug)]
pub struct HeldDirectory {
    /// Its path, without symbolic links when it was found.
    real: PathBuf,
    /// A path that leads to it whatever becomes of its names; the real one without `/proc`.
    sure: PathBuf,
    open: Arc<OwnedFd>,
}

impl HeldDirectory {
    /// Finds and opens a directory.
    ///
    /// # Errors
    /// A link of another user, or the system's error.
    pub fn find(path: &Path) -> Result<Self, OutputRefusal> {
        Self::of(open(path)?, || path.canonicalize()).map_err(OutputRefusal::Io)
    }

    /// Opens a directory in it. A symbolic link of this name is not followed.
    ///
    /// # Errors
    /// The system's; of a link that it is not a directory.
    pub fn inside(&self, name: &OsStr) -> io::Result<Self> {
        let open = openat(&*self.open, name, FOUND | OFlags::DIRECTORY, Mode::empty())?;
        Self::of(open, || Ok(self.real.join(name)))
    }

    fn of(open: OwnedFd, named: impl FnOnce() -> io::Result<PathBuf>) -> io::Result<Self> {
        let is_it = |path: &Path| is_same(path, &open);
        let real = descriptor::name(&open).ok().filter(|name| name.is_absolute() && is_it(name));
        let real = match real {
            Some(real) => real,
            None => named()?,
        };
        let sure = Some(descriptor::path(&open)).filter(|sure| is_it(sure)).unwrap_or_else(|| real.clone());
        Ok(Self { real, sure, open: Arc::new(open) })
    }

    /// Its path, for people and for comparisons.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The path for system calls. It means something else in other processes.
    pub fn sure(&self) -> &Path {
        &self.sure
    }
}

/// Whether a directory is world-writable, but for files of others.
pub(crate) fn is_sticky_for_all(directory: &Stat) -> bool {
    directory.st_mode & STICKY_FOR_ALL == STICKY_FOR_ALL
}

fn is_same(path: &Path, directory: &OwnedFd) -> bool {
    let number = |found: Stat| (found.st_dev, found.st_ino);
    stat(path).map(number).ok() == fstat(directory).map(number).ok()
}

fn open(path: &Path) -> Result<OwnedFd, OutputRefusal> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // From Linux 5.6 on, where no filter of system calls forbids it: without links there is nothing to be asked.
    if let Ok(open) = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        return Ok(open);
    }
    let mut walk = Walk { here: start(path)?, path: PathBuf::new(), links_left: MOST_LINKS };
    walk.go(path)?;
    Ok(walk.here)
}

/// Where a path begins.
fn start(path: &Path) -> Result<OwnedFd, OutputRefusal> {
    let start = if path.is_absolute() { "/" } else { "." };
    openat(CWD, start, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(refused)
}

fn refused(errno: Errno) -> OutputRefusal {
    OutputRefusal::Io(errno.into())
}

/// A walk along a path.
struct Walk {
    here: OwnedFd,
    /// The way until here, for messages.
    path: PathBuf,
    links_left: usize,
}

impl Walk {
    fn go(&mut self, path: &Path) -> Result<(), OutputRefusal> {
        let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
        if path.is_absolute() {
            self.path = PathBuf::from("/");
        }
        names.map(OsStr::from_bytes).try_for_each(|name| self.step(name))
    }

    fn step(&mut self, name: &OsStr) -> Result<(), OutputRefusal> {
        self.path.push(name);
        // With O_DIRECTORY, so that what mounts itself is mounted (autofs).
        match openat(&self.here, name, FOUND | OFlags::DIRECTORY, Mode::empty()) {
            Ok(next) => {
                self.here = next;
                Ok(())
            }
            Err(Errno::NOTDIR | Errno::LOOP) => self.follow(name),
            Err(errno) => Err(refused(errno)),
        }
    }

    /// Follows a name that is not that of a directory: a link.
    fn follow(&mut self, name: &OsStr) -> Result<(), OutputRefusal> {
        let link = openat(&self.here, name, FOUND, Mode::empty()).map_err(refused)?;
        let found = fstat(&link).map_err(refused)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
            return Err(refused(Errno::NOTDIR));
        }
        // The text of the kernel's own links to open files is not where they lead (proc_pid_fd(5)).
        if fstatfs(&self.here).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.here = openat(&self.here, name, flags, Mode::empty()).map_err(refused)?;
            return Ok(());
        }
        self.links_left = self.links_left.checked_sub(1).ok_or_else(|| refused(Errno::LOOP))?;
        let directory = fstat(&self.here).map_err(refused)?;
        let own = geteuid();
        if is_sticky_for_all(&directory) && ![directory.st_uid, own.as_raw()].contains(&found.st_uid) {
            return Err(OutputRefusal::LinkOfAnotherUser(self.path.clone()));
        }
        let text = readlinkat(&link, "", Vec::new()).map_err(refused)?;
        let target = PathBuf::from(OsString::from_vec(text.into_bytes()));
        let shown = self.path.clone();
        if target.is_absolute() {
            self.here = start(&target)?;
        } else {
            self.path.pop();
        }
        self.go(&target)?;
        let led_to = fstat(&self.here).map_err(refused)?;
        if own.is_root() && master(&directory, &found).is_some_and(|master| master != led_to.st_uid) {
            return Err(OutputRefusal::LinkLeadsOut(shown));
        }
        self.path = shown;
        Ok(())
    }
}

/// The user besides root who can choose where a link in a directory leads, if there is one.
fn master(directory: &Stat, link: &Stat) -> Option<u32> {
    [directory.st_uid, link.st_uid].into_iter().find(|user| *user != 0)
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir, metadata};
    use std::os::unix::fs::{MetadataExt, lchown, symlink};

    use super::*;

    const ANOTHER: u32 = 65534;

    /// Where a path leads, by its inode; the refused link otherwise.
    fn found(path: &Path) -> Result<u64, PathBuf> {
        match HeldDirectory::find(path) {
            Ok(held) => Ok(metadata(held.sure()).unwrap().ino()),
            Err(OutputRefusal::LinkLeadsOut(link) | OutputRefusal::LinkOfAnotherUser(link)) => Err(link),
            Err(other) => panic!("{}: {other}", path.display()),
        }
    }

    #[test]
    fn every_way_leads_where_the_kernel_goes() {
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        create_dir(at("one")).unwrap();
        create_dir(at("one/two")).unwrap();
        symlink("one", at("near")).unwrap();
        symlink(at("one/two"), at("far")).unwrap();
        symlink("near/two/../two", at("winding")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for name in ["one", "one/", "one/./two", "near", "near/two", "far", "far/..", "winding/.", "one/two/../../near"]
        {
            assert_eq!(found(&at(name)), Ok(metadata(at(name)).unwrap().ino()), "{name}");
            let held = HeldDirectory::find(&at(name)).unwrap();
            assert_eq!(held.real(), at(name).canonicalize().unwrap());
        }
        for path in [".", "..", "/"].map(Path::new) {
            assert_eq!(found(path), Ok(metadata(path).unwrap().ino()), "{}", path.display());
        }
        std::fs::write(at("file"), "").unwrap();
        for name in ["none", "file", "loop", "file/..", "near/none"] {
            let own = HeldDirectory::find(&at(name)).unwrap_err();
            let OutputRefusal::Io(own) = own else { panic!("{own}") };
            let kernels = std::fs::read_dir(at(name)).unwrap_err();
            assert_eq!(own.raw_os_error(), kernels.raw_os_error(), "{name}");
        }
    }

    #[test]
    fn a_link_in_it_is_not_followed() {
        let scene = tempfile::tempdir().unwrap();
        create_dir(scene.path().join("one")).unwrap();
        symlink("one", scene.path().join("link")).unwrap();
        let held = HeldDirectory::find(scene.path()).unwrap();
        let inside = held.inside(OsStr::new("one")).unwrap();
        assert_eq!(metadata(inside.sure()).unwrap().ino(), metadata(scene.path().join("one")).unwrap().ino());
        assert_eq!(inside.real(), scene.path().canonicalize().unwrap().join("one"));
        assert_eq!(held.inside(OsStr::new("link")).unwrap_err().kind(), io::ErrorKind::NotADirectory);
    }

    #[test]
    fn it_stays_the_same_when_its_name_is_taken() {
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        create_dir(at("one")).unwrap();
        create_dir(at("two")).unwrap();
        let held = HeldDirectory::find(&at("one")).unwrap();
        std::fs::rename(at("one"), at("was")).unwrap();
        symlink("two", at("one")).unwrap();
        std::fs::write(held.sure().join("file"), "").unwrap();
        assert!(at("was/file").exists() && !at("two/file").exists());
    }

    #[test]
    fn root_is_not_led_out_of_another_users_directory() {
        // Only root can make files of another user.
        if !coldstart_testing::is_root() {
            return;
        }
        let scene = tempfile::tempdir().unwrap();
        let at = |name: &str| scene.path().join(name);
        let give = |name: &str| lchown(at(name), Some(ANOTHER), Some(ANOTHER)).unwrap();
        for name in ["roots", "theirs", "theirs/inner", "theirs/of root"] {
            create_dir(at(name)).unwrap();
        }
        symlink(at("roots"), at("theirs/out")).unwrap();
        symlink(at("roots"), at("theirs/out by root")).unwrap();
        symlink("inner", at("theirs/in")).unwrap();
        symlink("out", at("theirs/in two steps")).unwrap();
        symlink("theirs/out", at("by another")).unwrap();
        symlink("theirs/inner", at("to them")).unwrap();
        ["theirs", "theirs/inner", "theirs/out", "theirs/in", "theirs/in two steps"].into_iter().for_each(give);
        for name in ["theirs/inner", "theirs/of root", "theirs/in", "to them", "theirs/inner/../.."] {
            assert_eq!(found(&at(name)), Ok(metadata(at(name)).unwrap().ino()), "{name}");
        }
        assert_eq!(found(&at("theirs/out")), Err(at("theirs/out")));
        assert_eq!(found(&at("theirs/out by root")), Err(at("theirs/out by root")));
        assert_eq!(found(&at("theirs/in two steps")), Err(at("theirs/out")));
        assert_eq!(found(&at("by another")), Err(at("theirs/out")));
    }
}
