//! What the units have in common that keep plans in use and up to date.

use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::{Subject, systemd_word};
use crate::error::InstallError;
use crate::file::MARK;
use crate::shared::{PlannedContent, PlannedShared};

/// Said where no command makes running service managers read a unit.
pub(super) const WANTED_LATER: &str = "users who are logged in get the unit at their next login";

/// The command line of a unit: coldstart with these words.
pub(super) fn command(unit: &str, subject: &Subject<'_>, words: &str) -> Result<String, InstallError> {
    let coldstart = &subject.system.coldstart;
    let Some(program) = systemd_word::executable(coldstart) else {
        let reason = format!("it would start `{}`, and {}", printable(coldstart), systemd_word::UNFIT);
        let hint = "install coldstart under another path, such as /usr/local/bin/coldstart, and repeat the command with that one";
        return Err(InstallError::refused(format!("the unit `{unit}`"), reason, Some(hint)));
    };
    Ok(format!("{program} {words}"))
}

/// A unit that all installations with a place share.
pub(super) fn file(path: PathBuf, place: &str, text: &str) -> PlannedShared {
    let head = format!("# {MARK}; removed with the last installation that has the place `{place}`.\n");
    PlannedShared { path, content: PlannedContent::File((head + text).into_bytes()) }
}

/// The link by which a target starts a unit, as `systemctl enable` makes it.
pub(super) fn wanted(units: &Path, target: &str, unit: &str) -> PlannedShared {
    let path = units.join(format!("{target}.wants")).join(unit);
    PlannedShared { path, content: PlannedContent::Link(Path::new("..").join(unit)) }
}

/// A note for a machine that runs another service manager.
pub(super) fn no_systemd(place: &str) -> String {
    format!(
        "systemd does not run on this machine: the unit of the place `{place}` was written and has no effect until it does"
    )
}
