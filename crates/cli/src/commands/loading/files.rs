//! The files as a loader in a given root and directory sees them.
//!
//! A link in a sysroot leads to a place in the sysroot, also when it is absolute: the kernel would follow it so after
//! `chroot`. So links are followed here, one by one.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use coldstart_app::reading::directory;
use coldstart_elf::{ElfError, ElfFile, FileType};
use coldstart_loader::dlopen_notes::dlopen_texts;
use coldstart_loader::{Fault, FileSystem, Glance, Identity, ObjectFacts, Probe};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{open_regular, read_regular};

use super::{LoadingOptions, ProgramKind};
use crate::error::CliError;
use crate::output::path::printable;

/// Links that are followed before the kernel calls it a loop (`MAXSYMLINKS`, include/linux/namei.h).
const MAX_LINKS: usize = 40;
/// A configuration file that is longer than this is none.
const MAX_CONTENT: u64 = 64 << 20;
/// `DF_1_PIE` of `DT_FLAGS_1` (`elf.h`): the object is a program, whatever its type says.
const POSITION_INDEPENDENT_PROGRAM: u64 = 0x0800_0000;

/// The files as a loader sees them.
#[derive(Debug)]
pub(crate) struct Files {
    sysroot: Option<PathBuf>,
    /// Where relative paths begin, when it is not where we are.
    start: Option<PathBuf>,
    /// The program as the loader sees it, and where its file is.
    program: Option<(PathBuf, PathBuf)>,
    /// Texts of notes about libraries opened later, of every object that was looked at.
    dlopen_texts: Mutex<HashMap<Identity, Vec<Vec<u8>>>>,
}

/// What a loader and we look at in an object.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// Which file it is.
    pub(crate) identity: Identity,
    /// What the loader looks at.
    pub(crate) facts: ObjectFacts,
    /// What it is when it is the program.
    pub(crate) kind: ProgramKind,
    /// The file's mode lets the program gain rights; file capabilities are told by [`super::program::read`].
    pub(crate) gains_rights: bool,
}

impl Files {
    /// The files in a sysroot, or of this machine.
    pub(super) fn new(options: &LoadingOptions) -> Result<Self, CliError> {
        if let Some(sysroot) = &options.sysroot {
            directory("the sysroot", sysroot)?;
        }
        let sysroot = options.sysroot.as_ref().map(|path| path.canonicalize()).transpose().context("the sysroot")?;
        let start = match (&options.current_directory, &sysroot) {
            (Some(directory), Some(_)) => Some(Path::new("/").join(directory)),
            (Some(directory), None) => Some(std::path::absolute(directory)?),
            (None, Some(_)) => Some(PathBuf::from("/")),
            (None, None) => None,
        };
        let files = Self { sysroot, start, program: None, dlopen_texts: Mutex::default() };
        if let (Some(start), Some(_)) = (&files.start, &options.current_directory) {
            let place = files.on_disk(start).with_context(|| format!("cannot look up `{}`", printable(start)))?;
            directory("the current directory", &place)?;
        }
        Ok(files)
    }

    /// Where absolute paths begin, without links; none for this machine's root.
    pub(crate) fn sysroot(&self) -> Option<&Path> {
        self.sysroot.as_deref()
    }

    /// Where relative paths begin, as seen from inside.
    pub(super) fn current_directory(&self) -> PathBuf {
        self.start.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }

    /// From now on `seen` means the file at `place`.
    pub(super) fn name_program(&mut self, seen: PathBuf, place: PathBuf) {
        self.program = Some((seen, place));
    }

    /// Where a file is that the loader sees at `path`.
    ///
    /// # Errors
    /// If its links lead in circles.
    pub(crate) fn on_disk<'a>(&self, path: &'a Path) -> io::Result<Cow<'a, Path>> {
        if let Some((_, place)) = self.program.as_ref().filter(|(seen, _)| seen == path) {
            return Ok(Cow::Owned(place.clone()));
        }
        let path = match &self.start {
            Some(start) if path.is_relative() => Cow::Owned(start.join(path)),
            _ => Cow::Borrowed(path),
        };
        match &self.sysroot {
            None => Ok(path),
            Some(sysroot) => inside(sysroot, &path).map(|within| Cow::Owned(sysroot.join(within))),
        }
    }

    /// What the program is and says; of other objects likewise.
    ///
    /// # Errors
    /// `InvalidData` for what can be opened and is no object, `IsADirectory` for a directory.
    pub(crate) fn contents(&self, path: &Path) -> io::Result<Contents> {
        let (file, metadata) = self.open(path)?;
        let (facts, file_type, dynamic_flags) = match glance(&file, &metadata) {
            Some(glance) if matches!(glance.facts.fault, None | Some(Fault::Mapping(_))) => {
                (glance.facts, glance.file_type, glance.dynamic_flags)
            }
            _ => whole(&file)?,
        };
        if !matches!(file_type, FileType::Dynamic | FileType::Executable) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is neither a program nor a shared object"));
        }
        let marked = dynamic_flags.is_some_and(|flags| flags & POSITION_INDEPENDENT_PROGRAM != 0);
        let is_program = file_type == FileType::Executable || marked;
        let kind = match (&facts.interpreter, dynamic_flags) {
            (_, None) => ProgramKind::Static,
            (Some(_), _) => ProgramKind::Dynamic,
            (None, _) if !is_program => ProgramKind::Library,
            (None, _) if facts.needed.is_empty() => ProgramKind::Static,
            (None, _) => ProgramKind::Dynamic,
        };
        let mode = metadata.permissions().mode();
        // Set-group-ID means nothing without the group's right to execute.
        let gains_rights = mode & 0o4000 != 0 || mode & 0o2010 == 0o2010;
        Ok(Contents { identity: identity(&metadata), facts, kind, gains_rights })
    }

    fn probe(&self, path: &Path) -> io::Result<Probe> {
        let (file, metadata) = self.open(path)?;
        let identity = identity(&metadata);
        let set_user_id = metadata.mode() & 0o4000 != 0;
        let (probe, texts) = match glance(&file, &metadata) {
            Some(glance) => {
                let facts = ObjectFacts { set_user_id, ..glance.facts };
                (Probe::Object { identity, facts }, glance.dlopen_texts)
            }
            None => {
                let view = FileView::map(&file)?;
                let elf = ElfFile::parse(view.bytes()).ok();
                let texts = elf.iter().flat_map(dlopen_texts).map(<[u8]>::to_vec).collect();
                (Probe::of_content(view.bytes(), identity, set_user_id), texts)
            }
        };
        if !texts.is_empty() {
            self.dlopen_texts.lock().unwrap_or_else(PoisonError::into_inner).insert(identity, texts);
        }
        Ok(probe)
    }

    /// Which file stands at a path; none when there is none.
    pub(crate) fn identity(&self, path: &Path) -> Option<Identity> {
        let metadata = self.on_disk(path).ok()?.metadata().ok()?;
        Some(identity(&metadata))
    }

    /// The texts of an object's notes about libraries opened later; none for an object that was not looked at.
    pub(crate) fn dlopen_texts(&self, identity: Identity) -> Vec<Vec<u8>> {
        let texts = self.dlopen_texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(&identity).cloned().unwrap_or_default()
    }

    /// A file's bytes, mapped.
    pub(super) fn view(&self, path: &Path) -> io::Result<FileView> {
        open_regular(&self.on_disk(path)?).and_then(|file| FileView::map(&file))
    }

    /// What a configuration file holds.
    pub(super) fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_regular(&self.on_disk(path)?, MAX_CONTENT)
    }

    /// Opens a regular file.
    fn open(&self, path: &Path) -> io::Result<(File, Metadata)> {
        let file = open_regular(&self.on_disk(path)?)?;
        let metadata = file.metadata()?;
        Ok((file, metadata))
    }
}

