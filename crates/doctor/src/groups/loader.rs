//! The dynamic loader of this machine: library, version, and support of `DT_RELR`.
//!
//! The version alone is not enough: distributions backport RELR to older glibcs. A glibc with support
//! defines the version `GLIBC_ABI_DT_RELR`, which packed files require.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coldstart_elf::{ElfFile, VersionTable};
use coldstart_host::process::own;
use coldstart_loader::cache::{CacheFormat, LdSoCache};
use coldstart_loader::{LoaderBuild, Machine, ObjectFacts, Rules, hwcaps};

use crate::ability::Ability;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::root::Root;

/// Programs of nearly every system, to read the loader's path from.
const PROGRAMS: [&str; 5] = ["/usr/bin/env", "/bin/sh", own::PROGRAM, "/usr/bin/coldstart", "/usr/local/bin/coldstart"];
/// Loaders and C libraries are a few MiB; the largest program of the list is ours.
const MOST: u64 = 256 << 20;
const RELR_VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";

/// The findings.
#[derive(Clone, Debug)]
pub(crate) struct Loader {
    /// The loader's path, or why it is unknown.
    pub(crate) path: Result<PathBuf, String>,
    pub(crate) library: Library,
    /// Whether it supports `DT_RELR`; `None` if unknown.
    relr: Option<bool>,
    /// Format of the cache, or why there is none.
    cache: Result<Option<CacheFormat>, String>,
    cache_path: PathBuf,
    levels: Vec<String>,
}

/// The loader's C library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// With its second number: 36 for 2.36.
    Glibc(Option<u32>),
    Musl(Option<String>),
    Unknown,
}

impl Loader {
    /// Library and version.
    pub(crate) fn words(&self) -> String {
        match (&self.library, &self.path) {
            (Library::Glibc(Some(release)), _) => format!("glibc 2.{release}"),
            (Library::Glibc(None), _) => "glibc of unknown version".to_owned(),
            (Library::Musl(Some(version)), _) => format!("musl {version}"),
            (Library::Musl(None), _) => "musl of unknown version".to_owned(),
            (Library::Unknown, Ok(path)) => format!("unknown loader {}", path.display()),
            (Library::Unknown, Err(reason)) => reason.clone(),
        }
    }
}

pub(crate) fn look(root: &Root) -> Loader {
    let levels = hwcaps::x86_64_levels_of_this_cpu().iter().map(|level| (*level).to_owned()).collect();
    let mut loader = Loader {
        path: Err("no program names one".to_owned()),
        library: Library::Unknown,
        relr: None,
        cache: Err("not read".to_owned()),
        cache_path: PathBuf::from("/etc/ld.so.cache"),
        levels,
    };
    let Some(facts) = PROGRAMS.iter().find_map(|path| named_loader(root, path)) else { return loader };
    let path = path_of(facts.interpreter.clone().unwrap_or_default());
    let bytes = match root.bytes(&path, MOST) {
        Ok(bytes) => bytes,
        Err(reason) => {
            loader.path = Err(reason);
            return loader;
        }
    };
    loader.path = Ok(path);
    let build = LoaderBuild::read(&bytes);
    match build.rules {
        Rules::Musl => {
            let version = musl_version(&bytes);
            loader.relr =
                version.as_deref().and_then(numbers).map(|version| version.as_slice() >= [1, 2, 4].as_slice());
            loader.library = Library::Musl(version);
            loader.cache = Ok(None);
        }
        _ => {
            loader.library = if build.release.is_some() || build.cache_path.is_some() {
                Library::Glibc(build.release)
            } else {
                Library::Unknown
            };
            loader.cache_path = build.cache_path.clone().map_or(loader.cache_path, path_of);
            let cache = root.bytes(&loader.cache_path, MOST).and_then(|bytes| {
                LdSoCache::parse(&bytes).map_err(|error| format!("{}: {error}", loader.cache_path.display()))
            });
            let defines = libraries(&cache, &build, &facts).iter().find_map(|path| defines_relr(root, path, &facts));
            loader.relr = defines.or(build.release.map(|release| release >= 36));
            loader.cache = cache.map(|cache| Some(cache.format()));
        }
    }
    loader
}

fn named_loader(root: &Root, program: &str) -> Option<ObjectFacts> {
    let bytes = root.bytes(program, MOST).ok()?;
    let facts = ObjectFacts::of(&ElfFile::parse(&bytes).ok()?).ok()?;
    facts.interpreter.is_some().then_some(facts)
}

/// Possible paths of the C library.
fn libraries(cache: &Result<LdSoCache, String>, build: &LoaderBuild, facts: &ObjectFacts) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    if let Ok(cache) = cache {
        let entries = cache.entries().filter(|entry| entry.name == b"libc.so.6");
        paths.extend(entries.map(|entry| path_of(entry.path.to_vec())));
    }
    let machine = Machine::of(facts);
    let usual = machine.iter().flat_map(|machine| [machine.multiarch_directories(), machine.plain_directories()]);
    let directories = build.system_directories.clone().into_iter().chain(usual).flatten();
    paths.extend(directories.map(|directory| path_of(directory).join("libc.so.6")));
    paths
}

