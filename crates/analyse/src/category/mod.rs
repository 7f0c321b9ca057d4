//! Classifies files by owner: the program, the system, the user.
//!
//! Only paths are used. What a newcomer would not guess: for most programs, their own directory is not the one with
//! the executable. `/usr/bin` contains all programs, so directories with the program's name count
//! (`/usr/share/NAME`), and for programs in a prefix of their own (`/opt/NAME/bin`, `/nix/store/HASH-NAME/bin`) the
//! whole prefix.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use coldstart_host::mounts::Mounts;
use coldstart_profile::trace::FileCategory;

/// Directories with a subdirectory per package, named after the package.
const DIRECTORIES_OF_PACKAGES: [&str; 8] = [
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/lib",
    "/usr/local/libexec",
    "/usr/local/share",
    "/opt",
];
/// Directories with a subdirectory per package under any name.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];
/// Prefixes with a shared `bin`.
const SHARED_PREFIXES: [&str; 3] = ["/", "/usr", "/usr/local"];
/// Directories with programs in a prefix.
const DIRECTORIES_OF_PROGRAMS: [&str; 4] = ["bin", "sbin", "libexec", "games"];
const SYSTEM: [&str; 15] = [
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/etc", "/var", "/nix", "/gnu", "/opt", "/snap",
    "/boot", "/app",
];
const MEMORY: [&str; 3] = ["/proc", "/sys", "/dev"];
/// File systems that are in memory only.
const MEMORY_FILE_SYSTEMS: [&str; 12] = [
    "tmpfs",
    "ramfs",
    "devtmpfs",
    "proc",
    "sysfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "tracefs",
    "debugfs",
    "securityfs",
    "mqueue",
];

/// The paths that determine a file's owner. All are absolute, without symbolic links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The program's file.
    pub program: PathBuf,
    /// Directories of the program alone.
    pub program_directories: BTreeSet<PathBuf>,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories for settings, caches and the like, outside of hidden directories in the home directory.
    pub profile_directories: BTreeSet<PathBuf>,
    /// Mount points; whether their files are in memory only.
    pub mounts: Vec<(PathBuf, bool)>,
}

impl Places {
    /// From the program's real path and its environment (`HOME`, `XDG_*_HOME`). Mounts are not known yet.
    pub fn new(program: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").filter(|home| home != Path::new("/"));
        let profile_directories = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"]
            .into_iter()
            .filter_map(absolute)
            .filter(|directory| !home.as_ref().is_some_and(|home| home.starts_with(directory)))
            .collect();
        let program_directories = program_directories(program, home.as_deref());
        Self { program: program.to_path_buf(), program_directories, home, profile_directories, mounts: Vec::new() }
    }

    /// The same, for a program started with our own environment.
    pub fn here(program: &Path) -> Self {
        let mut places = Self::new(program, &|name| std::env::var_os(name));
        places.mounts = which_are_in_memory(&Mounts::here().unwrap_or_default());
        places
    }

    /// The owner of a file.
    pub fn category(&self, path: &Path, is_block_device: bool) -> FileCategory {
        if is_block_device {
            return FileCategory::Metadata;
        }
        if self.is_in_memory(path) {
            return FileCategory::Memory;
        }
        if path == self.program || self.program_directories.iter().any(|directory| path.starts_with(directory)) {
            return FileCategory::Program;
        }
        if self.profile_directories.iter().any(|directory| path.starts_with(directory)) {
            return FileCategory::Profile;
        }
        if let Some(inside) = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
            let is_hidden = inside.as_os_str().as_bytes().starts_with(b".");
            return if is_hidden { FileCategory::Profile } else { FileCategory::Data };
        }
        let is_system = SYSTEM.iter().any(|directory| path.starts_with(directory)) && !path.starts_with("/var/tmp");
        // What has no path has a name like `(unnamed inode 12 of 254:0)`.
        if is_system || !path.is_absolute() || path == Path::new("/") {
            return FileCategory::System;
        }
        FileCategory::Data
    }

    /// The innermost mount decides: a disk may be mounted below `/run`. A root file system in memory (a live system)
    /// is ignored.
    /// nothing.
    fn is_in_memory(&self, path: &Path) -> bool {
        let depth = |mount: &Path| mount.components().count();
        let innermost = self
            .mounts
            .iter()
            .filter(|(mount, _)| mount != Path::new("/") && path.starts_with(mount))
            // Of two mounts at one place the later one hides the earlier.
            .max_by_key(|(mount, _)| depth(mount));
        match innermost {
            Some((_, in_memory)) => *in_memory,
            None => MEMORY.iter().any(|directory| path.starts_with(directory)),
        }
    }
}

