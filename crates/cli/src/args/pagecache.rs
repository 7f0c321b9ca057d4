//! What may be typed after `coldstart pagecache`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct PagecacheArgs {
    #[command(subcommand)]
    pub(crate) action: PagecacheAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PagecacheAction {
    /// Show how much of files is in the page cache, and where in them
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Remove files from the page cache and say what stayed and why
    #[command(after_help = EVICT_HELP)]
    Evict(EvictArgs),
}

/// Which files, and how to walk to them. The same for both actions.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// Files, block devices, or directories to walk; symbolic links are followed only when named here
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Do not walk into other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,
}

/// How to print.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Order of the files [default: as they were found]
    #[arg(long, value_enum, value_name = "KEY")]
    pub(crate) sort: Option<SortKey>,

    /// List at most this many files, 0 for all; totals always cover all [default: 40, with --json all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,

    /// List the runs of resident pages of each file, too
    #[arg(long)]
    pub(crate) ranges: bool,

    #[command(flatten)]
    pub(crate) list: ListArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvictArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,

    /// Write changed pages to disk first (fdatasync): the kernel does not drop what is not yet written
    #[arg(long)]
    pub(crate) sync: bool,

    #[command(flatten)]
    pub(crate) list: ListArgs,
}

/// What to order files by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortKey {
    /// Largest file first
    Size,
    /// Most resident pages first
    Resident,
    /// By path, byte by byte
    Path,
}

const SHOW_HELP: &str = "\
A page counts when it is in the kernel's page cache, whoever brought it in. The strip shows where in the file the
resident pages are: 20 cells, each filled by its share.

Without root, Linux tells this only about files you own or could write; other files are listed as unknown.

Exit codes: 0 shown; 1 some files are unknown; 2 something could not be read.

Examples:
  coldstart pagecache show /usr/lib/firefox
  coldstart pagecache show --ranges /usr/bin/git
  coldstart pagecache show --sort resident --limit 10 /usr";

const EVICT_HELP: &str = "\
Pages stay when they are not yet written (see --sync), are in a running process's page table, or belong to a file
system that lives in memory. Each is named with its reason. Pages are dropped for everybody; no data is lost.

Exit codes: 0 all gone; 1 something stayed, or nobody may tell; 2 something could not be read.

Examples:
  coldstart pagecache evict /usr/lib/firefox
  coldstart pagecache evict --sync ./target/release";
