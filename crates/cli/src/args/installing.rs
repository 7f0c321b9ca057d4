//! Where a program is installed: the same arguments for every verb that installs.

use std::ffi::OsString;

use clap::Args;

/// The places, and for whom.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InstallArgs {
    /// Where to install: wrapper, wrapper=DIRECTORY, desktop, desktop=ID, unit=UNIT, modulefile=DIRECTORY, login, upgrades, mount; may
    /// be repeated
    /// [default: the desktop entries that start the program, and a wrapper]
    #[arg(long = "place", value_name = "PLACE")]
    pub(crate) places: Vec<OsString>,

    /// Also read the plan after login, in the background, so that the first start is hot: the place `login`
    #[arg(long)]
    pub(crate) at_login: bool,

    /// Also record again after upgrades of packages, which starts the program while the machine is idle: the place `upgrades`
    #[arg(long)]
    pub(crate) after_upgrades: bool,

    /// Name of the installation [default: the program's name]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<OsString>,

    /// Install for this user only, even as root
    #[arg(long)]
    pub(crate) user: bool,
}

impl InstallArgs {
    /// Whether one of them is given.
    pub(crate) fn is_given(&self) -> bool {
        !self.places.is_empty() || self.at_login || self.after_upgrades || self.name.is_some() || self.user
    }

    /// The places besides those that are named, or besides those that fit.
    pub(crate) fn also(&self) -> Vec<OsString> {
        let asked = [(self.at_login, "login"), (self.after_upgrades, "upgrades")];
        asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, place)| place.into()).collect()
    }
}
