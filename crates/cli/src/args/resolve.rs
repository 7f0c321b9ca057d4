//! Arguments of `coldstart resolve`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use coldstart_startup::Levels;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct ResolveArgs {
    /// Programs or libraries: paths, or names on PATH
    #[arg(required = true, value_name = "PROGRAM")]
    pub(crate) programs: Vec<PathBuf>,

    /// Explain one library in detail: its name, soname or path
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["json", "tree", "dot", "probes"])]
    pub(crate) why: Option<OsString>,

    /// List every failed probe, in order, with its rule
    #[arg(long, conflicts_with_all = ["json", "tree", "dot"])]
    pub(crate) probes: bool,

    /// Print the dependencies as a tree
    #[arg(long, conflicts_with_all = ["json", "dot"])]
    pub(crate) tree: bool,

    /// Print the dependencies as a graph for Graphviz
    #[arg(long, conflicts_with = "json")]
    pub(crate) dot: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Show all rows of all tables instead of the first
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) start: StartArgs,

    #[command(flatten)]
    pub(crate) later: LaterArgs,
}

/// The environment of the simulated start.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The start")]
pub(crate) struct StartArgs {
    /// Root directory for absolute paths and links; our variables do not count
    #[arg(long, value_name = "DIR")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Use this loader, as in `PATH PROGRAM`
    #[arg(long, value_name = "PATH")]
    pub(crate) interpreter: Option<PathBuf>,

    /// LD_LIBRARY_PATH, instead of ours
    #[arg(long, value_name = "LIST")]
    pub(crate) ld_library_path: Option<OsString>,

    /// LD_PRELOAD, instead of ours
    #[arg(long, value_name = "LIST")]
    pub(crate) ld_preload: Option<OsString>,

    /// The processor's levels, as x86-64-v3 (v2 is implied), or `native`, or `none` [default: this processor's for programs of
    /// its architecture, none for others]
    #[arg(long, value_name = "LIST|native|none")]
    pub(crate) hwcaps: Option<Levels>,

    /// Ignore the loader's cache, as the loader's own --inhibit-cache
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Working directory, for relative search paths; inside a sysroot if there is one
    #[arg(long, value_name = "DIR")]
    pub(crate) current_directory: Option<PathBuf>,
}

/// Libraries opened later.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Libraries opened later")]
pub(crate) struct LaterArgs {
    /// List shared objects that this prefetch plan reads and the start does not load
    #[arg(long, value_name = "PLAN")]
    pub(crate) later: Option<PathBuf>,

    /// List shared objects that this process has mapped and the start does not load
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: Option<u32>,

    /// The same from a copy of its /proc/PID/maps
    #[arg(long, value_name = "FILE")]
    pub(crate) mapped: Option<PathBuf>,
}

/// Output options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Report,
    Probes,
    Tree,
    Dot,
    Json,
}

impl ResolveArgs {
    /// The format, unless one library is queried.
    pub(crate) fn form(&self) -> Form {
        match () {
            () if self.json => Form::Json,
            () if self.dot => Form::Dot,
            () if self.tree => Form::Tree,
            () if self.probes => Form::Probes,
            () => Form::Report,
        }
    }
}

const HELP: &str = "\
Nothing is run. The rules are those of glibc and musl, whichever the program's loader is.

Exit codes: 0 everything needed is found; 1 something needed is missing, or the start would end at a file; 2 wrong usage, or the \
program cannot be read.

Examples:
  coldstart resolve zenity
  coldstart resolve --why libpcre2-8.so.0 zenity
  coldstart resolve --sysroot /srv/image --hwcaps x86-64-v3 /usr/bin/app
  coldstart resolve --dot app | dot -Tsvg > app.svg";
