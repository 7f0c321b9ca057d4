//! The entries of folders: which folders, whose libraries, by which release's rules.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context;
use coldstart_loader::LoaderBuild;
use coldstart_loader::cache::{FAMILIES, Family, FolderAsked, Folders, Listed, Scan, ScanRules, scan};

use super::root::Root;
use super::{conf, path, shown};
use crate::args::ldcache::WriteArgs;
use crate::error::{CliError, HintExt};
use crate::output::path::printable;

/// The release whose rules are followed where no loader tells: the newest that we know.
pub(super) const NEWEST_RELEASE: u32 = 42;
/// Folders below one that is named, with `--recursive`.
const MOST_FOLDERS: usize = 100_000;

/// Where a machine's loader is by its ABI, for each family that has more than `/lib/ld.so.1`.
const LOADERS: &[(&str, &[&str])] = &[
    ("x86-64", &["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux.so.2", "/libx32/ld-linux-x32.so.2"]),
    ("aarch64", &["/lib/ld-linux-aarch64.so.1", "/lib/ld-linux-armhf.so.3", "/lib/ld-linux.so.3"]),
    ("aarch64be", &["/lib/ld-linux-aarch64_be.so.1"]),
    ("riscv64", &["/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-linux-riscv64-lp64.so.1"]),
    ("loongarch64", &["/lib64/ld-linux-loongarch-lp64d.so.1"]),
    ("ppc64le", &["/lib64/ld64.so.2"]),
    ("ppc64", &["/lib64/ld64.so.1", "/lib/ld.so.1"]),
    ("s390x", &["/lib/ld64.so.1", "/lib/ld.so.1"]),
    ("sparc64", &["/lib64/ld-linux.so.2", "/lib/ld-linux.so.2"]),
    ("mipsel", &["/lib64/ld.so.1", "/lib32/ld.so.1", "/lib/ld.so.1", "/lib/ld-linux-mipsn8.so.1"]),
    ("mips", &["/lib64/ld.so.1", "/lib32/ld.so.1", "/lib/ld.so.1", "/lib/ld-linux-mipsn8.so.1"]),
];

/// What was asked for, and what it came to.
pub(super) struct FromFolders {
    pub(super) scan: Scan,
    pub(super) rules: ScanRules,
}

/// Scans the folders of the command line and of the configuration.
pub(super) fn gather(
    root: &Root,
    args: &WriteArgs,
    levels: Option<BTreeSet<Vec<u8>>>,
) -> Result<FromFolders, CliError> {
    let mut asked = Vec::new();
    for folder in &args.folders {
        let name = inside(root, folder)?;
        let usable = root.check_folder(&name);
        let usable = usable.with_context(|| format!("cannot use `{}`{}", shown(&name), place(root)));
        usable.hint(|| match root.sysroot() {
            Some(_) => "paths are looked up inside the sysroot; leave its own path out",
            None => "name directories that hold libraries",
        })?;
        asked.extend(if args.recursive { below(root, &name) } else { vec![folder_asked(&name)] });
    }
    let conf = args.ld_so_conf.as_deref().or(args.folders.is_empty().then_some(Path::new("/etc/ld.so.conf")));
    let conf = conf.map(|file| inside(root, file)).transpose()?;
    if let Some(file) = &conf {
        if args.ld_so_conf.is_some() && root.identity(file).is_err() {
            return Err(anyhow::anyhow!("there is no `{}`{}", shown(file), place(root)).into());
        }
        asked.extend(conf::folders(root, file)?);
    }
    let family = family(root, args, &asked, conf.is_some())?;
    let loader = loader(root, family);
    if conf.is_some() {
        asked.extend(default_folders(family, loader.as_ref()));
    }
    let release = args.glibc.or(loader.and_then(|loader| loader.release)).unwrap_or(NEWEST_RELEASE);
    let rules = ScanRules { family, release, levels };
    Ok(FromFolders { scan: scan(&asked, root, &rules), rules })
}

/// The family of a name that was typed.
pub(super) fn named_family(name: &str) -> Result<&'static Family, CliError> {
    Family::named(name).ok_or_else(|| anyhow::anyhow!("`{name}` is no machine that glibc runs on")).hint(|| {
        let names: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
        format!("one of {}", names.join(", "))
    })
}

/// What is compiled into the loader that a family's programs are started with.
pub(super) fn loader(root: &Root, family: &Family) -> Option<LoaderBuild> {
    let known = LOADERS.iter().find(|(name, _)| *name == family.name).map(|(_, paths)| *paths);
    let paths = known.unwrap_or(&["/lib/ld.so.1", "/lib/ld-linux.so.2"]);
    let read = |path: &&str| {
        let library = root.library(path.as_bytes()).ok()?;
        family.holds(&library.facts).then(|| root.read(path.as_bytes()).ok())?
    };
    paths.iter().find_map(read).map(|bytes| LoaderBuild::read(&bytes))
}

