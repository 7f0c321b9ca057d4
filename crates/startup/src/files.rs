//! The files of a root, as the loader's rules access them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use coldstart_elf::{ElfError, ElfFile, FileType};
use coldstart_host::rights::AskedRights;
use coldstart_loader::dlopen_notes::dlopen_texts;
use coldstart_loader::{Fault, FileSystem, Glance, Identity, ObjectFacts, Probe};
use coldstart_sys::file_view::FileView;
use rustix::fs::Stat;

use crate::Root;
use crate::root::identity;

/// Size limit of a configuration file or loader cache in bytes. A cache for all libraries of a host is below 1 MiB.
const MOST_CONTENT: u64 = 256 << 20;
/// `DF_1_PIE` of `DT_FLAGS_1` (`elf.h`): the object is a program, whatever its type says.
const POSITION_INDEPENDENT_PROGRAM: u64 = 0x0800_0000;

/// The kind of a program for a loader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// Has an interpreter, or needs libraries.
    Dynamic,
    /// Started by the kernel without a loader. May be position-independent.
    Static,
    /// Has no interpreter: a library, or a loader itself.
    Library,
}

/// An examined object file.
#[derive(Clone, Debug)]
pub struct ObjectFile {
    /// The file's identity.
    pub identity: Identity,
    /// The facts that the loader uses.
    pub facts: ObjectFacts,
    /// Its kind if it is the program.
    pub kind: ProgramKind,
    /// Whether its mode or capabilities cause secure mode (`AT_SECURE`).
    pub gains_rights: bool,
}

/// The files as a loader with a root and a current directory sees them. [`FileSystem`] results are current: nothing is cached.
#[derive(Debug)]
pub struct Files {
    root: Root,
    /// The base of relative paths, if it is not this process's current directory.
    start: Option<PathBuf>,
    /// The program, if it is outside the root: its path as the loader sees it, and on this host.
    program: Option<(PathBuf, PathBuf)>,
    host: Root,
    /// Texts of dlopen notes, of every examined object.
    dlopen_texts: Mutex<HashMap<Identity, Vec<Vec<u8>>>>,
}

impl Files {
    /// The files of a root. Relative paths begin in `start`, by default in this process's current directory or a sysroot's root.
    pub fn new(root: Root, start: Option<PathBuf>) -> Self {
        let start = start.or_else(|| root.sysroot().map(|_| PathBuf::from("/")));
        Self { root, start, program: None, host: Root::host(), dlopen_texts: Mutex::default() }
    }

    /// The files of this host with this process's current directory.
    pub fn host() -> Self {
        Self::new(Root::host(), None)
    }

    /// Their root.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The base of relative paths, as seen from inside.
    pub fn current_directory(&self) -> PathBuf {
        self.start.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }

    /// Maps the path `seen` to the host's file `place`, relative to this process's current directory.
    pub(crate) fn name_program(&mut self, seen: PathBuf, place: PathBuf) {
        self.program = Some((seen, place));
    }

    /// The root for a path, and the path inside it.
    fn at<'a>(&'a self, path: &'a Path) -> (&'a Root, Cow<'a, Path>) {
        if let Some((_, place)) = self.program.as_ref().filter(|(seen, _)| seen == path) {
            return (&self.host, Cow::Borrowed(place));
        }
        match &self.start {
            Some(start) if path.is_relative() => (&self.root, Cow::Owned(start.join(path))),
            _ => (&self.root, Cow::Borrowed(path)),
        }
    }

    /// Examines the file of a program or library.
    ///
    /// # Errors
    /// `InvalidData` if the file is not an object; for others see [`Root::open_regular`].
    pub fn object_file(&self, path: &Path) -> io::Result<ObjectFile> {
        let (file, stat) = self.open(path)?;
        let (facts, file_type, dynamic_flags) = match glance(&file, &stat) {
            Some(glance) if matches!(glance.facts.fault, None | Some(Fault::Mapping(_))) => {
                (glance.facts, glance.file_type, glance.dynamic_flags)
            }
            _ => whole(&file)?,
        };
        if !matches!(file_type, FileType::Dynamic | FileType::Executable) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "neither a program nor a shared object"));
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
        let by_mode = AskedRights::of_mode(stat.st_mode, stat.st_uid, stat.st_gid).any();
        let by_capabilities = || rustix::fs::fgetxattr(&file, "security.capability", &mut [0_u8; 64]).is_ok();
        Ok(ObjectFile { identity: identity(&stat), facts, kind, gains_rights: by_mode || by_capabilities() })
    }

    fn probe(&self, path: &Path) -> io::Result<Probe> {
        let (file, stat) = self.open(path)?;
        let identity = identity(&stat);
        let set_user_id = stat.st_mode & 0o4000 != 0;
        let (probe, texts) = match glance(&file, &stat) {
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

    /// The identity of the file at a path, if there is one.
    pub fn identity(&self, path: &Path) -> Option<Identity> {
        let (root, path) = self.at(path);
        root.identity(&path).ok()
    }

    /// The texts of an object's dlopen notes; none for an object that was not examined.
    pub fn dlopen_texts(&self, identity: Identity) -> Vec<Vec<u8>> {
        let texts = self.dlopen_texts.lock().unwrap_or_else(PoisonError::into_inner);
        texts.get(&identity).cloned().unwrap_or_default()
    }

    /// A file's bytes, mapped.
    ///
    /// # Errors
    /// See [`Root::map`].
    pub fn view(&self, path: &Path) -> io::Result<FileView> {
        FileView::map(self.open(path)?.0)
    }

    /// The content of a configuration file.
    ///
    /// # Errors
    /// See [`Root::read`].
    pub fn content(&self, path: &Path) -> io::Result<Vec<u8>> {
        let (root, path) = self.at(path);
        root.read(&path, MOST_CONTENT)
    }

    /// Opens a regular file.
    pub(crate) fn open(&self, path: &Path) -> io::Result<(File, Stat)> {
        let (root, path) = self.at(path);
        root.open_regular(&path)
    }
}

impl FileSystem for Files {
    fn object(&self, path: &Path) -> Probe {
        match self.probe(path) {
            Ok(probe) => probe,
            Err(error) => match error.kind() {
                // The loader would open a directory, a pipe or a device, too, and then reject its content.
                io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => Probe::NotAnObject(error.to_string()),
                kind => Probe::Absent(kind),
            },
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        let (root, path) = self.at(path);
        root.is_directory(&path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let (root, path) = self.at(path);
        let real = root.real_path(&path).ok()?;
        // A link outside the root may point to a program inside.
        let is_host_path = root.sysroot().is_none();
        let seen = is_host_path.then(|| self.root.inside(&real).map(Cow::into_owned)).flatten();
        Some(seen.unwrap_or(real))
    }
}

/// Reads only a few pieces of a file, which nearly always suffice.
fn glance(file: &File, stat: &Stat) -> Option<Glance> {
    Glance::of(u64::try_from(stat.st_size).ok()?, |buffer, offset| file.read_at(buffer, offset))
}

/// The same from the whole file: the facts that the loader uses, `e_type`, `DT_FLAGS_1`.
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
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file was truncated while it was read"));
    }
    Ok((facts, file_type, dynamic_flags))
}
