//! Arguments of `coldstart ldcache`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct LdcacheArgs {
    #[command(subcommand)]
    pub(crate) action: LdcacheAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LdcacheAction {
    /// Write a cache, byte for byte as `ldconfig -X` would; nothing is run, so any architecture works
    #[command(after_help = WRITE_HELP)]
    Write(WriteArgs),
    /// Show the content of a cache
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// List entries that a loader would not find, and changes since the cache was written
    #[command(after_help = CHECK_HELP)]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct WriteArgs {
    /// Where to write the cache
    #[arg(long, short, value_name = "FILE", required_unless_present_any = ["guix", "in_place"], conflicts_with = "guix")]
    pub(crate) output: Option<PathBuf>,

    /// Directories to enter, links followed; below them only `glibc-hwcaps` [default: those of /etc/ld.so.conf]
    #[arg(value_name = "DIR", conflicts_with_all = ["closure", "guix"])]
    pub(crate) directories: Vec<PathBuf>,

    /// Enter what programs load instead of whole directories: the libraries they need, found as at a real start
    #[arg(long, value_name = "PROGRAM", num_args = 1.., conflicts_with = "guix")]
    pub(crate) closure: Vec<PathBuf>,

    /// Write PREFIX/etc/ld.so.cache for all programs and libraries below PREFIX, a store item of Guix
    #[arg(long, value_name = "PREFIX")]
    pub(crate) guix: Option<PathBuf>,

    /// Write the resolution note of these files, for loaders that read it: each with its note, as OUT or below it
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["directories", "closure", "guix", "recursive",
        "ld_so_conf", "hwcaps", "arch", "glibc", "absolute", "relative_to_sysroot", "generator"])]
    pub(crate) note: Vec<PathBuf>,

    /// With --note: replace each file by its result
    #[arg(long, requires = "note", conflicts_with = "output")]
    pub(crate) in_place: bool,

    /// With --note: remove the note; the earlier content is restored, byte for byte
    #[arg(long, requires = "note", conflicts_with = "sysroot")]
    pub(crate) remove: bool,

    /// With --note: also write into privileged programs: set-user-ID, set-group-ID, file capabilities
    #[arg(long, requires = "note", conflicts_with = "remove")]
    pub(crate) allow_setuid: bool,

    /// With --note: also write into signed files, which invalidates the signature
    #[arg(long, requires = "note", conflicts_with = "remove")]
    pub(crate) allow_signed: bool,

    /// Also enter all subdirectories
    #[arg(long, requires = "directories")]
    pub(crate) recursive: bool,

    /// Enter the directories listed in this file, then the loader's default ones, as `ldconfig -f FILE`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["closure", "guix"])]
    pub(crate) ld_so_conf: Option<PathBuf>,

    /// Root directory: directories, programs, configuration and links are looked up inside
    #[arg(long, value_name = "ROOT")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Processor levels to enter: `all`, `none`, or names as x86-64-v3
    #[arg(long, value_name = "all|none|LIST", value_delimiter = ',', default_value = "all")]
    pub(crate) hwcaps: Vec<String>,

    /// Architecture of the libraries to enter, as x86-64, aarch64, riscv64, s390x [default: this machine's if found]
    #[arg(long, value_name = "MACHINE")]
    pub(crate) arch: Option<String>,

    /// Release of `ldconfig` to follow where releases differ, as 2.36 [default: that of the loader in the sysroot]
    #[arg(long, value_name = "2.NN", value_parser = release)]
    pub(crate) glibc: Option<u32>,

    /// Write paths including the sysroot, for programs that are started outside
    #[arg(long, requires = "sysroot", conflicts_with = "relative_to_sysroot")]
    pub(crate) absolute: bool,

    /// Write paths as they are inside the sysroot, as `ldconfig -r` does (default)
    #[arg(long, requires = "sysroot")]
    pub(crate) relative_to_sysroot: bool,

    /// Generator name to store in the cache
    #[arg(long, value_name = "TEXT")]
    pub(crate) generator: Option<String>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The cache, or an ELF file with a resolution note
    #[arg(value_name = "FILE", default_value = "/etc/ld.so.cache")]
    pub(crate) file: PathBuf,

    /// Only entries with this name; `*`, `?` and `[...]` are wildcards
    #[arg(long, value_name = "PATTERN", conflicts_with = "ldconfig")]
    pub(crate) name: Option<String>,

    /// Print exactly what `ldconfig -p -C FILE` prints
    #[arg(long, conflicts_with = "json")]
    pub(crate) ldconfig: bool,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The cache, or an ELF file with a resolution note; not looked up in the sysroot
    #[arg(value_name = "FILE", default_value = "/etc/ld.so.cache")]
    pub(crate) file: PathBuf,

    /// Root directory of the paths in the cache
    #[arg(long, value_name = "ROOT")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Processor levels that must be entered: `all`, `none`, or names as x86-64-v3
    #[arg(long, value_name = "all|none|LIST", value_delimiter = ',', default_value = "all")]
    pub(crate) hwcaps: Vec<String>,

    /// Check only the cache or note, not the files it names
    #[arg(long, conflicts_with = "sysroot")]
    pub(crate) only_cache: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The second number of "2.36".
fn release(text: &str) -> Result<u32, String> {
    let number = text.strip_prefix("2.").and_then(|number| number.parse().ok());
    number.filter(|&number| number >= 33).ok_or_else(|| "a release is 2.33 or later, as 2.36".to_owned())
}

const WRITE_HELP: &str = "\
Examples:
  coldstart ldcache write -o ld.so.cache /opt/app/lib
  coldstart ldcache write --sysroot image/ -o image/etc/ld.so.cache     # as `ldconfig -X -r image/`, for any machine
  coldstart ldcache write -o app.cache --closure /usr/bin/gimp
  coldstart ldcache write --guix /gnu/store/...-gimp-2.10
  coldstart ldcache write --note /nix/store/...-app/bin/app -o app         # as `patchelf --build-resolution-cache`
  coldstart ldcache write --note app --remove --in-place

The file is written beside the target, read back, and renamed into place. --force also writes the system's own cache.
Exit codes: 0 written; 1 written, and a library that a program needs is missing from it, or a file was refused its note; 2 \
something could not be read or written.";

const SHOW_HELP: &str = "\
Examples:
  coldstart ldcache show --name 'libssl*'
  coldstart ldcache show image/etc/ld.so.cache --json";

const CHECK_HELP: &str = "\
Exit codes: 0 no problems; 1 problems found, and listed; 2 neither a cache nor an ELF file, or cannot be read.
Libraries that are shadowed by an earlier directory are listed, but are not problems: that is the purpose of the order.";
