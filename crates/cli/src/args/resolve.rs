//! What may be typed after `coldstart resolve`.

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

    /// Tell the whole story of one library: its name, soname or path
    #[arg(long, value_name = "LIBRARY", conflicts_with_all = ["json", "tree", "dot", "probes"])]
    pub(crate) why: Option<OsString>,

    /// List every file that is tried in vain, in order, with its rule
    #[arg(long, conflicts_with_all = ["json", "tree", "dot"])]
    pub(crate) probes: bool,

    /// Print who needs whom as a tree
    #[arg(long, conflicts_with_all = ["json", "dot"])]
    pub(crate) tree: bool,

    /// Print who needs whom as a graph for Graphviz
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

/// Under what conditions the program is thought to start.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The start")]
pub(crate) struct StartArgs {
    /// Absolute paths begin in this directory, those of links in it too, and our variables do not count
    #[arg(long, value_name = "DIR")]
    pub(crate) sysroot: Option<PathBuf>,

    /// Start it by this loader, as `PATH PROGRAM` would
    #[arg(long, value_name = "PATH")]
    pub(crate) interpreter: Option<PathBuf>,

    /// LD_LIBRARY_PATH, instead of ours
    #[arg(long, value_name = "LIST")]
    pub(crate) ld_library_path: Option<OsString>,

    /// LD_PRELOAD, instead of ours
    #[arg(long, value_name = "LIST")]
    pub(crate) ld_preload: Option<OsString>,

    /// The processor's levels, as x86-64-v3 (v2 is implied), or `native`, or `none` [default: this processor's for programs of
    /// its kind, none for others]
    #[arg(long, value_name = "LIST|native|none")]
    pub(crate) hwcaps: Option<Levels>,

    /// Leave the loader's cache out, as --inhibit-cache of the loader does
    #[arg(long)]
    pub(crate) no_cache: bool,

    /// Start it in this directory, for relative search paths; in a sysroot as seen from inside
    #[arg(long, value_name = "DIR")]
    pub(crate) current_directory: Option<PathBuf>,
}

/// What the program is known to open later.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What is opened later")]
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

/// How the answer is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Report,
    Probes,
    Tree,
    Dot,
    Json,
}

impl ResolveArgs {
    /// How the answer is shown, when not one library is asked about.
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
