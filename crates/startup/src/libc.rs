//! The host's C library for an object, and whether its loader supports `DT_RELR`.
//!
//! Not obvious: the version number does not decide, because distributions backport RELR to older glibcs. A glibc with RELR
//! defines the version `GLIBC_ABI_DT_RELR`, which files with RELR require.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use coldstart_elf::{ElfFile, VersionTable};
use coldstart_loader::{Class, Identity, Machine, ObjectFacts, Rules};

use crate::{Conditions, Files, Inherit, Levels, ObjectFile, ProgramKind, Surroundings};

/// The version defined by a glibc with `DT_RELR` support (its elf/Versions, since 2.36).
const RELR_VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";
const LIBC: &str = "libc.so.6";

/// The properties that select an object's C library.
type Abi = (u16, Class, bool, u32, Option<Vec<u8>>);

/// The glibcs of this host, each examined once.
#[derive(Debug)]
pub struct HostLibcs {
    files: Files,
    known: Mutex<HashMap<Abi, Option<PathBuf>>>,
}

impl Default for HostLibcs {
    fn default() -> Self {
        Self { files: Files::host(), known: Mutex::default() }
    }
}

impl HostLibcs {
    /// The C library of such objects on this host if its loader does not support `DT_RELR`; `None` if it does, if there is no
    /// glibc for them, and for musl objects.
    pub fn without_relr(&self, object: &ObjectFacts) -> Option<PathBuf> {
        let abi = (object.machine, object.class, object.little_endian, object.flags, object.interpreter.clone());
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&abi) {
            return known.clone();
        }
        let mut candidates = self.candidates(object).into_iter();
        let found = candidates.find_map(|path| self.defines_relr(&path, object).map(|defines| (path, defines)));
        let without = found.filter(|(_, defines)| !defines).map(|(path, _)| path);
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(abi, without.clone());
        without
    }

    /// The default path of the C library for such an object.
    fn candidates(&self, object: &ObjectFacts) -> Vec<PathBuf> {
        let kind = if object.interpreter.is_some() { ProgramKind::Dynamic } else { ProgramKind::Library };
        let object = ObjectFile { identity: Identity::default(), facts: object.clone(), kind, gains_rights: false };
        let conditions = Conditions { inherit: Inherit::Nothing, levels: Levels::Every, ..Conditions::default() };
        let surroundings = Surroundings::of(&object, &self.files, &conditions);
        if surroundings.build.rules == Rules::Musl {
            return Vec::new();
        }
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let entries = surroundings.environment.cache.iter().flat_map(|cache| cache.entries());
        let mut candidates: Vec<PathBuf> =
            entries.filter(|entry| entry.name == LIBC.as_bytes()).map(|entry| path(entry.path)).collect();
        let machine = Machine::of(&object.facts);
        let usual = machine.iter().flat_map(|machine| [machine.multiarch_directories(), machine.plain_directories()]);
        let directories = surroundings.build.system_directories.into_iter().chain(usual).flatten();
        candidates.extend(directories.map(|directory| path(&directory).join(LIBC)));
        candidates
    }

    /// Whether a C library for the same ABI defines the version; `None` if it is not one, or cannot be read.
    fn defines_relr(&self, libc: &Path, wanted: &ObjectFacts) -> Option<bool> {
        let view = self.files.view(libc).ok()?;
        let file = ElfFile::parse(view.bytes()).ok()?;
        let facts = ObjectFacts::of(&file).ok()?;
        if (facts.machine, facts.class, facts.little_endian) != (wanted.machine, wanted.class, wanted.little_endian) {
            return None;
        }
        let versions = VersionTable::parse(&file, &file.dynamic().ok()??).ok()?;
        let defines = versions.defined().iter().any(|version| version.name == RELR_VERSION);
        (!view.shrank()).then_some(defines)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn facts(path: &Path) -> ObjectFacts {
        ObjectFacts::of(&ElfFile::parse(&std::fs::read(path).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn a_library_is_asked_for_the_version_itself() {
        let scratch = tempfile::tempdir().unwrap();
        let build = |name: &str, versions: &str| {
            let (path, script) = (scratch.path().join(name), scratch.path().join(format!("{name}.map")));
            std::fs::write(&script, versions).unwrap();
            let mut compiler = Command::new("gcc");
            compiler.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(&path);
            let status = compiler.arg(format!("-Wl,--version-script={}", script.display())).status().unwrap();
            assert!(status.success());
            path
        };
        let old = build("old.so", "GLIBC_2.2.5 { global: *; };");
        let new = build("new.so", "GLIBC_2.2.5 { global: *; }; GLIBC_ABI_DT_RELR { };");
        let (libcs, wanted) = (HostLibcs::default(), facts(&old));
        assert_eq!(libcs.defines_relr(&old, &wanted), Some(false));
        assert_eq!(libcs.defines_relr(&new, &wanted), Some(true));
        assert_eq!(libcs.defines_relr(&new, &ObjectFacts { machine: 1, ..wanted.clone() }), None);
        assert_eq!(libcs.defines_relr(&scratch.path().join("missing"), &wanted), None);
    }

    #[test]
    fn the_machine_s_own_library_is_found() {
        let (libcs, own) = (HostLibcs::default(), facts(&std::env::current_exe().unwrap()));
        let library = ObjectFacts { interpreter: None, ..own.clone() };
        for facts in [own, library] {
            assert!(
                libcs.candidates(&facts).iter().any(|path| libcs.defines_relr(path, &facts).is_some()),
                "{:?}",
                facts.interpreter
            );
        }
    }
}
