//! Whether this machine's own loader could load a packed file.
//!
//! A packed file is meant for glibc 2.36 or later unless the user says otherwise. On an older machine it is most likely
//! meant for the machine it is packed on, and would be of no use there.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use coldstart_elf::{ElfFile, VersionTable};
use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Class, LoaderBuild, Machine, ObjectFacts, Rules};

use coldstart_profile::printable;
use coldstart_sys::named_file::read_regular;

use crate::reading::map;
use crate::rewriting::Refused;

/// The version that a glibc defines whose loader applies `DT_RELR` (its elf/Versions, since 2.36).
const RELR_VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";
/// The largest loader or cache that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;
const LIBC: &str = "libc.so.6";

/// What decides which C library an object gets.
type Kind = (u16, Class, bool, u32, Option<Vec<u8>>);

/// The C libraries of this machine, each looked at once.
#[derive(Debug, Default)]
pub(super) struct LibcsHere {
    known: Mutex<HashMap<Kind, Option<PathBuf>>>,
}

impl LibcsHere {
    /// Refuses if this machine has a C library for such files, whose loader does not know `DT_RELR`.
    pub(super) fn refusal(&self, file: &ElfFile<'_>) -> Option<Refused> {
        let facts = ObjectFacts::of(file).ok()?;
        let libc = self.too_old(&facts)?;
        Some(Refused {
            code: "loader-here-too-old",
            reason: format!("the loader of this machine's `{}` does not apply DT_RELR", printable(&libc)),
            hint: Some("if it is for machines with glibc 2.36 or later, say `--min-libc 2.36`".to_owned()),
        })
    }

    fn too_old(&self, facts: &ObjectFacts) -> Option<PathBuf> {
        let kind = (facts.machine, facts.class, facts.little_endian, facts.flags, facts.interpreter.clone());
        if let Some(known) = self.known.lock().ok().and_then(|known| known.get(&kind).cloned()) {
            return known;
        }
        let found = candidates(facts).into_iter().find_map(|path| knows_relr(&path, facts).map(|knows| (path, knows)));
        let too_old = found.filter(|(_, knows)| !knows).map(|(path, _)| path);
        if let Ok(mut known) = self.known.lock() {
            known.insert(kind, too_old.clone());
        }
        too_old
    }
}

/// Where the C library of such an object would be found, if nothing in it or in the environment says otherwise.
fn candidates(facts: &ObjectFacts) -> Vec<PathBuf> {
    let build = loader_of(facts).map(|loader| LoaderBuild::read(&loader)).unwrap_or_default();
    if build.rules == Rules::Musl {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    let cache = build.cache_path.clone().unwrap_or_else(|| b"/etc/ld.so.cache".to_vec());
    if let Some(cache) = read_regular(&path_of(cache), MOST_BYTES).ok().and_then(|bytes| LdSoCache::parse(&bytes).ok())
    {
        let entries = cache.entries().filter(|entry| entry.name == LIBC.as_bytes());
        candidates.extend(entries.map(|entry| path_of(entry.path.to_vec())));
    }
    let machine = Machine::of(facts);
    let usual = machine.iter().flat_map(|machine| [machine.multiarch_directories(), machine.plain_directories()]);
    let directories = build.system_directories.into_iter().chain(usual).flatten();
    candidates.extend(directories.map(|directory| path_of(directory).join(LIBC)));
    candidates
}

/// The loader that a program names; that of our own programs for a library of our own machine.
fn loader_of(facts: &ObjectFacts) -> Option<Vec<u8>> {
    let read = |interpreter: &[u8]| read_regular(&path_of(interpreter.to_vec()), MOST_BYTES).ok();
    if let Some(interpreter) = &facts.interpreter {
        return read(interpreter);
    }
    let own = map(Path::new("/proc/self/exe")).ok()?;
    let own = ObjectFacts::of(&ElfFile::parse(own.bytes()).ok()?).ok()?;
    let is_same = (own.machine, own.class, own.little_endian) == (facts.machine, facts.class, facts.little_endian);
    read(own.interpreter.as_deref().filter(|_| is_same)?)
}

/// Whether a C library for the same machine defines the version; nothing if it is none, or cannot be read.
fn knows_relr(libc: &Path, wanted: &ObjectFacts) -> Option<bool> {
    let view = map(libc).ok()?;
    let file = ElfFile::parse(view.bytes()).ok()?;
    let facts = ObjectFacts::of(&file).ok()?;
    if (facts.machine, facts.class, facts.little_endian) != (wanted.machine, wanted.class, wanted.little_endian) {
        return None;
    }
    let versions = VersionTable::parse(&file, &file.dynamic().ok()??).ok()?;
    let knows = versions.defined().iter().any(|version| version.name == RELR_VERSION);
    (!view.shrank()).then_some(knows)
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
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
        let wanted = facts(&old);
        assert_eq!(knows_relr(&old, &wanted), Some(false));
        assert_eq!(knows_relr(&new, &wanted), Some(true));
        assert_eq!(knows_relr(&new, &ObjectFacts { machine: 1, ..wanted.clone() }), None);
        assert_eq!(knows_relr(&scratch.path().join("missing"), &wanted), None);
    }

    #[test]
    fn the_machine_s_own_library_is_found() {
        let own = facts(Path::new("/proc/self/exe"));
        let library = ObjectFacts { interpreter: None, ..own.clone() };
        for facts in [own, library] {
            assert!(
                candidates(&facts).iter().any(|path| knows_relr(path, &facts).is_some()),
                "{:?}",
                facts.interpreter
            );
        }
    }
}
