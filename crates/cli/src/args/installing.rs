//! Where a program is installed: the same arguments for every verb that installs.

use std::ffi::OsString;

use clap::Args;

/// The places, and for whom.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InstallArgs {
    /// Where to install: wrapper, wrapper=DIRECTORY, desktop, desktop=ID, unit=UNIT, modulefile=DIRECTORY; may be repeated
    /// [default: the desktop entries that start the program, and a wrapper]
    #[arg(long = "place", value_name = "PLACE")]
    pub(crate) places: Vec<OsString>,

    /// Name of the installation [default: the program's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<OsString>,

    /// Install for this user only, even as root
    #[arg(long)]
    pub(crate) user: bool,
}