fn defines_relr(root: &Root, library: &PathBuf, wanted: &ObjectFacts) -> Option<bool> {
    let bytes = root.bytes(library, MOST).ok()?;
    let file = ElfFile::parse(&bytes).ok()?;
    let facts = ObjectFacts::of(&file).ok()?;
    if (facts.machine, facts.class, facts.little_endian) != (wanted.machine, wanted.class, wanted.little_endian) {
        return None;
    }
    let versions = VersionTable::parse(&file, &file.dynamic().ok()??).ok()?;
    Some(versions.defined().iter().any(|version| version.name == RELR_VERSION))
}

/// musl contains its version as a string, "1.2.3", beside the line that prints it.
fn musl_version(loader: &[u8]) -> Option<String> {
    loader.split(|&byte| byte == 0).find_map(|text| {
        let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= 32)?;
        let plain = text.split(['-', '_']).next()?;
        numbers(plain).filter(|numbers| numbers.len() == 3 && numbers.starts_with(&[1])).map(|_| text.to_owned())
    })
}

/// "1.2.3" and "1.2.3-git": the numbers.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split(['-', '_']).next()?.split('.').map(|part| part.parse().ok()).collect()
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![relr(facts), cache(facts), levels(facts)]
}

fn relr(facts: &Facts) -> Check {
    let source = "glibc NEWS for 2.36; musl WHATSNEW for 1.2.4; GLIBC_ABI_DT_RELR of libc.so.6";
    let loader = &facts.loader;
    let library = loader.words();
    let name = "loader-relr";
    match (loader.relr, &loader.library) {
        (Some(true), Library::Musl(_)) => Check::new(name, Status::Yes, format!("{library} applies DT_RELR"))
            .cost("`pack` assumes glibc: use `--min-libc musl-1.2.4` for files of this machine.")
            .source(source),
        (Some(true), _) => Check::new(name, Status::Yes, format!("{library} applies DT_RELR")).source(source),
        (Some(false), library_kind) => {
            let needed = if matches!(library_kind, Library::Musl(_)) { "musl 1.2.4" } else { "glibc 2.36" };
            let floor = if matches!(library_kind, Library::Musl(_)) { "musl-1.2.4" } else { "2.36" };
            Check::new(name, Status::No, format!("{library} does not apply DT_RELR"))
                .needed(format!("{needed} or later"))
                .cost(format!(
                    "Files made by `pack` do not load on this machine, so it refuses to make them, unless `--min-libc \
                     {floor}` says that they are for others. `verify` and `unpack` work."
                ))
                .grants([Grant { command: format!("coldstart pack --min-libc {floor} FILE -o OUT"), run: Where::Here }])
                .source(source)
                .leaves(
                    Status::Partly,
                    &[Ability::Pack],
                    &format!("for other machines only: {library} does not apply DT_RELR"),
                )
        }
        (None, _) => Check::new(name, Status::Unknown, library)
            .needed("glibc 2.36 or musl 1.2.4, or later")
            .cost("Whether files made by `pack` load on this machine is unknown; other machines are not affected.")
            .source(source)
            .leaves(Status::Unknown, &[Ability::Pack], "support of DT_RELR by this machine's loader is unknown"),
    }
}

fn cache(facts: &Facts) -> Check {
    let source = "ldconfig(8), --format; glibc sysdeps/generic/dl-cache.h";
    let name = "loader-cache";
    let path = facts.loader.cache_path.display();
    let check = match &facts.loader.cache {
        Ok(None) => return Check::new(name, Status::Yes, "musl has no cache and needs none").source(source),
        Ok(Some(CacheFormat::New)) => {
            return Check::new(name, Status::Yes, format!("{path}, in the current format")).source(source);
        }
        Ok(Some(CacheFormat::NewAfterOld)) => {
            return Check::new(name, Status::Yes, format!("{path}, in the old and the current format")).source(source);
        }
        Ok(Some(CacheFormat::Old)) => Check::new(name, Status::Partly, format!("{path}, in the format of libc5")),
        Err(reason) => Check::new(name, Status::No, reason.clone()),
    };
    // Programs start all the same, only with more probes; no verb changes.
    check
        .needed("/etc/ld.so.cache in the current format")
        .cost("Each start searches directory after directory for each library.")
        .grants([facts.who.as_root("ldconfig")])
        .source(source)
}

fn levels(facts: &Facts) -> Check {
    let levels = &facts.loader.levels;
    let now = if levels.is_empty() { "no level above the first".to_owned() } else { levels.join(", ") };
    Check::new("processor-levels", Status::Yes, now).source("x86-64 psABI, micro-architecture levels; ld.so(8), hwcaps")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_musl_stands_by_itself() {
        assert_eq!(musl_version(b"\0musl libc (x86_64)\nVersion %s\n\x001.2.3\0x").as_deref(), Some("1.2.3"));
        assert_eq!(musl_version(b"\x001.2.5_git20240512\0").as_deref(), Some("1.2.5_git20240512"));
        assert_eq!(musl_version(b"\x002.36\x001.2\x00127.0.0.1\0"), None);
        assert!(numbers("1.2.10").unwrap() >= vec![1, 2, 4]);
    }
}
