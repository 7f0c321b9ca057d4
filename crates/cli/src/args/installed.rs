//! Arguments of `coldstart installed`.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::span::span;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct InstalledArgs {
    /// The installation [default: all]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<OsString>,

    /// Make changed files again, record the program again with the options of its installation, and replace the plan or the image; without
    /// NAME, of all that are stale
    #[arg(long, conflicts_with_all = ["uninstall", "repair", "replay"])]
    pub(crate) refresh: bool,

    /// Wait for an idle machine before each recording, and evict only the program's own files
    #[arg(long, requires = "refresh")]
    pub(crate) when_idle: bool,

    /// Wait no longer than this in all, and leave the rest stale: seconds, or a number with s, m or h
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1h",
        requires = "when_idle",
        allow_negative_numbers = true,
        value_parser = span
    )]
    pub(crate) longest_wait: Duration,

    /// Read the plan now, in the background; without NAME, those of all installations with the place `login`
    #[arg(long, conflicts_with_all = ["uninstall", "repair"])]
    pub(crate) replay: bool,

    /// Read plans also on battery and when memory is short
    #[arg(long, requires = "replay")]
    pub(crate) anyway: bool,

    /// Only installations with a place of this kind: list or refresh them
    #[arg(long, value_name = "KIND", value_enum, conflicts_with_all = ["name", "uninstall", "repair", "replay"])]
    pub(crate) place: Option<PlaceKind>,

    /// Undo the installation: restore what stood at each place, byte for byte
    #[arg(long, requires = "name", conflicts_with = "repair")]
    pub(crate) uninstall: bool,

    /// Undo installations that were interrupted, complete interrupted removals, and mount images that are not mounted
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

/// A kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlaceKind {
    Wrapper,
    Desktop,
    Unit,
    Modulefile,
    Login,
    Upgrades,
    Mount,
}

impl PlaceKind {
    /// As the place's words begin.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Wrapper => "wrapper",
            Self::Desktop => "desktop",
            Self::Unit => "unit",
            Self::Modulefile => "modulefile",
            Self::Login => "login",
            Self::Upgrades => "upgrades",
            Self::Mount => "mount",
        }
    }
}

const HELP: &str = "\
Lists what is installed for all users and for this user, and how it is: `fresh`; `stale`, when files of the plan have changed \
since, which are then not prefetched, or originals of an image, which are then used instead; or `broken`, when the launcher, the plan, \
the image, the program or a place is gone or was edited, or an image is not mounted. \
The program starts in any case.

--replay stops on battery and when tasks wait for memory. With the place `login` it is done after each login, and with \
`upgrades` the refresh of stale plans after each upgrade of packages.

Exit codes: 0 everything is fresh, or done; 1 something is stale or broken, was left out, or an edited place was kept; 2 \
something broke; 130 ended by a signal.

Examples:
  coldstart installed
  coldstart installed soffice --refresh
  coldstart installed --refresh --when-idle
  coldstart installed --replay
  coldstart installed soffice --uninstall";
