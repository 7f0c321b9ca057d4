//! Arguments of `coldstart pagecache`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct PagecacheArgs {
    #[command(subcommand)]
    pub(crate) action: PagecacheAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PagecacheAction {
    /// Show how much of files is in the page cache, and which parts
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
    /// Evict files from the page cache and explain remaining pages
    #[command(after_help = EVICT_HELP)]
    Evict(EvictArgs),
    /// Save the state of the page cache, of the whole system or of trees
    #[command(after_help = SAVE_HELP)]
    Save(SaveArgs),
    /// Drop the page cache and restore a saved state
    #[command(after_help = RESTORE_HELP)]
    Restore(RestoreArgs),
}

/// The files, and how to walk to them. The same for both actions.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    /// Files, block devices, or directories to walk; symbolic links are followed only when named here
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Do not walk into other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,
}

/// Output options.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Order of the files [default: as found]
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

    /// Also list the runs of resident pages of each file
    #[arg(long)]
    pub(crate) ranges: bool,

    #[command(flatten)]
    pub(crate) list: ListArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvictArgs {
    #[command(flatten)]
    pub(crate) files: FilesArgs,

    /// Write dirty pages to disk first (fdatasync): the kernel does not drop them otherwise
    #[arg(long)]
    pub(crate) sync: bool,

    /// Also evict the files' metadata: directory entries and inodes of the whole machine, and
    /// the metadata blocks of their file systems (needs root)
    #[arg(long)]
    pub(crate) metadata: bool,

    #[command(flatten)]
    pub(crate) list: ListArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SaveArgs {
    /// File to write; an earlier saved state is replaced once the new one is complete
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Files or directories to walk [default: every file system on storage, each once]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Skip file systems mounted below the named directories
    #[arg(long, short = 'x', requires = "paths")]
    pub(crate) one_file_system: bool,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of a sentence
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// File that `pagecache save` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Drop nothing: add the saved pages to the current ones; needs no root
    #[arg(long)]
    pub(crate) add: bool,

    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Order of files.
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
A page counts if it is in the kernel's page cache, for whatever reason. The strip shows which parts of the file are \
resident: 20 cells, each filled by its share.

Without root, Linux tells this only about files you own or could write; other files are listed as unknown.

Exit codes: 0 shown; 1 some files are unknown; 2 something could not be read.

Examples:
  coldstart pagecache show /usr/lib/firefox
  coldstart pagecache show --ranges /usr/bin/git
  coldstart pagecache show --sort resident --limit 10 /usr";

const EVICT_HELP: &str = "\
Pages stay if they are dirty (see --sync), in a running process's page table, or on a memory-backed file \
system. Each file with remaining pages is listed with the reason. Eviction affects all programs; no data is lost.

Exit codes: 0 all gone; 1 something stayed, or nobody may tell; 2 something could not be read.

Examples:
  coldstart pagecache evict /usr/lib/firefox
  coldstart pagecache evict --sync ./target/release
  coldstart pagecache evict --metadata /opt/app";

const SAVE_HELP: &str = "\
It saves the resident pages of files, the pages of block devices where they are visible (file systems' \
metadata), and the directories and symbolic links that lead to those files. Without PATH, network and memory-backed file systems \
are left out. Deleted files that are still open cannot be saved.

Linux keeps pages of other people's files secret: without root, they are counted as hidden.

Exit codes: 0 saved; 2 something broke, and no file was written.

Examples:
  coldstart pagecache save after-boot.pagecache
  coldstart pagecache save firefox.pagecache /usr/lib/firefox ~/.mozilla";

const RESTORE_HELP: &str = "\
All clean pages are dropped, for the whole machine, and exactly the saved pages are read again. No data is \
lost. Files that were removed or changed are skipped and listed. Pages that running programs have mapped cannot be \
dropped; those that were not saved count as extra.

Exit codes: 0 at least 99 % of the pages are back; 1 fewer are, or something is gone or has changed; 2 something broke.

Examples:
  sudo coldstart pagecache restore after-boot.pagecache
  coldstart pagecache restore --add firefox.pagecache";
