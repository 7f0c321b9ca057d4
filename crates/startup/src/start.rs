//! A simulated start: which files a program would load under given conditions, and by which rule.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, FoundBy, LoadedObject, resolve};

use crate::{Conditions, Files, ProgramKind, Root, StartError, Surroundings, program};

/// The options of a simulated start. The default is a start by this process on this machine.
#[derive(Clone, Debug, Default)]
pub struct StartOptions {
    /// The root of absolute paths, including those in symbolic links. Paths in results are as seen from inside.
    pub sysroot: Option<PathBuf>,
    /// The current directory, as seen from inside; by default this process's, and `/` in a sysroot.
    pub current_directory: Option<PathBuf>,
    /// The other conditions.
    pub conditions: Conditions,
}

/// A simulated start.
#[derive(Debug)]
pub struct SimulatedStart {
    /// The program as the loader sees it: from inside the sysroot.
    pub program: PathBuf,
    /// Its kind.
    pub kind: ProgramKind,
    /// Its loader and the files that the loader reads before any library.
    pub surroundings: Surroundings,
    /// The files as the loader sees them.
    pub files: Files,
}

impl SimulatedStart {
    /// Finds the program, its loader, and the files that the loader reads before any library.
    ///
    /// On this host the program is a path, and a name without a slash is a file in the current directory; the caller searches
    /// `PATH`. In a sysroot such a name is also looked up in the usual directories.
    ///
    /// # Errors
    /// If there is no such program or sysroot, or the file is not a loadable ELF object. A missing loader is reported by
    /// [`Self::closure`].
    pub fn new(typed: &Path, options: &StartOptions) -> Result<Self, StartError> {
        let mut files = files(options)?;
        let program = program::find(typed, &mut files)?;
        let object = program::read(&program, &files)?;
        let surroundings = Surroundings::of(&object, &files, &options.conditions);
        Ok(Self { program, kind: object.kind, surroundings, files })
    }

    /// The objects that the program loads: only itself if it is static or a loader.
    ///
    /// # Errors
    /// If the loader is not there or is not for this program.
    pub fn closure(&self) -> Result<Closure, coldstart_loader::Error> {
        if self.loads_nothing() {
            return Ok(self.alone());
        }
        resolve(&self.program, &self.files, &self.surroundings.environment)
    }

    /// Whether the program loads nothing in any environment.
    pub fn loads_nothing(&self) -> bool {
        self.kind == ProgramKind::Static || self.is_its_own_loader()
    }

    /// Whether the program is its own loader.
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

/// The files in the sysroot or of this host, with the start's current directory.
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
