//! A drop-in of a systemd service: its command lines with the launcher in front.

pub(in crate::place) mod exec_line;
pub(in crate::place) mod file;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::{Place, PlannedPlace, Subject, find_in, is_same_file, systemd_word};
use crate::directories::Scope;
use crate::error::InstallError;
use crate::file::{MARK, PlannedFile};
use exec_line::{ExecLine, Refusal};
use file::Service;

/// Where systemd looks for a program without a path (`systemd.service(5)`).
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `unit=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// `nginx.service`.
    pub name: String,
}

impl Place for Unit {
    fn words(&self) -> OsString {
        format!("unit={}", self.name).into()
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let directories = subject.directories;
        let refused = |reason: String, hint: Option<&str>| {
            Err(InstallError::refused(format!("the unit `{}`", self.name), reason, hint))
        };
        let Some(service) = file::find(&self.name, &directories.units_search)? else {
            let hint = match directories.scope {
                Scope::System => "`systemctl list-unit-files` lists the units",
                Scope::User => {
                    "`systemctl --user list-unit-files` lists the units; as root, those of the system are used"
                }
            };
            return refused("there is no such unit".to_owned(), Some(hint));
        };
        if let Some(reason) = unfit(&service) {
            return refused(reason.to_owned(), Some("it is started as before; nothing was changed"));
        }
        let starter = subject.installation.starter();
        let Some(starter) = systemd_word::executable(&starter) else {
            let reason = format!("it would start `{}`, and {}", printable(&starter), systemd_word::UNFIT);
            let hint =
                "install for all users, as root, or set XDG_DATA_HOME to another directory; or use another place";
            return refused(reason, Some(hint));
        };
        let mut text =
            format!("# {MARK} for the installation `{}`.\n[Service]\nExecStart=\n", printable(Path::new(subject.name)));
        let mut changed = 0_usize;
        for value in &service.exec_start {
            let line = ExecLine::parse(value);
            let program = line.as_ref().and_then(|line| resolved(&line.program()));
            let is_it = program.as_ref().is_some_and(|program| is_same_file(program, subject.program));
            let value = match (line, program) {
                (Some(line), Some(program)) if is_it => {
                    changed = changed.saturating_add(1);
                    // A path with specifiers stays as it is.
                    let by_path = if line.program().contains('/') { None } else { program.to_str() };
                    match line.started_by(&starter, by_path) {
                        Ok(value) => value,
                        Err(Refusal(reason)) => return refused(reason.to_owned(), None),
                    }
                }
                _ => value.clone(),
            };
            text.push_str(&format!("ExecStart={value}\n"));
        }
        if changed == 0 {
            let shown = printable(subject.program);
            let hint = "give the program that its ExecStart= names, with `-- PROGRAM`";
            return refused(format!("it does not start `{shown}`"), Some(hint));
        }
        let path = file::drop_in(&directories.units, &self.name);
        let mut notes = Vec::new();
        if let Some(other) = &service.is_overridden_by {
            notes.push(format!("`{}` sets ExecStart= after ours, so ours has no effect", printable(other)));
        }
        let (manager, for_whom) = match directories.scope {
            Scope::System => ("systemctl", "the whole system"),
            Scope::User => ("systemctl --user", "this user"),
        };
        Ok(PlannedPlace {
            summary: format!("the drop-in `{}`, for {for_whom}", printable(&path)),
            files: vec![PlannedFile { path, bytes: text.into_bytes(), mode: 0o644 }],
            sources: service.sources,
            afterwards: Some(format!("{manager} daemon-reload")),
            notes,
            ..PlannedPlace::default()
        })
    }
}

/// Why a service must not be started through a launcher.
///
/// With `Type=notify`, `dbus`, `simple`, `exec`, `oneshot` and `idle` it may: the program keeps the process that systemd started.
fn unfit(service: &Service) -> Option<&'static str> {
    if service.exec_start.is_empty() {
        return Some("it has no ExecStart=");
    }
    if service.value("Type") == "forking" && service.value("PIDFile").is_empty() {
        return Some(
            "it has Type=forking without PIDFile=: systemd guesses its main process, and could take the process that reads \
             beside the program for it",
        );
    }
    if !service.value("SystemCallFilter").is_empty() {
        return Some(
            "its SystemCallFilter= applies to the launcher, too, and may end it for a call that the program never makes",
        );
    }
    if !service.value("RootDirectory").is_empty() || !service.value("RootImage").is_empty() {
        return Some(
            "it runs in another root directory (RootDirectory= or RootImage=), where the launcher does not exist",
        );
    }
    if !service.value("NoExecPaths").is_empty() {
        return Some("its NoExecPaths= may forbid the launcher");
    }
    None
}

/// The file that a command line names, if no specifier keeps it open.
fn resolved(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Path::new(program).is_absolute().then(|| PathBuf::from(program)).filter(|path| path.is_file());
    }
    find_in(Some(OsStr::new(PROGRAMS)), OsStr::new(program), None)
}
