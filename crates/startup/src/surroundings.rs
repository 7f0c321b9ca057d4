//! What the loader reads before any library: its own build parameters, its cache, preload lists and search directories.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Environment, LoaderBuild, ObjectFacts, Rules, Start};

use crate::{Files, Levels, ObjectFile, ProgramKind, loader_of};

/// What a start inherits from this process's environment and from the system configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inherit {
    /// `LD_LIBRARY_PATH` and `LD_PRELOAD` of this process, unless others are given (none in a sysroot), and the libraries in
    /// the root's /etc/ld.so.preload.
    #[default]
    All,
    /// None of these.
    Nothing,
}

/// The conditions of a simulated start. The default is a start by this process on this machine.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The loader, as seen from inside, run as `LOADER PROGRAM`. By default the program's interpreter, or for a library the
    /// root's loader.
    pub interpreter: Option<PathBuf>,
    /// `LD_LIBRARY_PATH`.
    pub ld_library_path: Option<OsString>,
    /// `LD_PRELOAD`.
    pub ld_preload: Option<OsString>,
    /// Whether the environment and /etc/ld.so.preload count.
    pub inherit: Inherit,
    /// The processor.
    pub levels: Levels,
    /// Ignore the loader's cache.
    pub inhibit_cache: bool,
    /// Whether the program runs in secure mode. By default as the file's mode and capabilities imply.
    pub secure: Option<bool>,
}

/// The loader of a program and the files it reads.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The loader's file, as seen from inside; `None` for a static program.
    pub interpreter: Option<PathBuf>,
    /// The loader's build parameters; empty if there is no loader or it is unreadable.
    pub build: LoaderBuild,
    /// The loader's cache as seen from inside, if it exists and is not ignored.
    pub cache_file: Option<PathBuf>,
    /// Why the cache file is treated as empty.
    pub cache_problem: Option<String>,
    /// The input to the loader's rules.
    pub environment: Environment,
}

impl Surroundings {
    /// Collects what a program's loader reads in a root. Unreadable files are omitted; [`coldstart_loader::resolve`] then reports
    /// what is missing.
    pub fn of(program: &ObjectFile, files: &Files, conditions: &Conditions) -> Self {
        let facts = &program.facts;
        let interpreter = match (&conditions.interpreter, program.kind) {
            (_, ProgramKind::Static) => None,
            (Some(given), _) => Some(given.clone()),
            (None, _) => loader_of(facts, files.root()),
        };
        let start = if conditions.interpreter.is_some() || program.kind == ProgramKind::Library {
            Start::Loader
        } else {
            Start::Kernel
        };
        let environment = Environment {
            current_directory: files.current_directory(),
            platform: conditions.levels.platform(facts),
            interpreter: interpreter.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()),
            start,
            secure: conditions.secure.unwrap_or(program.gains_rights),
            ld_library_path: conditions.variable(&conditions.ld_library_path, "LD_LIBRARY_PATH", files),
            ld_preload: conditions.variable(&conditions.ld_preload, "LD_PRELOAD", files),
            ..Environment::default()
        };
        let mut surroundings = Self { interpreter, environment, ..Self::default() };
        surroundings.read_loader(facts, files, conditions);
        surroundings
    }

    /// The loader's build parameters, and the files that such a loader reads.
    fn read_loader(&mut self, facts: &ObjectFacts, files: &Files, conditions: &Conditions) {
        let loader = self.interpreter.as_ref().and_then(|path| files.view(path).ok());
        self.build = loader.map(|view| LoaderBuild::read(view.bytes())).unwrap_or_default();
        self.build.apply(&mut self.environment);
        self.environment.hwcaps = conditions.levels.hwcaps(self.build.release, facts);
        match self.build.rules {
            Rules::Musl => self.environment.musl_path_file = self.musl_path_file(files),
            Rules::Glibc => {
                if conditions.inherit == Inherit::All {
                    self.environment.preload_file = files.content(Path::new("/etc/ld.so.preload")).ok();
                }
                let place = self.build.cache_path.clone().filter(|_| !conditions.inhibit_cache);
                self.cache_file = place.map(|place| PathBuf::from(OsString::from_vec(place)));
                match self.cache_file.as_deref().map(|path| read_cache(path, files)) {
                    Some(Ok(cache)) => self.environment.cache = cache,
                    Some(Err(problem)) => self.cache_problem = Some(problem),
                    None => {}
                }
            }
        }
    }

    /// The content of musl's path file. Its name is compiled into the loader. A loader outside /lib has its own `etc` next to
    /// its directory (ldso/dynlink.c, `load_library`).
    fn musl_path_file(&self, files: &Files) -> Option<Vec<u8>> {
        let name = self.build.musl_path_file.as_deref()?;
        let interpreter = self.interpreter.as_deref().filter(|path| path.is_absolute());
        let above = interpreter.and_then(|path| path.parent()?.parent());
        let prefix = above.map(|above| above.as_os_str().as_bytes()).filter(|prefix| *prefix != b"/");
        let path = [prefix.unwrap_or_default(), name].concat();
        match files.content(Path::new(OsStr::from_bytes(&path))) {
            Ok(content) => Some(content),
            // musl searches no directory if the file exists but is unreadable.
            Err(error) if error.kind() != io::ErrorKind::NotFound => Some(Vec::new()),
            Err(_) => None,
        }
    }
}

impl Conditions {
    /// The given value of a variable, or this process's.
    fn variable(&self, given: &Option<OsString>, name: &str, files: &Files) -> Option<Vec<u8>> {
        let counts = self.inherit == Inherit::All && files.root().sysroot().is_none();
        let ours = || if counts { std::env::var_os(name) } else { None };
        given.clone().or_else(ours).map(OsString::into_vec)
    }
}

/// The loader's cache; `None` without a file, which is not an error.
fn read_cache(path: &Path, files: &Files) -> Result<Option<LdSoCache>, String> {
    match files.content(path) {
        Ok(bytes) => LdSoCache::parse_owned(bytes).map(Some).map_err(|problem| problem.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
