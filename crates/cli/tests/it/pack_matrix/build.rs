//! Compiling each fixture once, and linking it in many ways.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::feature::{Feature, Meeting};
use super::run::succeed;
use super::toolchain::{Linker, Machine};

/// Which object of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The library of a driver.
    Library,
    /// The program that uses the library.
    Driver,
    /// Both in one.
    Program,
}

impl Role {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::Library => "libfixture.so",
            Self::Driver => "driver",
            Self::Program => "program",
        }
    }
}

/// Whether a fixture is a library with its driver, or one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Library,
    Program,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Library => "library",
            Self::Program => "program",
        }
    }

    /// What is packed; what is run stands last.
    pub(crate) fn roles(self) -> &'static [Role] {
        match self {
            Self::Library => &[Role::Library, Role::Driver],
            Self::Program => &[Role::Program],
        }
    }
}

/// The compiled sources of a fixture.
#[derive(Clone, Debug)]
pub(crate) struct Objects {
    library: PathBuf,
    main: PathBuf,
    bulk: PathBuf,
}

/// The folder of all fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").canonicalize().unwrap()
}

/// The compiler, able to find the linkers: those of other machines look for `ld.lld` in folders of their own only.
pub(crate) fn compiler(machine: Machine, cxx: bool, linkers: &Path) -> Command {
    let mut compiler = Command::new(machine.compiler(cxx));
    if machine != Machine::Native {
        compiler.arg(format!("-B{}/", linkers.display()));
    }
    compiler
}

/// Compiles into `folder`.
pub(crate) fn compile(feature: &Feature, machine: Machine, folder: &Path) -> Result<Objects, String> {
    std::fs::create_dir_all(folder).unwrap();
    let suffix = if feature.cxx { "cpp" } else { "c" };
    let sources = fixtures().join(feature.folder);
    let one = |source: PathBuf, name: &str, cxx: bool, position: &str| {
        let object = folder.join(name);
        let mut compiler = Command::new(machine.compiler(cxx));
        compiler.args(["-Wall", "-Wextra", "-Werror", "-O1", "-g", position]).args(feature.compile);
        succeed(compiler.arg("-c").arg(source).arg("-o").arg(&object)).map(|_| object)
    };
    Ok(Objects {
        library: one(sources.join("library").with_extension(suffix), "library.o", feature.cxx, "-fPIC")?,
        main: one(sources.join("main").with_extension(suffix), "main.o", feature.cxx, "-fPIE")?,
        bulk: one(fixtures().join("shared/bulk.c"), "bulk.o", false, "-fPIC")?,
    })
}

/// Links the objects of a kind into `folder`, under the names of their roles.
pub(crate) fn link(
    (feature, machine, linker, kind): (&Feature, Machine, Linker, Kind),
    objects: &Objects,
    linkers: &Path,
    folder: &Path,
) -> Result<(), String> {
    std::fs::create_dir_all(folder).unwrap();
    let begin = || {
        let mut compiler = compiler(machine, feature.cxx, linkers);
        compiler.arg(format!("-fuse-ld={}", linker.name())).arg("-Wl,--build-id=sha1").args(feature.link);
        compiler
    };
    let begin_program = || {
        let mut compiler = begin();
        compiler.args(["-pie", "-rdynamic", "-Wl,-rpath,$ORIGIN"]).args(machine.link_program());
        compiler
    };
    if kind == Kind::Program {
        let parts = [&objects.library, &objects.main, &objects.bulk];
        let mut compiler = begin_program();
        return succeed(compiler.args(parts).arg("-o").arg(folder.join("program"))).map(drop);
    }
    let library = folder.join("libfixture.so");
    let sources = fixtures().join(feature.folder);
    let mut compiler = begin();
    compiler.args(["-shared", "-Wl,-soname,libfixture.so"]);
    compiler.args(feature.link_library.iter().map(|option| option.replace("{folder}", &sources.to_string_lossy())));
    succeed(compiler.args([&objects.library, &objects.bulk]).arg("-o").arg(&library))?;
    let mut compiler = begin_program();
    compiler.args([&objects.main, &objects.bulk]);
    if feature.meeting == Meeting::Linked {
        compiler.arg(&library);
    }
    succeed(compiler.arg("-o").arg(folder.join("driver"))).map(drop)
}
