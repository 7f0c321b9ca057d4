//! A unit of every user's service manager that reads the plans of installed programs after login.
//!
//! One for all installations: it starts `coldstart installed --replay`, which finds those that have this place. It is no
//! `Type=oneshot`: `default.target` would wait for it. Battery and memory are looked at by what it starts, again and again, not by
//! conditions of the unit.

use std::ffi::OsString;

use coldstart_profile::printable;

use super::upkeep_unit::{self, WANTED_LATER};
use super::{Place, PlannedPlace, StartWith, Subject};
use crate::directories::Scope;
use crate::error::InstallError;

/// The kind of this place, as `--place` names it.
pub const LOGIN: &str = "login";
const SERVICE: &str = "coldstart-login.service";

/// `login`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login;

impl Place for Login {
    fn words(&self) -> OsString {
        LOGIN.into()
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let directories = subject.directories;
        let reason = match subject.start_with {
            StartWith::Plan => None,
            StartWith::Image => Some("a start from an image reads it itself, so that nothing is read after login"),
            StartWith::Index => Some("a start with an index reads it itself, so that nothing is read after login"),
        };
        if let Some(reason) = reason {
            let hint = "leave the place out, or install a plan: `coldstart prefetch install`";
            return Err(InstallError::refused("the place `login`".to_owned(), reason, Some(hint)));
        }
        let command = upkeep_unit::command(SERVICE, subject, "installed --replay")?;
        let service = directories.user_units.join(SERVICE);
        let mut planned = PlannedPlace {
            summary: format!("after login, for {}, by the unit `{}`", directories.for_whom(), printable(&service)),
            starts: Some(subject.system.coldstart.clone()),
            ..PlannedPlace::default()
        };
        planned.shared = vec![
            upkeep_unit::file(service, LOGIN, &service_text(&command)),
            upkeep_unit::wanted(&directories.user_units, "default.target", SERVICE),
        ];
        match (subject.system.systemd_runs, directories.scope) {
            (false, _) => planned.notes.push(upkeep_unit::no_systemd(LOGIN)),
            // Managers that run already read it after this; all others when they begin.
            (true, Scope::User) => planned.afterwards = Some("systemctl --user daemon-reload".to_owned()),
            (true, Scope::System) => planned.notes.push(WANTED_LATER.to_owned()),
        }
        Ok(planned)
    }
}

fn service_text(command: &str) -> String {
    format!(
        "[Unit]\n\
         Description=Read what installed programs need at their start\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={command}\n\
         # 1: something was left out, as on battery; 130: stopped.\n\
         SuccessExitStatus=1 130\n\
         IOSchedulingClass=idle\n\
         CPUSchedulingPolicy=idle\n\
         Nice=19\n\
         RuntimeMaxSec=15min\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}
