//! What a start depends on besides the files: variables, the processor, the loader's own build.

use std::path::PathBuf;

use crate::Hwcaps;
use crate::cache::LdSoCache;

/// Whose loader it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// glibc 2.33 and later; the subdirectories of its releases differ, see [`Hwcaps`].
    #[default]
    Glibc,
    /// musl 1.2: one rule for RPATH and RUNPATH, no cache, no subdirectories.
    Musl,
}

/// Who maps the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Start {
    /// The kernel maps the program and the interpreter it names; `$ORIGIN` of the program is that of /proc/self/exe.
    #[default]
    Kernel,
    /// `ld.so PROGRAM`: the loader maps the program (`rtld_is_main` in elf/rtld.c). The program's `$ORIGIN` comes from the
    /// path as it was given, links and all. That path is no name of it: asked for, it is opened once more.
    Loader,
}

/// What a start depends on besides the files. The default is an empty environment under glibc without a cache.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Whose rules apply.
    pub rules: Rules,
    /// Who maps the program.
    pub start: Start,
    /// The value of `LD_LIBRARY_PATH`, or of the loader's option `--library-path`, which takes its place.
    pub ld_library_path: Option<Vec<u8>>,
    /// The value of `LD_PRELOAD`.
    pub ld_preload: Option<Vec<u8>>,
    /// The value of the loader's option `--preload` (glibc only): its names come after those of `LD_PRELOAD`.
    pub preload_argument: Option<Vec<u8>>,
    /// The value of the loader's option `--inhibit-rpath` (glibc only): paths, divided by colons, of objects whose
    /// `DT_RPATH` and `DT_RUNPATH` name no directories (`decompose_rpath` in elf/dl-load.c).
    pub inhibit_rpath: Option<Vec<u8>>,
    /// The content of /etc/ld.so.preload (glibc only).
    pub preload_file: Option<Vec<u8>>,
    /// The content of /etc/ld-musl-ARCH.path (musl only).
    pub musl_path_file: Option<Vec<u8>>,
    /// The processor's subdirectories, searched in each directory before the directory itself (glibc only).
    pub hwcaps: Hwcaps,
    /// `$PLATFORM`; without it, directories that name it are passed over.
    pub platform: Option<Vec<u8>>,
    /// The loader ends a start at an object whose `e_ident` is odd or of the other byte order, whatever its machine, as
    /// glibc's own sources have it (`open_verify` in elf/dl-load.c). Debian's and Ubuntu's pass over it when it is for another
    /// machine, and so does the default here.
    pub strict_identification: bool,
    /// The levels that the processor has, best first, for entries of the cache that ask for one; without them, the levels
    /// of [`hwcaps`](Self::hwcaps). They differ under the loader's option `--glibc-hwcaps-mask`, which hides names of
    /// subdirectories and not what the processor can do (`dl_cache_hwcap_isa_level_compatible`
    /// in sysdeps/x86/dl-isa-level.h).
    pub processor_levels: Option<Vec<Vec<u8>>>,
    /// `$LIB`; without it, Debian's value for the program's machine.
    pub lib: Option<Vec<u8>>,
    /// The loader's default directories; without them, Debian's for the program's machine.
    pub system_directories: Option<Vec<Vec<u8>>>,
    /// The loader's cache (glibc only); none for `--inhibit-cache`.
    pub cache: Option<LdSoCache>,
    /// The interpreter, for an object that names none: a shared library asked about on its own. With
    /// [`Start::Loader`], the path of the loader as it is started; it need not be the one the program names.
    pub interpreter: Option<Vec<u8>>,
    /// The program gains rights when it starts (`AT_SECURE`): set-user-ID, set-group-ID, file capabilities.
    pub secure: bool,
    /// The directory the program is started in, for `$ORIGIN` of objects found by a relative path.
    pub current_directory: PathBuf,
}

impl Environment {
    /// The levels that the processor has.
    pub(crate) fn processor_levels(&self) -> &[Vec<u8>] {
        self.processor_levels.as_deref().unwrap_or(&self.hwcaps.levels)
    }

    /// `LD_LIBRARY_PATH`, which secure programs do not see.
    pub(crate) fn library_path(&self) -> Option<&[u8]> {
        if self.secure { None } else { self.ld_library_path.as_deref() }
    }
}
