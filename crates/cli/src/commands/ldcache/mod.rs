//! `coldstart ldcache`: read, write and check loader caches, and the notes in programs that take their place.

mod check;
mod check_files;
mod errors;
mod note;
mod show;
mod target;
mod write;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_app::reading::read;
use coldstart_loader::cache::LdSoCache;
use serde::{Serialize, Serializer};

use crate::args::ldcache::{LdcacheAction, LdcacheArgs};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};

/// The schema of `--json`; `action` tells the three apart.
const SCHEMA: &str = "coldstart.ldcache/1";
/// The system's cache.
const SYSTEM_CACHE: &str = "/etc/ld.so.cache";
/// A cache for all libraries of a machine is below 1 MiB.
const LARGEST_CACHE: u64 = 256 << 20;

pub(super) fn run(args: &LdcacheArgs) -> Result<Exit, CliError> {
    match &args.action {
        LdcacheAction::Write(args) if !args.note.is_empty() => note::write(args),
        LdcacheAction::Write(args) => write::run(args),
        LdcacheAction::Show(args) if note::is_elf(&args.file) => note::show(args),
        LdcacheAction::Show(args) => show::run(args),
        LdcacheAction::Check(args) if note::is_elf(&args.file) => note::check(args),
        LdcacheAction::Check(args) => check::run(args),
    }
}

/// A file's bytes.
fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    read("", path, LARGEST_CACHE)
}

/// A cache that has to be whole.
fn read_cache(path: &Path) -> Result<LdSoCache, CliError> {
    let bytes = read_file(path)?;
    LdSoCache::parse(&bytes)
        .with_context(|| format!("cannot use `{}`", printable(path)))
        .hint(|| "`coldstart ldcache check` lists what is damaged; `ldconfig` writes the system's anew")
}

/// The levels that `--hwcaps` names; none for all.
fn levels(words: &[String]) -> Result<Option<BTreeSet<Vec<u8>>>, CliError> {
    match words {
        [word] if word == "all" => Ok(None),
        [word] if word == "none" => Ok(Some(BTreeSet::new())),
        words if words.iter().any(|word| word.is_empty() || word == "all" || word == "none" || word.contains('/')) => {
            Err(anyhow::anyhow!("`--hwcaps {}` names no processor levels", words.join(",")))
                .hint(|| "say `all`, `none`, or names of folders below glibc-hwcaps: x86-64-v2,x86-64-v3")
        }
        words => Ok(Some(words.iter().map(|word| word.as_bytes().to_vec()).collect())),
    }
}

/// A path of bytes.
fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A name in harmless characters.
fn shown(bytes: &[u8]) -> String {
    printable(path(bytes))
}

/// A path of a cache or a folder: whole in JSON, and in harmless characters for people.
#[derive(Debug)]
struct Place(PathBuf);

impl Place {
    fn new(bytes: &[u8]) -> Self {
        Self(path(bytes).to_owned())
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonPath::new(&self.0).serialize(serializer)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(&self.0))
    }
}
