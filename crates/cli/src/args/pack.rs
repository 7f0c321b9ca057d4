//! What may be typed after `coldstart pack`.

use std::path::PathBuf;

use clap::Args;
use coldstart_rewrite::LibcFloor;

use super::rewriting::{ManyArgs, PlaceArgs};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct PackArgs {
    /// Shared libraries and position-independent programs, or directories to walk
    #[arg(required = true, value_name = "FILE|DIR")]
    pub(crate) targets: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// Plan and say what would be done; write nothing
    #[arg(long, conflicts_with_all = ["output", "in_place"])]
    pub(crate) dry_run: bool,

    /// Keep the file that was there before as PATH; below PATH, when there are several
    #[arg(long, value_name = "PATH", requires = "in_place", conflicts_with_all = ["output", "dry_run"])]
    pub(crate) keep_original: Option<PathBuf>,

    /// The oldest C library that must load the result: 2.36, glibc-2.36, musl-1.2.4, android-30 [default: this
    /// machine's, and 2.36]
    #[arg(long, value_name = "VERSION")]
    pub(crate) min_libc: Option<LibcFloor>,

    /// Where bytes cannot leave the file, leave a hole there that takes no room on disk
    #[arg(long)]
    pub(crate) sparse: bool,

    /// If no other entry of the dynamic table can be spared, give up DT_SYMENT, which no loader reads
    #[arg(long)]
    pub(crate) drop_syment: bool,

    /// Leave out what `unpack` needs to restore the original
    #[arg(long)]
    pub(crate) no_undo: bool,

    /// Pack files that give rights to whoever runs them: set-user-ID, set-group-ID, capabilities
    #[arg(long)]
    pub(crate) allow_setuid: bool,

    /// Pack files that are signed, whose signature will not fit any more
    #[arg(long)]
    pub(crate) allow_signed: bool,

    #[command(flatten)]
    pub(crate) many: ManyArgs,
}

const HELP: &str = "\
Say where the result goes: -o, --in-place or --dry-run. Nothing is rewritten in place without being told. Each result is \
written beside its target and proven to be the same to a loader, and only then put in place by a rename; files in use \
are no problem.

Of a directory, only packed files are written below OUT, by their paths in the directory. Symbolic links in it are not \
followed, and a file with several names is taken once.

Exit codes: 0 packed, or nothing to do; 1 a file named here was refused; 2 something could not be read or written, or \
was not proven.

Examples:
  coldstart pack libfoo.so -o packed/
  coldstart pack --in-place --keep-original /var/backups/app /opt/app
  coldstart pack --dry-run /usr/lib";
