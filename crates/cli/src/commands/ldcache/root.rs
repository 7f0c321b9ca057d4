//! Files as seen from inside a sysroot: a link to `/usr/lib` in it leads to the `/usr/lib` in it.
//!
//! The kernel does it (`openat2` with `RESOLVE_IN_ROOT`), so that no link, however made, leads out.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_app::reading::directory;
use coldstart_elf::{ElfError, ElfFile, FileType};
use coldstart_loader::cache::{Folders, Library, Listed, NoLibrary};
use coldstart_loader::{FileSystem, Identity, ObjectFacts, Probe};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{NamedFile, read_to_limit};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// The root of a tree of files.
#[derive(Debug)]
pub(super) struct Root {
    inside: Option<(PathBuf, OwnedFd)>,
}

impl Root {
    /// The machine's own root, or that of a sysroot.
    pub(super) fn open(sysroot: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = sysroot else { return Ok(Self { inside: None }) };
        let failed = || format!("cannot use the sysroot `{}`", printable(path));
        directory("the sysroot", path)?;
        let path = std::path::absolute(path).with_context(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&path, flags, Mode::empty()).map_err(io::Error::from).with_context(failed)?;
        if let Err(Errno::NOSYS) = rustix::fs::openat2(&folder, ".", flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            return Err(anyhow::anyhow!("this kernel cannot look files up inside a sysroot (openat2)"))
                .hint(|| "Linux 5.6 or later can; without it, enter the sysroot by `chroot` and leave --sysroot out");
        }
        Ok(Self { inside: Some((path, folder)) })
    }

    /// The sysroot's path; none for the machine's own root.
    pub(super) fn sysroot(&self) -> Option<&Path> {
        self.inside.as_ref().map(|(path, _)| path.as_path())
    }

    /// Opens a path as seen from inside.
    fn open_inside(&self, path: &[u8], flags: OFlags) -> io::Result<File> {
        // With O_PATH nothing is opened that could make us wait, and openat2 refuses what makes no difference.
        let waiting = if flags.contains(OFlags::PATH) { OFlags::empty() } else { OFlags::NONBLOCK };
        let flags = flags | OFlags::CLOEXEC | waiting;
        let Some((_, root)) = &self.inside else {
            return Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?));
        };
        // A rename anywhere on the machine makes the kernel ask for another try when there is a `..` in the path.
        for _ in 0..32 {
            match rustix::fs::openat2(root.as_fd(), path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                Ok(file) => return Ok(File::from(file)),
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Errno::AGAIN.into())
    }

    /// Opens a regular file.
    pub(super) fn file(&self, path: &[u8]) -> io::Result<File> {
        Ok(self.regular(path)?.open(OFlags::empty())?.0)
    }

    fn regular(&self, path: &[u8]) -> io::Result<NamedFile<'static>> {
        NamedFile::of_handle(self.open_inside(path, OFlags::PATH)?.into())?.regular()
    }

    /// A file's content.
    pub(super) fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let (file, stat) = self.regular(path)?.open(OFlags::empty())?;
        read_to_limit(file, u64::try_from(stat.st_size).unwrap_or(0), super::LARGEST_CACHE)
    }

    /// Which file or folder a path leads to.
    pub(super) fn identity(&self, path: &[u8]) -> io::Result<Identity> {
        let metadata = self.open_inside(path, OFlags::PATH)?.metadata()?;
        Ok(Identity { device: metadata.dev(), inode: metadata.ino() })
    }

    /// Whether a path leads to a folder; the error says what it is instead.
    pub(super) fn check_folder(&self, path: &[u8]) -> io::Result<()> {
        NamedFile::of_handle(self.open_inside(path, OFlags::PATH)?.into())?.directory().map(|_| ())
    }

    /// Whether a path leads to a folder.
    pub(super) fn is_folder(&self, path: &[u8]) -> bool {
        self.open_inside(path, OFlags::PATH | OFlags::DIRECTORY).is_ok()
    }

    /// The path as the loader's rules name it to the file system, for one as seen from inside.
    pub(super) fn outside(&self, inside: &[u8]) -> PathBuf {
        let path = super::path(inside);
        self.sysroot().map_or(path.to_owned(), |sysroot| sysroot.join(path.strip_prefix("/").unwrap_or(path)))
    }

    /// The path as seen from inside, for one that the loader's rules name from outside.
    fn inside<'a>(&self, path: &'a Path) -> &'a [u8] {
        let stripped = self.sysroot().and_then(|sysroot| path.strip_prefix(sysroot).ok());
        stripped.unwrap_or(path).as_os_str().as_bytes()
    }
}

impl Folders for Root {
    fn folder(&self, path: &[u8]) -> Option<Identity> {
        if self.is_folder(path) { self.identity(path).ok() } else { None }
    }

    fn list(&self, path: &[u8]) -> io::Result<Vec<(Vec<u8>, Listed)>> {
        let folder = self.open_inside(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == rustix::fs::FileType::Unknown {
                let status = rustix::fs::statat(&folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
                kind = rustix::fs::FileType::from_raw_mode(status.st_mode);
            }
            let listed = match kind {
                rustix::fs::FileType::RegularFile => Listed::File,
                rustix::fs::FileType::Symlink => Listed::Link,
                rustix::fs::FileType::Directory => Listed::Folder,
                _ => Listed::Other,
            };
            names.push((name.to_bytes().to_vec(), listed));
        }
        Ok(names)
    }

    fn library(&self, path: &[u8]) -> Result<Library, NoLibrary> {
        let opened = self.file(path).and_then(|file| FileView::map(&file));
        let view = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => NoLibrary::Missing,
            io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => NoLibrary::NotElf,
            // Links that lead in a circle.
            _ if Errno::from_io_error(&error) == Some(Errno::LOOP) => NoLibrary::Missing,
            _ => NoLibrary::Unreadable(error.to_string()),
        })?;
        let library = Library::read(view.bytes());
        if view.shrank() {
            return Err(NoLibrary::Unreadable("it became shorter while it was read".to_owned()));
        }
        library
    }
}

impl FileSystem for Root {
    fn object(&self, path: &Path) -> Probe {
        let looked = self.file(self.inside(path)).and_then(|file| {
            let metadata = file.metadata()?;
            let view = FileView::map(&file)?;
            let facts = facts(view.bytes());
            if view.shrank() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok((Identity { device: metadata.dev(), inode: metadata.ino() }, facts))
        });
        match looked {
            Ok((identity, Ok(facts))) => Probe::Object { identity, facts },
            Ok((_, Err(reason))) => Probe::NotAnObject(reason),
            Err(error) => match error.kind() {
                io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                    Probe::NotAnObject(error.to_string())
                }
                kind => Probe::Absent(kind),
            },
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.is_folder(self.inside(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let found = self.open_inside(self.inside(path), OFlags::PATH).ok()?;
        let place = std::fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&found))).ok()?;
        match self.sysroot() {
            // The kernel tells the path from outside, and so it is asked back.
            Some(sysroot) => Some(Path::new("/").join(place.strip_prefix(sysroot.canonicalize().ok()?).ok()?)),
            None => Some(place),
        }
    }
}

/// What a loader looks at in a file, or why it would not take it.
fn facts(bytes: &[u8]) -> Result<ObjectFacts, String> {
    let told = |error: ElfError| error.to_string();
    let file = ElfFile::parse(bytes).map_err(told)?;
    match file.header().file_type {
        FileType::Dynamic | FileType::Executable => ObjectFacts::of(&file).map_err(told),
        _ => Err("it is no shared object".to_owned()),
    }
}
