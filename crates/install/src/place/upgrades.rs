//! Units that record stale plans again after upgrades: one watches the databases of package managers, one does the work.
//!
//! One pair for all installations of a system or a user: it starts `coldstart installed --refresh --place upgrades`. The program
//! is started for that, by root for all users' installations, otherwise by the user's own service manager. So nobody gets this
//! place who did not ask for it.
//!
//! Not obvious: systemd does not watch while the service runs (`path_enter_running` in src/core/path.c). What changes then is
//! found by the service itself, which looks again before it ends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::{Place, PlannedPlace, Subject, upkeep_unit};
use crate::directories::Scope;
use crate::error::InstallError;

/// The kind of this place, as `--place` names it.
pub const UPGRADES: &str = "upgrades";
const SERVICE: &str = "coldstart-refresh.service";
const PATH: &str = "coldstart-refresh.path";

/// `upgrades`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgrades;

impl Place for Upgrades {
    fn words(&self) -> OsString {
        UPGRADES.into()
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let (directories, system) = (subject.directories, subject.system);
        if system.package_databases.is_empty() {
            let hint = "record again by `coldstart installed --refresh`, as from a timer";
            let reason = "no database of dpkg, rpm or pacman exists here that could be watched";
            return Err(InstallError::refused(format!("the unit `{PATH}`"), reason, Some(hint)));
        }
        let (manager, user) = match directories.scope {
            Scope::System => ("systemctl", ""),
            Scope::User => ("systemctl --user", " --user"),
        };
        let arguments = format!("installed --refresh --place {UPGRADES}{user} --when-idle --longest-wait 6h");
        let command = upkeep_unit::command(SERVICE, subject, &arguments)?;
        let (service, path) = (directories.units.join(SERVICE), directories.units.join(PATH));
        let by_whom = match directories.scope {
            Scope::System => "as root",
            Scope::User => "as this user",
        };
        let mut planned = PlannedPlace {
            summary: format!(
                "recorded again after upgrades, {by_whom}, while the machine is idle, by the unit `{}`",
                printable(&path)
            ),
            starts: Some(system.coldstart.clone()),
            ..PlannedPlace::default()
        };
        planned.shared = vec![
            upkeep_unit::file(service, UPGRADES, &service_text(&command)),
            upkeep_unit::file(path, UPGRADES, &path_text(&system.package_databases)),
            upkeep_unit::wanted(&directories.units, "paths.target", PATH),
        ];
        if system.systemd_runs {
            planned.afterwards = Some(format!("{manager} daemon-reload && {manager} start {PATH}"));
            planned.after_undoing = Some(format!("{manager} stop {PATH} && {manager} daemon-reload"));
        } else {
            planned.notes.push(upkeep_unit::no_systemd(UPGRADES));
        }
        Ok(planned)
    }
}

/// A change starts the service; further ones while it runs start nothing.
fn path_text(databases: &[PathBuf]) -> String {
    let changed = |path: &PathBuf| format!("PathChanged={}\n", Path::display(path));
    let watched: String = databases.iter().map(changed).collect();
    format!(
        "[Unit]\n\
         Description=Watch for upgrades of packages\n\
         \n\
         [Path]\n\
         {watched}\
         Unit={SERVICE}\n\
         \n\
         [Install]\n\
         WantedBy=paths.target\n"
    )
}

fn service_text(command: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Record prefetch plans again that upgrades made stale\n\
         # One upgrade may start it often; the limit would end the watching, too.\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         # The recorded programs may need it, and services of the system have none.\n\
         Environment=HOME=%h\n\
         ExecStart={command}\n\
         # 1: something was left as it is; 130: stopped.\n\
         SuccessExitStatus=1 130\n\
         IOSchedulingClass=best-effort\n\
         IOSchedulingPriority=7\n\
         Nice=10\n\
         TimeoutStartSec=infinity\n"
    )
}
