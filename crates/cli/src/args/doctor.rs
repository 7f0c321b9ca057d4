//! Arguments of `coldstart doctor`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    /// Only what affects this verb
    #[arg(long, value_enum, value_name = "VERB")]
    pub(crate) verb: Option<VerbChoice>,

    /// Also list what is fine, and what no verb uses
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The verbs that have requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerbChoice {
    /// Show what ELF files cost
    Inspect,
    /// Show how libraries are found
    Resolve,
    /// Measure starts
    Measure,
    /// Rewrite ELF files
    Pack,
    /// Verify packed and bound files
    Verify,
    /// Restore packed files
    Unpack,
    /// Make every library be found at the first try
    Bind,
    /// Restore bound programs
    Unbind,
    /// List coldstart's edits in files
    Status,
    /// Read and write loader caches
    Ldcache,
    /// Show or change the page cache
    Pagecache,
    /// Record and replay a program's reads
    Prefetch,
    /// Put a program's files into one image
    Image,
    /// Find modules at the first try
    Index,
    /// Order by first use
    Order,
    /// List, refresh and undo installations
    Installed,
    /// Record a start
    Trace,
    /// Show a recorded start
    View,
    /// Measure, fix, verify
    Speedup,
}

const HELP: &str = "\
Tests without changing anything: what each verb can do on this machine, what is missing, what that costs, and the \
command that provides it.

Exit codes: 0 every verb works, some perhaps by a stand-in; 1 a verb cannot work at all here (with --verb: that one).

Examples:
  coldstart doctor
  coldstart doctor --verb measure
  coldstart doctor --all --json";