/// Directories of the program alone.
fn program_directories(program: &Path, home: Option<&Path>) -> BTreeSet<PathBuf> {
    let mut directories = BTreeSet::new();
    let Some(directory) = program.parent() else { return directories };
    let mut names: BTreeSet<OsString> = program.file_name().map(names_of).unwrap_or_default();
    if let Some(package) = STORES.iter().find_map(|store| first_below(program, store)) {
        directories.insert(package);
        return directories;
    }
    match DIRECTORIES_OF_PACKAGES.iter().find_map(|shared| below_shared(program, shared)) {
        Some(package) => {
            names.extend(package.file_name().map(names_of).unwrap_or_default());
            directories.insert(package);
        }
        None => {
            let own = own_prefix(directory, home).unwrap_or(directory);
            if !is_shared(own, home) {
                directories.insert(own.to_path_buf());
            }
        }
    }
    for name in names {
        directories.extend(DIRECTORIES_OF_PACKAGES.iter().map(|shared| Path::new(shared).join(&name)));
        directories.extend(architecture_directories().map(|shared| shared.join(&name)));
    }
    directories
}

/// `/usr/lib/NAME` of what is below it; also `/usr/lib/ARCH/NAME`. `None` for a program right in the shared directory.
fn below_shared(program: &Path, shared: &str) -> Option<PathBuf> {
    let package = first_below(program, shared)?;
    let package = if package.file_name().is_some_and(is_architecture) {
        first_below(program, package.to_str()?)?
    } else {
        package
    };
    (package != program).then_some(package)
}

/// Whether it is a directory for libraries of one architecture (Debian's multiarch).
fn is_architecture(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b"-linux-gnu")
}

/// The first directory below `above` on the way to `path`.
fn first_below(path: &Path, above: &str) -> Option<PathBuf> {
    let first = path.strip_prefix(above).ok()?.components().next()?;
    Some(Path::new(above).join(first))
}

/// The prefix of `PREFIX/bin`, unless it is shared.
fn own_prefix<'path>(directory: &'path Path, home: Option<&Path>) -> Option<&'path Path> {
    let is_directory_of_programs =
        directory.file_name().is_some_and(|name| DIRECTORIES_OF_PROGRAMS.iter().any(|known| name == *known));
    let prefix = directory.parent().filter(|_| is_directory_of_programs)?;
    let is_users = home.is_some_and(|home| prefix == home.join(".local"));
    (!is_users && !is_shared(prefix, home)).then_some(prefix)
}

/// Directories shared by several programs.
fn is_shared(directory: &Path, home: Option<&Path>) -> bool {
    let holds_home = home.is_some_and(|home| home.starts_with(directory));
    let of_a_prefix = |prefix: &&str| {
        let is_known = |inside: &Path| {
            inside.as_os_str().is_empty() || DIRECTORIES_OF_PROGRAMS.iter().any(|name| inside == Path::new(name))
        };
        directory.strip_prefix(prefix).is_ok_and(is_known)
    };
    let of_the_user = home.is_some_and(|home| directory == home.join(".local/bin") || directory == home.join("bin"));
    let is_whole = directory.components().count() <= 2 || directory == Path::new("/var/tmp");
    let of_packages = DIRECTORIES_OF_PACKAGES.iter().any(|shared| directory == Path::new(shared))
        || directory.file_name().is_some_and(is_architecture);
    holds_home || of_the_user || is_whole || of_packages || SHARED_PREFIXES.iter().any(of_a_prefix)
}

fn architecture_directories() -> impl Iterator<Item = PathBuf> {
    [std::env::consts::ARCH].into_iter().map(|machine| PathBuf::from(format!("/usr/lib/{machine}-linux-gnu")))
}

/// The names that a program's directories may have: `python3.11` is also `python3` and `python`, `soffice.bin` also
/// `soffice`.
fn names_of(name: &OsStr) -> BTreeSet<OsString> {
    let name = name.as_bytes();
    let mut names = vec![name];
    if let Some(stem) = [&b".bin"[..], b".real", b".sh"].iter().find_map(|suffix| name.strip_suffix(*suffix)) {
        names.push(stem);
    }
    let mut rest = name;
    while let Some(dot) = rest.iter().rposition(|byte| *byte == b'.') {
        let (stem, version) = rest.split_at(dot);
        if !version.iter().skip(1).all(u8::is_ascii_digit) {
            break;
        }
        names.push(stem);
        rest = stem;
    }
    let plain = rest.trim_ascii_end();
    let letters = plain.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |last| last + 1);
    names.extend(plain.get(..letters).map(|stem| stem.strip_suffix(b"-").unwrap_or(stem)));
    let is_a_name =
        |name: &&[u8]| name.len() >= 2 && !name.iter().all(u8::is_ascii_digit) && !COMMON_NAMES.contains(name);
    names.into_iter().filter(is_a_name).map(|name| OsString::from_vec(name.to_vec())).collect()
}

/// Names of directories shared by several packages.
const COMMON_NAMES: [&[u8]; 5] = [b"lib", b"bin", b"share", b"doc", b"locale"];

/// Mount points with whether they are in memory, in order of mounting.
fn which_are_in_memory(mounts: &Mounts) -> Vec<(PathBuf, bool)> {
    let in_memory = |kind: &OsStr| MEMORY_FILE_SYSTEMS.iter().any(|known| kind == *known);
    mounts.all().iter().map(|mount| (mount.place.clone(), in_memory(&mount.file_system))).collect()
}

#[cfg(test)]
mod tests;
