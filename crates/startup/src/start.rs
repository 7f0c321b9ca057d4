//! A simulated start: a program, a root and conditions; what would be loaded, and by which rule.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, FoundBy, LoadedObject, resolve};

use crate::{Conditions, Files, ProgramKind, Root, StartError, Surroundings, program};

/// Where a program is thought to start, and how. The default is a start from here, now.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// Where absolute paths begin, those of symbolic links too. Paths in answers are as seen from inside.
    pub sysroot: Option<PathBuf>,
    /// The directory of the start, as seen from inside; without it ours, and `/` in a sysroot.
    pub current_directory: Option<PathBuf>,
    /// Everything else.
    pub conditions: Conditions,
}

/// A start that is worked out and not made.
#[derive(Debug)]
pub struct SimulatedStart {
    /// The program as the loader sees it: from inside the sysroot.
    pub program: PathBuf,
    /// What it is to a loader.
    pub kind: ProgramKind,
    /// Its loader, with what that reads before any library.
    pub surroundings: Surroundings,
    /// The files as the loader sees them.
    pub files: Files,
}

impl SimulatedStart {
    /// Finds the program that was typed, its loader, and what that loader reads before any library.
    ///
    /// On this host the program is a path, and a name without a slash a file in the current directory; `PATH` is the caller's
    /// matter. In a sysroot such a name may also be that of a program in the usual directories.
    ///
    /// # Errors
    /// If there is no such program or sysroot, or it is no ELF object that a loader takes. A loader that is not there is no error
    /// yet: [`Self::closure`] tells.
    pub fn new(typed: &Path, options: &StartOptions) -> Result<Self, StartError> {
        let mut files = files(options)?;
        let program = program::find(typed, &mut files)?;
        let object = program::read(&program, &files)?;
        let surroundings = Surroundings::of(&object, &files, &options.conditions);
        Ok(Self { program, kind: object.kind, surroundings, files })
    }

    /// What the program loads: itself alone when it is static, or is its own loader.
    ///
    /// # Errors
    /// If the loader is not there or is not for this program.
    pub fn closure(&self) -> Result<Closure, coldstart_loader::Error> {
        if self.loads_nothing() {
            return Ok(self.alone());
        }
        resolve(&self.program, &self.files, &self.surroundings.environment)
    }

    /// Whether nothing is searched for this program, whatever stands elsewhere.
    pub fn loads_nothing(&self) -> bool {
        self.kind == ProgramKind::Static || self.is_its_own_loader()
    }

    /// Whether the program is the very loader that would load it.
    pub fn is_its_own_loader(&self) -> bool {
        let loader = self.surroundings.interpreter.as_deref().and_then(|path| self.files.identity(path));
        loader.is_some() && loader == self.files.identity(&self.program)
    }

    fn alone(&self) -> Closure {
        let object = self.files.object_file(&self.program).ok();
        let (identity, facts) = object.map(|object| (object.identity, object.facts)).unwrap_or_default();
        let object = LoadedObject {
            path: self.program.clone(),
            name_asked: self.program.as_os_str().as_bytes().to_vec(),
            found_by: FoundBy::Program,
            requester: None,
            preloaded: false,
            in_scope: true,
            identity,
            facts,
        };
        Closure { objects: vec![object], ..Closure::default() }
    }
}

/// The files in the sysroot, or of this host, as seen from the directory of the start.
fn files(options: &StartOptions) -> Result<Files, StartError> {
    let root = Root::open(options.sysroot.as_deref())?;
    let Some(directory) = &options.current_directory else { return Ok(Files::new(root, None)) };
    let start = root.absolute(directory).map_err(StartError::NoCurrentDirectory)?;
    if let Err(source) = root.check_directory(&start) {
        let directory = match root.sysroot() {
            Some(sysroot) => sysroot.join(start.strip_prefix("/").unwrap_or(&start)),
            None => start,
        };
        return Err(StartError::CurrentDirectory { directory, source });
    }
    Ok(Files::new(root, Some(start)))
}
