//! The inputs of a start other than files: variables, the processor, the loader's build.

use std::path::PathBuf;

use crate::Hwcaps;
use crate::cache::LdSoCache;

/// The loader implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// glibc 2.33 and later; for the subdirectories of each release see [`Hwcaps`].
    #[default]
    Glibc,
    /// musl 1.2: one rule for RPATH and RUNPATH, no cache, no subdirectories.
    Musl,
}

/// How the program is mapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// The kernel maps the program and its interpreter; `$ORIGIN` of the program is that of /proc/self/exe.
    #[default]
    Kernel,
    /// `ld.so PROGRAM`: the loader maps the program (`rtld_is_main` in elf/rtld.c). The program's `$ORIGIN` comes
    /// from the path as given, without resolving links. That path is not a name of it: if requested, it is opened
    /// again.
    Loader,
}

/// The inputs of a start other than files. The default is an empty environment under glibc without a cache.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The loader implementation.
    pub rules: Rules,
    /// How the program is mapped.
    pub start: Start,
    /// The value of `LD_LIBRARY_PATH`, or of the loader's option `--library-path`, which overrides it.
    pub ld_library_path: Option<Vec<u8>>,
    /// The value of `LD_PRELOAD`.
    pub ld_preload: Option<Vec<u8>>,
    /// The value of the loader's option `--preload` (glibc only): its names come after those of `LD_PRELOAD`.
    pub preload_argument: Option<Vec<u8>>,
    /// The value of the loader's option `--inhibit-rpath` (glibc only): colon-separated paths of objects whose
    /// `DT_RPATH` and `DT_RUNPATH` are ignored (`decompose_rpath` in elf/dl-load.c).
    pub inhibit_rpath: Option<Vec<u8>>,
    /// The content of /etc/ld.so.preload (glibc only).
    pub preload_file: Option<Vec<u8>>,
    /// The content of /etc/ld-musl-ARCH.path (musl only).
    pub musl_path_file: Option<Vec<u8>>,
    /// The processor's subdirectories, searched in each directory before the directory itself (glibc only).
    pub hwcaps: Hwcaps,
    /// `$PLATFORM`; without it, directories that use it are skipped.
    pub platform: Option<Vec<u8>>,
    /// The loader ends a start at an object with an odd `e_ident` or the other byte order, whatever its architecture,
    /// as in upstream glibc (`open_verify` in elf/dl-load.c). Debian's and Ubuntu's skip it if it is for another
    /// architecture; so does the default here.
    pub strict_identification: bool,
    /// The levels that the processor supports, best first, for cache entries that require one; without them, the
    /// levels of [`hwcaps`](Self::hwcaps). They differ under the loader's option `--glibc-hwcaps-mask`, which hides
    /// subdirectory names but not processor features (`dl_cache_hwcap_isa_level_compatible` in
    /// sysdeps/x86/dl-isa-level.h).
    pub processor_levels: Option<Vec<Vec<u8>>>,
    /// `$LIB`; without it, Debian's value for the program's architecture.
    pub lib: Option<Vec<u8>>,
    /// The loader's default directories; without them, Debian's for the program's architecture.
    pub system_directories: Option<Vec<Vec<u8>>>,
    /// The loader's cache (glibc only); none for `--inhibit-cache`.
    pub cache: Option<LdSoCache>,
    /// The interpreter for an object without one: a shared library resolved on its own. With [`Start::Loader`], the
    /// path of the loader as it is started; it may differ from the program's interpreter.
    pub interpreter: Option<Vec<u8>>,
    /// Secure mode (`AT_SECURE`): the program gains rights at start: set-user-ID, set-group-ID, file capabilities.
    pub secure: bool,
    /// The current directory of the start, for `$ORIGIN` of objects found by a relative path.
    pub current_directory: PathBuf,
}

impl Environment {
    /// The levels that the processor supports.
    pub(crate) fn processor_levels(&self) -> &[Vec<u8>] {
        self.processor_levels.as_deref().unwrap_or(&self.hwcaps.levels)
    }

    /// `LD_LIBRARY_PATH`, which is ignored in secure mode.
    pub(crate) fn library_path(&self) -> Option<&[u8]> {
        if self.secure { None } else { self.ld_library_path.as_deref() }
    }
}
