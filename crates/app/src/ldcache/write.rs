//! The cache of directories, of programs, or of a store item.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_loader::cache::{CacheBuilder, Family, LdSoCache, NoLibrary, read_back};
use coldstart_output::Inputs;
use coldstart_profile::printable;
use coldstart_startup::cache::{ClosureOptions, DirectoryOptions, files_below, follow, gather};
use coldstart_startup::{Files, Root};
use serde::Serialize;

use super::errors::in_words;
use super::target::Target;
use super::{ShownPath, levels};
use crate::error::AppError;
use crate::observer::Observer;
use crate::reading::directory as check_directory;
use crate::starting::open_root;
use crate::text::harmless;

/// What to enter, and the output. All paths except `output` are as seen from inside the sysroot.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The output; not used with a store item.
    pub output: PathBuf,
    /// Whether to replace a file that is not a cache, or the system's own cache.
    pub force: bool,
    /// Directories to enter.
    pub directories: Vec<PathBuf>,
    /// Whether to include their subdirectories.
    pub recursive: bool,
    /// A configuration file like `/etc/ld.so.conf`.
    pub configuration: Option<PathBuf>,
    /// Programs; their libraries are entered instead of those of directories.
    pub programs: Vec<PathBuf>,
    /// A store item of Guix, which gets a cache for all programs and libraries in it.
    pub store_item: Option<PathBuf>,
    /// The root directory.
    pub sysroot: Option<PathBuf>,
    /// Whether to prefix paths with the sysroot.
    pub absolute: bool,
    /// Processor levels to enter: `all`, `none`, or names.
    pub hwcaps: Vec<String>,
    /// The architecture of the cache, by name.
    pub arch: Option<String>,
    /// The minor version of glibc for the rules of `ldconfig`.
    pub release: Option<u32>,
    /// The generator string in the cache.
    pub generator: Option<String>,
    /// Whether the outcome also lists files skipped by default.
    pub all_passed_over: bool,
}

/// The written cache or note.
#[derive(Debug, Serialize)]
pub struct Written {
    action: &'static str,
    /// The cache.
    #[serde(flatten)]
    pub file: ShownPath,
    /// The architecture, by the name of its cache family.
    pub machine: &'static str,
    /// `little` or `big`.
    pub byte_order: &'static str,
    /// glibc's release for the rules of `ldconfig`.
    pub glibc: String,
    /// Number of entries.
    pub entries: usize,
    /// The entered processor levels.
    pub hwcaps: Vec<String>,
    /// Its size.
    pub bytes: usize,
    /// Number of programs and libraries followed; null for directories.
    pub programs: Option<usize>,
    /// The entered directories.
    #[serde(rename = "folders")]
    pub directories: Vec<ShownPath>,
    /// Unreadable directories.
    pub unreadable: Vec<Reason>,
    /// Skipped files.
    pub passed_over: Vec<Reason>,
    /// Entries without a file.
    pub dangling: Vec<ShownPath>,
    /// Libraries with the soname of a library of another architecture in the same directory.
    pub mixed: Vec<ShownPath>,
    /// Needed names that were not found.
    pub missing: Vec<MissingName>,
    /// Names with more than one file.
    pub conflicts: Vec<Conflict>,
}

/// A path, and why it was skipped.
#[derive(Debug, Serialize)]
pub struct Reason {
    /// The path.
    #[serde(flatten)]
    pub path: ShownPath,
    /// Why.
    pub reason: String,
}

/// A needed name that was not found.
#[derive(Debug, Serialize)]
pub struct MissingName {
    /// The name.
    pub name: String,
    /// The requesting object.
    pub needed_by: ShownPath,
}

/// A name with more than one file; a cache can have only one.
#[derive(Debug, Serialize)]
pub struct Conflict {
    /// The name.
    pub name: String,
    /// The entered file.
    pub entered: ShownPath,
    /// The file that another object finds by this name.
    pub left_out: ShownPath,
}

/// Builds a cache, reads it back, writes a temporary file, and renames it.
///
/// # Errors
/// If there is nothing to enter, a program cannot be followed, or the cache cannot be written. An existing file is then
/// unchanged.
pub fn write(options: &WriteOptions, observer: &dyn Observer) -> Result<Written, AppError> {
    let files = Files::new(open_root(options.sysroot.as_deref(), observer)?, None);
    let root = files.root();
    let levels = levels(&options.hwcaps)?;
    let output = output_path(options, root)?;
    let mut inputs = Inputs::default();
    for path in options.programs.iter().chain(&options.configuration) {
        let read = in_sysroot(root, path);
        inputs.add(format!("`{}`, which is read", printable(&read)), &read);
    }
    let target = Target::new(&output, inputs, options.force)?;
    let generator = |what: &str| {
        let own = || format!("coldstart {} ldcache ({what})", env!("CARGO_PKG_VERSION"));
        options.generator.clone().unwrap_or_else(own).into_bytes()
    };
    let mut written = Written::new(output);
    let builder = if options.programs.is_empty() && options.store_item.is_none() {
        from_directories(options, root, levels, &generator("folders"), &mut written, observer)?
    } else {
        from_closures(options, &files, levels, &generator("closure"), &mut written)?
    };
    let bytes = builder.write().context("cannot build the cache")?;
    let cache = read_back(&bytes).context("the new cache is invalid")?;
    written.entries = cache.entries().len();
    written.hwcaps = cache.hwcaps().map(harmless).collect();
    written.bytes = bytes.len();
    written.dangling = dangling(&cache, root, options);
    target.write(&bytes)?;
    Ok(written)
}

