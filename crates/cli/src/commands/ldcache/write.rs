//! `coldstart ldcache write`: the cache of folders, of programs, or of a store item.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_app::reading::directory;
use coldstart_loader::cache::{CacheBuilder, LdSoCache, NoLibrary, read_back};
use coldstart_output::Inputs;
use coldstart_startup::cache::{Asked, Following, files_below, follow, gather};
use coldstart_startup::{Files, Root};
use serde::Serialize;

use super::errors::in_words;
use super::target::Target;
use super::{Place, SCHEMA, levels, shown};
use crate::args::ldcache::WriteArgs;
use crate::commands::starting::open_root;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::counted;
use crate::output::{self, json};

/// Things of one kind that are told one by one.
const MOST_TOLD: usize = 10;

/// What was written.
#[derive(Serialize)]
struct Written {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    /// Whose libraries: the name of a machine, which stands for those that share its caches.
    machine: &'static str,
    byte_order: &'static str,
    /// glibc's release whose `ldconfig` was followed.
    glibc: String,
    entries: usize,
    hwcaps: Vec<String>,
    bytes: usize,
    /// Programs and libraries that were followed; null for folders.
    programs: Option<usize>,
    /// Folders that were entered.
    folders: Vec<Place>,
    unreadable: Vec<Reason>,
    passed_over: Vec<Reason>,
    /// Entries that lead nowhere yet.
    dangling: Vec<Place>,
    mixed: Vec<Place>,
    missing: Vec<MissingName>,
    conflicts: Vec<TwoMeanings>,
}

#[derive(Serialize)]
struct Reason {
    #[serde(flatten)]
    path: Place,
    reason: String,
}

#[derive(Serialize)]
struct MissingName {
    name: String,
    needed_by: Place,
}

#[derive(Serialize)]
struct TwoMeanings {
    name: String,
    entered: Place,
    left_out: Place,
}

pub(super) fn run(args: &WriteArgs) -> Result<Exit, CliError> {
    let files = Files::new(open_root(args.sysroot.as_deref())?, None);
    let root = files.root();
    let levels = levels(&args.hwcaps)?;
    let output = output_path(args, root)?;
    let mut inputs = Inputs::default();
    for path in args.closure.iter().chain(&args.ld_so_conf) {
        // Paths are those inside the sysroot.
        let read = root
            .given_sysroot()
            .map_or_else(|| path.clone(), |sysroot| sysroot.join(path.strip_prefix("/").unwrap_or(path)));
        inputs.add(format!("`{}`, which is read", printable(&read)), &read);
    }
    let target = Target::new(&output, inputs, args.force.force)?;
    let generator = |what: &str| {
        let own = || format!("coldstart {} ldcache ({what})", env!("CARGO_PKG_VERSION"));
        args.generator.clone().unwrap_or_else(own).into_bytes()
    };
    let mut written = Written::new(&output);
    let builder = if args.closure.is_empty() && args.guix.is_none() {
        from_folders(args, root, levels, &generator("folders"), &mut written)?
    } else {
        from_closures(args, &files, levels, &generator("closure"), &mut written)?
    };
    let bytes = builder.write().context("cannot make the cache")?;
    let cache = read_back(&bytes).context("the cache that was made cannot be read back")?;
    written.describe(&cache, bytes.len());
    written.dangling = dangling(&cache, root, args);
    target.write(&bytes)?;
    let exit = if written.missing.is_empty() { Exit::Done } else { Exit::No };
    if args.json {
        json::print(SCHEMA, &written)?;
    } else {
        written.tell(&output)?;
    }
    Ok(exit)
}

/// Where to write; below a store item, its folder `etc` is made.
fn output_path(args: &WriteArgs, root: &Root) -> Result<PathBuf, CliError> {
    let Some(prefix) = &args.guix else { return Ok(args.output.clone().unwrap_or_default()) };
    let prefix = match root.given_sysroot() {
        Some(sysroot) => sysroot.join(prefix.strip_prefix("/").unwrap_or(prefix)),
        None => prefix.clone(),
    };
    directory("the store item", &prefix)?;
    let folder = prefix.join("etc");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", printable(&folder)))?;
    Ok(folder.join("ld.so.cache"))
}

fn from_folders(
    args: &WriteArgs,
    root: &Root,
    levels: Option<BTreeSet<Vec<u8>>>,
    generator: &[u8],
    written: &mut Written,
) -> Result<CacheBuilder, CliError> {
    let asked = Asked {
        root,
        directories: &args.directories,
        recursive: args.recursive,
        configuration: args.ld_so_conf.as_deref(),
        arch: args.arch.as_deref(),
        release: args.glibc,
        levels: levels.as_ref(),
    };
    let gathered = gather(asked).map_err(|error| in_words(error, root))?;
    for line in &gathered.relative {
        let (name, file) = (printable(&line.directory), printable(&line.file));
        output::note(&format!("`{file}` names the folder `{name}`, which is relative; it is passed over"));
    }
    let (mut scan, rules) = (gathered.scan, gathered.rules);
    for library in &mut scan.libraries {
        make_absolute(args, root, &mut library.entry.path);
    }
    written.machine(rules.family, rules.release);
    written.folders = scan.folders.iter().map(|folder| Place::new(folder)).collect();
    written.mixed = scan.mixed.iter().map(|path| Place::new(path)).collect();
    let reason = |path: &[u8], reason: String| Reason { path: Place::new(path), reason };
    written.unreadable = scan.unreadable.iter().map(|(path, error)| reason(path, error.clone())).collect();
    let not_ordinary = |why: &NoLibrary| matches!(why, NoLibrary::Damaged(_) | NoLibrary::Unreadable(_));
    let passed_over = scan.passed_over.iter().filter(|(_, why)| args.json || not_ordinary(why));
    written.passed_over = passed_over.map(|(path, why)| reason(path, why.to_string())).collect();
    let mut builder = CacheBuilder::new(generator).big_endian(!rules.family.little_endian);
    scan.enter(&mut builder);
    Ok(builder)
}

