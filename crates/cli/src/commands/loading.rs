//! What a start of a program depends on: which file it is, whose loader loads it, what variables and caches that loader sees.
//!
//! Verbs that ask what a program loads (`resolve`, `inspect --closure`, `bind`, `ldcache`) ask [`Loading`]. With a sysroot
//! nothing of this machine counts: neither our variables, nor our cache, nor our processor when the program is for another.

mod files;
mod interpreter;
mod program;
mod subfolders;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Closure, Environment, FoundBy, LoadedObject, LoaderBuild, Rules, Start, resolve};

use crate::error::{CliError, HintExt};

pub(crate) use files::{Contents, Files};
pub(crate) use program::ProgramKind;
pub(crate) use subfolders::Levels;

/// What may be said about a start. The default is a start from here, now.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadingOptions {
    /// Where absolute paths begin, links included. Paths in answers are as seen from inside.
    pub(crate) sysroot: Option<PathBuf>,
    /// The loader, as seen from inside; without it the one that the program names, or for a library the machine's.
    pub(crate) interpreter: Option<PathBuf>,
    /// `LD_LIBRARY_PATH`; without it ours, and none in a sysroot.
    pub(crate) ld_library_path: Option<OsString>,
    /// `LD_PRELOAD`; without it ours, and none in a sysroot.
    pub(crate) ld_preload: Option<OsString>,
    /// The processor.
    pub(crate) levels: Levels,
    /// The loader's cache is not looked at.
    pub(crate) inhibit_cache: bool,
    /// The directory of the start, as seen from inside; without it ours, and `/` in a sysroot.
    pub(crate) current_directory: Option<PathBuf>,
    /// Whether the program gains rights when it starts; without it, what the file's mode and capabilities say.
    pub(crate) secure: Option<bool>,
}

/// A start of a program that nobody makes.
#[derive(Debug)]
pub(crate) struct Loading {
    /// The program as the loader sees it: from inside the sysroot.
    pub(crate) program: PathBuf,
    /// What it is to a loader.
    pub(crate) kind: ProgramKind,
    /// The loader's file, as seen from inside; none for a static program.
    pub(crate) interpreter: Option<PathBuf>,
    /// What was compiled into the loader; empty when there is none or it cannot be read.
    pub(crate) build: LoaderBuild,
    /// The loader's cache as seen from inside, if it has one and it was not inhibited.
    pub(crate) cache_file: Option<PathBuf>,
    /// Why the cache counts as empty although there is a file.
    pub(crate) cache_problem: Option<String>,
    /// What else the loader's rules want to know.
    pub(crate) environment: Environment,
    /// The files as the loader sees them.
    pub(crate) files: Files,
}

impl Loading {
    /// Finds the program that was typed, its loader, and what that loader reads before any library.
    ///
    /// A bare name that is no file here is looked for on `PATH`, in a sysroot in the usual directories.
    ///
    /// # Errors
    /// If there is no such program or sysroot, or it is no ELF object that a loader takes; a script's error names its
    /// interpreter. A loader that is not there is no error yet: [`Self::closure`] tells.
    pub(crate) fn new(typed: &Path, options: &LoadingOptions) -> Result<Self, CliError> {
        let mut files = Files::new(options)?;
        let program = program::find(typed, &mut files)?;
        let contents = program::read(&program, &files)?;
        let kind = contents.kind;
        let is_native = subfolders::is_native(&contents.facts);
        let interpreter = match (&options.interpreter, kind) {
            (_, ProgramKind::Static) => None,
            (Some(given), _) => Some(given.clone()),
            (None, _) => interpreter::of(&contents.facts, &files),
        };
        let mut environment = Environment {
            current_directory: files.current_directory(),
            platform: subfolders::platform(&contents.facts),
            interpreter: interpreter.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()),
            start: if options.interpreter.is_some() || kind == ProgramKind::Library {
                Start::Loader
            } else {
                Start::Kernel
            },
            secure: options.secure.unwrap_or(contents.gains_rights),
            ..Environment::default()
        };
        let variable = |given: &Option<OsString>, name| {
            let ours = || if options.sysroot.is_none() { std::env::var_os(name) } else { None };
            given.clone().or_else(ours).map(OsString::into_vec)
        };
        environment.ld_library_path = variable(&options.ld_library_path, "LD_LIBRARY_PATH");
        environment.ld_preload = variable(&options.ld_preload, "LD_PRELOAD");
        let loader = interpreter.as_ref().and_then(|path| files.view(path).ok());
        let bytes = loader.as_ref().map(|view| view.bytes()).unwrap_or_default();
        let build = LoaderBuild::read(bytes);
        build.apply(&mut environment);
        environment.hwcaps = options.levels.hwcaps(build.release, is_native);
        let (mut cache_file, mut cache_problem) = (None, None);
        match build.rules {
            Rules::Musl => {
                environment.musl_path_file = interpreter::musl_path_file(bytes, interpreter.as_deref(), &files)
            }
            Rules::Glibc => {
                environment.preload_file = files.content(Path::new("/etc/ld.so.preload")).ok();
                let place = build.cache_path.clone().filter(|_| !options.inhibit_cache);
                cache_file = place.map(|place| PathBuf::from(OsString::from_vec(place)));
                match cache_file.as_deref().map(|path| read_cache(path, &files)) {
                    Some(Ok(cache)) => environment.cache = cache,
                    Some(Err(problem)) => cache_problem = Some(problem),
                    None => {}
                }
            }
        }
        Ok(Self { program, kind, interpreter, build, cache_file, cache_problem, environment, files })
    }

    /// What the program loads: itself alone when it is static, or is its own loader.
    ///
    /// # Errors
    /// If the loader is not there or is not for this program.
    pub(crate) fn closure(&self) -> Result<Closure, CliError> {
        if self.loads_nothing() {
            return Ok(self.alone());
        }
        let other_machine = || match self.files.sysroot() {
            None => {
                "name the directory that holds the files of the program's machine by --sysroot, or another loader by \
                --interpreter"
            }
            Some(_) => "name a loader that is in the sysroot by --interpreter",
        };
        resolve(&self.program, &self.files, &self.environment).hint(other_machine)
    }

    /// Whether nothing is searched for this program, whatever stands elsewhere.
    pub(crate) fn loads_nothing(&self) -> bool {
        self.kind == ProgramKind::Static || self.is_its_own_loader()
    }

    /// Whether the program is the very loader that would load it.
    pub(crate) fn is_its_own_loader(&self) -> bool {
        let loader = self.interpreter.as_deref().and_then(|path| self.files.identity(path));
        loader.is_some() && loader == self.files.identity(&self.program)
    }

    fn alone(&self) -> Closure {
        let contents = self.files.contents(&self.program).ok();
        let (identity, facts) = contents.map(|contents| (contents.identity, contents.facts)).unwrap_or_default();
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

/// The loader's cache; none when there is no file, which is nothing to complain about.
fn read_cache(path: &Path, files: &Files) -> Result<Option<LdSoCache>, String> {
    match files.content(path) {
        Ok(bytes) => LdSoCache::parse_owned(bytes).map(Some).map_err(|problem| problem.to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}