/// Converts a path inside the sysroot to a host path.
fn in_sysroot(root: &Root, path: &Path) -> PathBuf {
    match root.given_sysroot() {
        Some(sysroot) => sysroot.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_owned(),
    }
}

/// The output path. In a store item, its directory `etc` is created.
fn output_path(options: &WriteOptions, root: &Root) -> Result<PathBuf, AppError> {
    let Some(prefix) = &options.store_item else { return Ok(options.output.clone()) };
    let prefix = in_sysroot(root, prefix);
    check_directory("the store item", &prefix)?;
    let directory = prefix.join("etc");
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create `{}`", printable(&directory)))?;
    Ok(directory.join("ld.so.cache"))
}

fn from_directories(
    options: &WriteOptions,
    root: &Root,
    levels: Option<BTreeSet<Vec<u8>>>,
    generator: &[u8],
    written: &mut Written,
    observer: &dyn Observer,
) -> Result<CacheBuilder, AppError> {
    let asked = DirectoryOptions {
        root,
        directories: &options.directories,
        recursive: options.recursive,
        configuration: options.configuration.as_deref(),
        arch: options.arch.as_deref(),
        release: options.release,
        levels: levels.as_ref(),
    };
    let gathered = gather(asked).map_err(|error| in_words(error, root))?;
    for line in &gathered.relative {
        let (name, file) = (printable(&line.directory), printable(&line.file));
        observer.note(&format!("`{file}`: the relative directory `{name}` is skipped"));
    }
    let (mut scan, rules) = (gathered.scan, gathered.rules);
    for library in &mut scan.libraries {
        make_absolute(options, root, &mut library.entry.path);
    }
    written.machine(rules.family, rules.release);
    written.directories = scan.directories.iter().map(|directory| ShownPath::new(directory)).collect();
    written.mixed = scan.mixed.iter().map(|path| ShownPath::new(path)).collect();
    let reason = |path: &[u8], reason: String| Reason { path: ShownPath::new(path), reason };
    written.unreadable = scan.unreadable.iter().map(|(path, error)| reason(path, error.clone())).collect();
    let not_ordinary = |why: &NoLibrary| matches!(why, NoLibrary::Damaged(_) | NoLibrary::Unreadable(_));
    let passed_over = scan.passed_over.iter().filter(|(_, why)| options.all_passed_over || not_ordinary(why));
    written.passed_over = passed_over.map(|(path, why)| reason(path, why.to_string())).collect();
    let mut builder = CacheBuilder::new(generator).big_endian(!rules.family.little_endian);
    scan.enter(&mut builder);
    Ok(builder)
}

fn from_closures(
    options: &WriteOptions,
    files: &Files,
    levels: Option<BTreeSet<Vec<u8>>>,
    generator: &[u8],
    written: &mut Written,
) -> Result<CacheBuilder, AppError> {
    let root = files.root();
    let in_words = |error| in_words(error, root);
    let following = ClosureOptions {
        files,
        arch: options.arch.as_deref(),
        release: options.release,
        levels,
        // Guix's loader does not use the system's cache.
        with_cache: options.store_item.is_none(),
    };
    let programs = match &options.store_item {
        Some(prefix) => files_below(root, prefix).map_err(in_words)?,
        None => options.programs.clone(),
    };
    let followed = follow(&following, &programs, options.store_item.is_none()).map_err(in_words)?;
    written.machine(followed.family, followed.release);
    written.programs = Some(followed.programs);
    let missing = followed.missing.iter();
    written.missing = missing
        .map(|missing| MissingName { name: harmless(&missing.name), needed_by: ShownPath::new(&missing.needed_by) })
        .collect();
    let conflicts = followed.conflicts.iter();
    let conflicts = conflicts.map(|conflict| Conflict {
        name: harmless(&conflict.name),
        entered: ShownPath::new(&conflict.taken),
        left_out: ShownPath::new(&conflict.other),
    });
    written.conflicts = conflicts.collect();
    let mut builder = CacheBuilder::new(generator).big_endian(!followed.family.little_endian);
    for mut entry in followed.entries {
        make_absolute(options, root, &mut entry.path);
        builder.add(entry);
    }
    Ok(builder)
}

/// Prefixes a path with the sysroot, if requested.
fn make_absolute(options: &WriteOptions, root: &Root, path: &mut Vec<u8>) {
    if let Some(sysroot) = root.given_sysroot().filter(|_| options.absolute) {
        *path = [sysroot.as_os_str().as_bytes(), path].concat();
    }
}

/// Entries without a file: the soname's link is missing, which `ldconfig` creates by default.
fn dangling(cache: &LdSoCache, root: &Root, options: &WriteOptions) -> Vec<ShownPath> {
    let sysroot =
        root.given_sysroot().filter(|_| options.absolute).map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
    let inside = cache.entries().map(|entry| entry.path.strip_prefix(sysroot).unwrap_or(entry.path));
    inside.filter(|path| root.identity(super::path(path)).is_err()).map(ShownPath::new).collect()
}

impl Written {
    fn new(output: PathBuf) -> Self {
        Self {
            action: "write",
            file: ShownPath(output),
            machine: "",
            byte_order: "",
            glibc: String::new(),
            entries: 0,
            hwcaps: Vec::new(),
            bytes: 0,
            programs: None,
            directories: Vec::new(),
            unreadable: Vec::new(),
            passed_over: Vec::new(),
            dangling: Vec::new(),
            mixed: Vec::new(),
            missing: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    fn machine(&mut self, family: &'static Family, release: u32) {
        self.machine = family.name;
        self.byte_order = if family.little_endian { "little" } else { "big" };
        self.glibc = format!("2.{release}");
    }
}