impl FileSystem for Files {
    fn object(&self, path: &Path) -> Probe {
        match self.probe(path) {
            Ok(probe) => probe,
            Err(error) => match error.kind() {
                // The loader opens a directory, a pipe or a device, too, and then finds nothing in it that it takes.
                io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => Probe::NotAnObject(error.to_string()),
                kind => Probe::Absent(kind),
            },
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.on_disk(path).is_ok_and(|place| place.is_dir())
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let place = self.on_disk(path).ok()?.canonicalize().ok()?;
        match self.sysroot.as_ref().and_then(|sysroot| place.strip_prefix(sysroot).ok()) {
            Some(within) => Some(Path::new("/").join(within)),
            None => Some(place),
        }
    }
}

/// A look at a few pieces of a file, which nearly always do.
fn glance(file: &File, metadata: &Metadata) -> Option<Glance> {
    Glance::of(metadata.len(), |buffer, offset| file.read_at(buffer, offset))
}

/// The same from the whole file: what the loader looks at, `e_type`, `DT_FLAGS_1`.
fn whole(file: &File) -> io::Result<(ObjectFacts, FileType, Option<u64>)> {
    let invalid = |error: ElfError| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
    let view = FileView::map(file)?;
    let elf = ElfFile::parse(view.bytes()).map_err(invalid)?;
    let file_type = elf.header().file_type;
    let facts = match file_type {
        FileType::Dynamic | FileType::Executable => ObjectFacts::of(&elf).map_err(invalid)?,
        _ => ObjectFacts::default(),
    };
    let dynamic_flags = elf.dynamic().ok().flatten().map(|dynamic| dynamic.flags_1());
    if view.shrank() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it became shorter while it was read"));
    }
    Ok((facts, file_type, dynamic_flags))
}

fn identity(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// A path inside a root with every link replaced, relative to the root. What is not there stays as it is.
fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().map(|component| component.as_os_str().to_owned()).collect()
    };
    let mut rest: VecDeque<OsString> = parts(path).into();
    let (mut within, mut links) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                within.pop();
                continue;
            }
            Some(Component::Normal(_)) => within.push(&part),
            _ => continue,
        }
        match std::fs::read_link(root.join(&within)) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(rustix::io::Errno::LOOP.into());
                }
                within.pop();
                if target.is_absolute() {
                    within.clear();
                }
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            // It is no link.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(_) => {
                // There is nothing to go up from again.
                if rest.contains(&OsString::from("..")) {
                    return Err(io::ErrorKind::NotFound.into());
                }
                within.extend(rest);
                break;
            }
        }
    }
    Ok(within)
}

#[cfg(test)]
mod tests {
    use super::inside;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    #[test]
    fn links_stay_inside_the_root() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("usr/lib")).unwrap();
        symlink("/usr/lib", root.path().join("lib")).unwrap();
        symlink("../../../../lib/a.so.1", root.path().join("usr/lib/a.so")).unwrap();
        symlink("circle", root.path().join("circle")).unwrap();
        let within = |path: &str| inside(root.path(), Path::new(path)).ok();
        assert_eq!(within("/lib/a.so").as_deref(), Some(Path::new("usr/lib/a.so.1")));
        assert_eq!(within("/../../lib/./b.so").as_deref(), Some(Path::new("usr/lib/b.so")));
        assert_eq!(within("/nowhere/b.so").as_deref(), Some(Path::new("nowhere/b.so")));
        assert_eq!(within("/nowhere/../lib/b.so"), None);
        assert_eq!(within("/circle/x"), None);
    }
}