fn from_closures(
    args: &WriteArgs,
    files: &Files,
    levels: Option<BTreeSet<Vec<u8>>>,
    generator: &[u8],
    written: &mut Written,
) -> Result<CacheBuilder, CliError> {
    let root = files.root();
    let in_words = |error| in_words(error, root);
    let following = Following {
        files,
        arch: args.arch.as_deref(),
        release: args.glibc,
        levels,
        // Guix's loader does not look at the system's cache.
        with_cache: args.guix.is_none(),
    };
    let programs = match &args.guix {
        Some(prefix) => files_below(root, prefix).map_err(in_words)?,
        None => args.closure.clone(),
    };
    let followed = follow(&following, &programs, args.guix.is_none()).map_err(in_words)?;
    written.machine(followed.family, followed.release);
    written.programs = Some(followed.programs);
    let missing = followed.missing.iter();
    written.missing = missing
        .map(|missing| MissingName { name: shown(&missing.name), needed_by: Place::new(&missing.needed_by) })
        .collect();
    let conflicts = followed.conflicts.iter();
    let two_meanings = conflicts.map(|conflict| TwoMeanings {
        name: shown(&conflict.name),
        entered: Place::new(&conflict.taken),
        left_out: Place::new(&conflict.other),
    });
    written.conflicts = two_meanings.collect();
    let mut builder = CacheBuilder::new(generator).big_endian(!followed.family.little_endian);
    for mut entry in followed.entries {
        make_absolute(args, root, &mut entry.path);
        builder.add(entry);
    }
    Ok(builder)
}

/// Puts the sysroot in front of a path, where that was asked for.
fn make_absolute(args: &WriteArgs, root: &Root, path: &mut Vec<u8>) {
    if let Some(sysroot) = root.given_sysroot().filter(|_| args.absolute) {
        *path = [sysroot.as_os_str().as_bytes(), path].concat();
    }
}

/// Entries whose path leads nowhere: the soname's link is missing, which `ldconfig` makes unless it is told not to.
fn dangling(cache: &LdSoCache, root: &Root, args: &WriteArgs) -> Vec<Place> {
    let sysroot =
        root.given_sysroot().filter(|_| args.absolute).map(|path| path.as_os_str().as_bytes()).unwrap_or_default();
    let inside = cache.entries().map(|entry| entry.path.strip_prefix(sysroot).unwrap_or(entry.path));
    inside.filter(|path| root.identity(super::path(path)).is_err()).map(Place::new).collect()
}

impl Written {
    fn new(output: &Path) -> Self {
        Self {
            action: "write",
            file: JsonPath::new(output),
            machine: "",
            byte_order: "",
            glibc: String::new(),
            entries: 0,
            hwcaps: Vec::new(),
            bytes: 0,
            programs: None,
            folders: Vec::new(),
            unreadable: Vec::new(),
            passed_over: Vec::new(),
            dangling: Vec::new(),
            mixed: Vec::new(),
            missing: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    fn machine(&mut self, family: &'static coldstart_loader::cache::Family, release: u32) {
        self.machine = family.name;
        self.byte_order = if family.little_endian { "little" } else { "big" };
        self.glibc = format!("2.{release}");
    }

    fn describe(&mut self, cache: &LdSoCache, bytes: usize) {
        self.entries = cache.entries().len();
        self.hwcaps = cache.hwcaps().map(shown).collect();
        self.bytes = bytes;
    }

    fn tell(&self, output: &Path) -> Result<(), CliError> {
        let from = match self.programs {
            Some(programs) => counted(programs as u64, "object"),
            None => counted(self.folders.len() as u64, "folder"),
        };
        let entries = if self.entries == 1 { "1 entry".to_owned() } else { counted(self.entries as u64, "entry") };
        let levels =
            if self.hwcaps.is_empty() { String::new() } else { format!(", levels {}", self.hwcaps.join(", ")) };
        let text = format!("{}: {entries} of {from} for {}{levels}\n", printable(output), self.machine);
        output::print(&text.replace('\u{a0}', " "))?;
        told(self.unreadable.iter().map(|at| format!("a folder cannot be listed: {}", at.line())));
        told(self.passed_over.iter().map(|at| format!("passed over: {}", at.line())));
        told(
            self.mixed
                .iter()
                .map(|path| format!("`{path}` shares its soname with a library of another machine beside it")),
        );
        told(self.conflicts.iter().map(|two| {
            format!("`{}` means `{}` here; somebody asks for `{}` by this name", two.name, two.entered, two.left_out)
        }));
        told(self.dangling.iter().map(|path| format!("`{path}` is entered and is not there")));
        if !self.dangling.is_empty() {
            output::hint("an entry is named after the soname; `ldconfig -n FOLDER` makes the links that are missing");
        }
        let missing = self.missing.iter();
        told(missing.map(|missing| format!("`{}`, which `{}` needs, is nowhere", missing.name, missing.needed_by)));
        Ok(())
    }
}

impl Reason {
    fn line(&self) -> String {
        format!("`{}`: {}", self.path, self.reason)
    }
}

/// Tells the first few of many.
fn told(lines: impl ExactSizeIterator<Item = String>) {
    let count = lines.len();
    lines.take(MOST_TOLD).for_each(|line| output::note(&line));
    if count > MOST_TOLD {
        output::note(&format!("and {} more of these; --json has them all", count - MOST_TOLD));
    }
}
