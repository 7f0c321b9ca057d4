//! Arguments of `coldstart pack`.

use std::path::PathBuf;

use clap::Args;
use coldstart_rewrite::{LibcFloor, Passes};

use super::rewriting::{ManyArgs, PlaceArgs};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PackArgs {
    /// Shared libraries and position-independent programs, or directories to walk
    #[arg(required_unless_present = "list_passes", value_name = "FILE|DIR")]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Show the plan; write nothing
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    pub(crate) dry_run: bool,

    /// Keep the old file as PATH; below PATH, if there are several
    #[arg(long, value_name = "PATH", requires = "in_place", conflicts_with_all = ["output", "dry_run"])]
    pub(crate) keep_original: Option<PathBuf>,

    /// What to do, separated by commas: relr, bind-local, pure-virtual, all-safe for these three, or stub in place of relr;
    /// with lower-alignment for files of old linkers. A file that one pass refuses still gets the others
    #[arg(long, value_name = "LIST", default_value = "relr")]
    pub(crate) passes: Passes,

    /// List the passes: what each does, when it is safe, and what it leaves alone
    #[arg(long, exclusive = true)]
    pub(crate) list_passes: bool,

    /// For bind-local and stub: a program, or the trace of a start, that loads the files. Name all that do; references are then also
    /// bound where none of these programs lets another object take them over
    #[arg(long, value_name = "PROGRAM|TRACE")]
    pub(crate) closed_world: Vec<PathBuf>,

    /// The oldest C library that must load the result: 2.36, glibc-2.36, musl-1.2.4, android-30 [default: this
    /// machine's, and 2.36]
    #[arg(long, value_name = "VERSION")]
    pub(crate) min_libc: Option<LibcFloor>,

    /// Where bytes cannot be removed from the file, punch a hole that uses no disk space
    #[arg(long)]
    pub(crate) sparse: bool,

    /// If no other entry of the dynamic table is available, give up DT_SYMENT, which no loader reads
    #[arg(long)]
    pub(crate) drop_syment: bool,

    /// Leave out the data that `unpack` needs to restore the original
    #[arg(long)]
    pub(crate) no_undo: bool,

    /// Also pack privileged files: set-user-ID, set-group-ID, file capabilities
    #[arg(long)]
    pub(crate) allow_setuid: bool,

    /// Also pack signed files, which invalidates the signature
    #[arg(long)]
    pub(crate) allow_signed: bool,

    #[command(flatten)]
    pub(crate) many: ManyArgs,
}

const HELP: &str = "\
Choose an output: -o, --in-place or --dry-run. Nothing is rewritten in place by default. Each result is \
written beside its target, proven to be equivalent for a loader, and then renamed into place; files in use \
are safe.

Of a directory, only packed files are written below OUT, by their paths in the directory. Symbolic links in it are not \
followed, and a file with several names is packed once.

Exit codes: 0 packed, or nothing to do; 1 a file named here was refused; 2 something could not be read or written, or \
was not proven.

Examples:
  coldstart pack libfoo.so -o packed/
  coldstart pack --in-place --keep-original /var/backups/app /opt/app
  coldstart pack --dry-run /usr/lib
  coldstart pack --passes all-safe --closed-world /opt/app/bin/app -o packed/ /opt/app/lib";
