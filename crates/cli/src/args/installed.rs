//! Arguments of `coldstart installed`.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InstalledArgs {
    /// The installation [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<OsString>,

    /// Record the program again with the options of its installation, and replace the plan; make changed files again first
    #[arg(long, requires = "name", conflicts_with_all = ["uninstall", "repair"])]
    pub(crate) refresh: bool,

    /// Undo the installation: restore what stood at each place, byte for byte
    #[arg(long, requires = "name", conflicts_with = "repair")]
    pub(crate) uninstall: bool,

    /// Undo installations that were interrupted, and complete interrupted removals
    #[arg(long)]
    pub(crate) repair: bool,

    /// Put the originals in place of replaced files whose packages were upgraded; dpkg runs this after each of its runs
    #[arg(long, conflicts_with_all = ["name", "refresh", "uninstall", "repair", "user"])]
    pub(crate) fall_back: bool,

    /// Also remove places that were edited since they were written
    #[arg(long, requires = "uninstall")]
    pub(crate) force: bool,

    /// Look only at the installations of this user, even as root
    #[arg(long)]
    pub(crate) user: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Lists what is installed for all users and for this user, and how it is: `fresh`; `stale`, when files of the plan have changed \
since, which are then not prefetched; or `broken`, when the launcher, the plan, the program or a place is gone or was edited. \
The program starts in any case.

Exit codes: 0 everything is fresh, or done; 1 something is stale or broken, or an edited place was kept; 2 something broke.

Examples:
  coldstart installed
  coldstart installed soffice --refresh
  coldstart installed soffice --uninstall";
