//! What may be typed after `coldstart doctor`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct DoctorArgs {
    /// Only what bears on this verb
    #[arg(long, value_enum, value_name = "VERB")]
    pub(crate) verb: Option<VerbChoice>,

    /// List what is fine, and what no verb uses, too
    #[arg(long)]
    pub(crate) all: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// The verbs that ask something of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerbChoice {
    /// See what ELF files cost
    Inspect,
    /// See how libraries are found
    Resolve,
    /// Time starts
    Measure,
    /// Rewrite ELF files
    Pack,
    /// Prove packed and bound files
    Verify,
    /// Restore packed files
    Unpack,
    /// Let every library be found at the first try
    Bind,
    /// Restore bound programs
    Unbind,
    /// See which edits files hold
    Status,
    /// Read and write loader caches
    Ldcache,
    /// See or change what is in memory
    Pagecache,
    /// Record and replay what a program reads
    Prefetch,
    /// Record what a start does
    Trace,
    /// Look at a start
    View,
    /// The whole story
    Speedup,
}

const HELP: &str = "\
Looks and tries without changing anything: what each verb can do on this machine, what is missing, what that costs, and the \
command that grants it.

Exit codes: 0 every verb works, some perhaps by a stand-in; 1 a verb cannot work at all here (with --verb: that one).

Examples:
  coldstart doctor
  coldstart doctor --verb measure
  coldstart doctor --all --json";