/// The path inside the root, made absolute.
fn inside(root: &Root, path: &Path) -> Result<Vec<u8>, CliError> {
    let absolute = match root.sysroot() {
        Some(_) => Path::new("/").join(path),
        None => std::path::absolute(path)?,
    };
    Ok(absolute.as_os_str().as_bytes().to_vec())
}

fn place(root: &Root) -> String {
    root.sysroot().map(|sysroot| format!(" in the sysroot `{}`", printable(sysroot))).unwrap_or_default()
}

/// A folder by its name; unlike in a configuration file, `=` and spaces belong to it.
fn folder_asked(name: &[u8]) -> FolderAsked {
    let mut path = name;
    while let Some((b'/', rest)) = path.split_last() {
        path = rest;
    }
    FolderAsked { path: path.to_vec(), kind: None }
}

/// A folder and all below it, links not followed, those of levels left out: they belong to the folder they stand in.
fn below(root: &Root, name: &[u8]) -> Vec<FolderAsked> {
    let (mut found, mut open) = (Vec::new(), vec![folder_asked(name)]);
    while let Some(folder) = open.pop() {
        if found.len() == MOST_FOLDERS {
            break;
        }
        let mut names: Vec<Vec<u8>> = root
            .list(&folder.path)
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, listed)| *listed == Listed::Folder && name != b"glibc-hwcaps")
            .map(|(name, _)| name)
            .collect();
        // The last one is the next to be looked at.
        names.sort_unstable_by(|left, right| right.cmp(left));
        open.extend(names.iter().map(|name| folder_asked(&[folder.path.as_slice(), b"/", name].concat())));
        found.push(folder);
    }
    found
}

/// Whose libraries to enter: those that were asked for, this machine's, or the only ones there are.
fn family(
    root: &Root,
    args: &WriteArgs,
    asked: &[FolderAsked],
    with_defaults: bool,
) -> Result<&'static Family, CliError> {
    if let Some(name) = &args.arch {
        return named_family(name);
    }
    if with_defaults && let Some(family) = Family::here().filter(|family| loader(root, family).is_some()) {
        return Ok(family);
    }
    if with_defaults {
        let mut found = FAMILIES.iter().filter(|family| loader(root, family).is_some());
        if let (Some(family), None) = (found.next(), found.next()) {
            return Ok(family);
        }
    }
    let found = families(root, asked);
    match (found.as_slice(), Family::here()) {
        ([family], _) => Ok(family),
        (_, Some(here)) if found.is_empty() || (root.sysroot().is_none() && found.contains(&here)) => Ok(here),
        _ => {
            let names: Vec<&str> = found.iter().map(|family| family.name).collect();
            let names = names.join(", ");
            Err(anyhow::anyhow!("the folders hold libraries for several machines ({names}), which no cache can hold"))
                .hint(|| "say whose are meant, as `--arch aarch64`")
        }
    }
}

/// The families of what stands in folders.
fn families(root: &Root, asked: &[FolderAsked]) -> Vec<&'static Family> {
    let mut found: Vec<&'static Family> = Vec::new();
    for folder in asked {
        for (name, listed) in root.list(&folder.path).unwrap_or_default() {
            if !matches!(listed, Listed::File | Listed::Link) || !coldstart_loader::cache::is_library_name(&name) {
                continue;
            }
            let library = root.library(&[folder.path.as_slice(), b"/", &name].concat());
            let family = library.ok().and_then(|library| Family::of(&library.facts));
            found.extend(family.filter(|family| !found.contains(family)));
        }
    }
    found.sort_unstable_by_key(|family| family.name);
    found
}

/// The folders that a loader searches by itself, as its own `ldconfig` enters them.
fn default_folders(family: &Family, loader: Option<&LoaderBuild>) -> Vec<FolderAsked> {
    let known = loader.and_then(|loader| loader.system_directories.clone());
    let directories = known.unwrap_or_else(|| vec![b"/lib".to_vec(), b"/usr/lib".to_vec()]);
    let directories: Vec<Vec<u8>> = directories.iter().map(|name| folder_asked(name).path).collect();
    // Debian's ldconfig takes the loader's folders as they are; that of glibc's own sources adds their kin.
    let is_multiarch = |directory: &Vec<u8>| shown(directory).contains("-linux-gnu");
    let directories: Vec<Vec<u8>> = if directories.iter().any(is_multiarch) {
        directories
    } else {
        directories.iter().flat_map(|directory| family.expanded(directory)).collect()
    };
    directories.iter().map(|directory| folder_asked(directory)).collect()
}

/// The name of the folder that a path is in.
pub(super) fn parent(name: &[u8]) -> &[u8] {
    let slash = name.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    name.get(..slash).unwrap_or_default()
}

/// The last part of a path.
pub(super) fn file_name(name: &[u8]) -> &[u8] {
    path(name).file_name().map(OsStrExt::as_bytes).unwrap_or_default()
}
