//! The units of the places `login` and `upgrades`, judged by systemd.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_install::place::{Place, PlaceChoice, PlannedPlace, StartWith, Subject, SystemFacts};
use coldstart_install::{Directories, Environment, InstallError, PlannedContent, Registry};
use coldstart_testing::{is_there, script, skip};
use tempfile::TempDir;

struct Home {
    directory: TempDir,
    directories: Directories,
    system: SystemFacts,
}

impl Home {
    /// A user's home with coldstart at `coldstart`.
    fn new(name: &[u8], coldstart: &str) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let at = directory.path().join(OsStr::from_bytes(name));
        let program = at.join(coldstart);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        script(program.parent().unwrap(), &program.file_name().unwrap().to_string_lossy(), "#!/bin/sh\n", 0o755);
        let environment = Environment { home: Some(at.into()), ..Environment::default() };
        let system = SystemFacts {
            coldstart: program,
            package_databases: vec!["/var/lib/dpkg/status".into(), "/var/lib/pacman/local".into()],
            systemd_runs: true,
        };
        Self { directories: Directories::user(&environment).unwrap(), system, directory }
    }

    fn plan(&self, place: &str) -> Result<PlannedPlace, InstallError> {
        self.plan_in(place, &self.directories)
    }

    fn plan_in(&self, place: &str, directories: &Directories) -> Result<PlannedPlace, InstallError> {
        let installation = Registry::new(&directories.registry).installation(OsStr::new("app")).unwrap();
        let arguments: [OsString; 0] = [];
        PlaceChoice::parse(OsStr::new(place)).unwrap().plan(&Subject {
            name: OsStr::new("app"),
            program: Path::new("/bin/true"),
            arguments: &arguments,
            launcher: Path::new("/bin/true"),
            start_with: if place == "mount" { StartWith::Image } else { StartWith::Plan },
            ways: &[],
            installation: &installation,
            directories,
            system: &self.system,
        })
    }

    /// Writes the planned files, and returns what `systemd-analyze verify` says of all units.
    fn verified(&self, planned: &PlannedPlace) -> Option<String> {
        if !is_there("systemd-analyze") {
            skip("systemd-analyze is missing");
            return None;
        }
        let mut units: Vec<&PathBuf> = Vec::new();
        for file in &planned.shared {
            fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            match &file.content {
                PlannedContent::File(bytes) => {
                    fs::write(&file.path, bytes).unwrap();
                    units.push(&file.path);
                }
                PlannedContent::Link(target) => {
                    std::os::unix::fs::symlink(target, &file.path).unwrap();
                    assert!(file.path.is_file(), "the link leads to the unit");
                }
            }
        }
        let mut command = Command::new("systemd-analyze");
        command.args(["verify", "--man=no", "--recursive-errors=no"]).args(units);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(said.lines().filter(|line| line.contains("coldstart")).collect())
    }
}

#[test]
fn systemd_accepts_the_units_wherever_coldstart_lies() {
    for coldstart in ["bin/coldstart", "a b/%h $HOME;/coldstart"] {
        for place in ["login", "upgrades"] {
            let home = Home::new(b"my home", coldstart);
            let planned = home.plan(place).unwrap();
            let Some(said) = home.verified(&planned) else { return };
            assert_eq!(said, "", "{place}, {coldstart}");
        }
    }
}

#[test]
fn a_coldstart_that_systemd_refuses_is_refused_with_advice() {
    for name in [&b"it's"[..], b"a\\b", b"\xff"] {
        let home = Home::new(name, "coldstart");
        for place in ["login", "upgrades"] {
            let error = home.plan(place).unwrap_err();
            assert!(error.to_string().contains("systemd refuses"), "{error}");
            assert!(error.hint().unwrap().contains("/usr/local/bin/coldstart"), "{error}");
        }
    }
}

#[test]
fn a_home_of_any_bytes_has_the_units_of_a_coldstart_elsewhere() {
    let mut home = Home::new(b"it's \"my\" home\xff", "coldstart");
    home.system.coldstart = home.directory.path().join("coldstart");
    script(home.directory.path(), "coldstart", "#!/bin/sh\n", 0o755);
    for place in ["login", "upgrades"] {
        let planned = home.plan(place).unwrap();
        assert_eq!(home.verified(&planned).as_deref().unwrap_or(""), "", "{place}");
        assert!(planned.shared.iter().all(|file| file.path.starts_with(&home.directories.units)));
    }
}

#[test]
fn all_users_units_are_where_all_managers_look_and_are_enabled_by_a_link() {
    let home = Home::new(b"home", "coldstart");
    let system = Directories::system(Path::new("/r"), &Environment::default());
    let paths = |place: &str| -> Vec<String> {
        let planned = home.plan_in(place, &system).unwrap();
        planned.shared.iter().map(|file| file.path.display().to_string()).collect()
    };
    assert_eq!(
        paths("login"),
        [
            "/r/etc/systemd/user/coldstart-login.service",
            "/r/etc/systemd/user/default.target.wants/coldstart-login.service"
        ]
    );
    assert_eq!(
        paths("upgrades"),
        [
            "/r/etc/systemd/system/coldstart-refresh.service",
            "/r/etc/systemd/system/coldstart-refresh.path",
            "/r/etc/systemd/system/paths.target.wants/coldstart-refresh.path"
        ]
    );
}

#[test]
fn without_systemd_units_are_written_and_the_user_is_told() {
    let mut home = Home::new(b"home", "coldstart");
    home.system.systemd_runs = false;
    for place in ["login", "upgrades"] {
        let planned = home.plan(place).unwrap();
        assert!(planned.notes[0].contains("systemd does not run"), "{:?}", planned.notes);
        assert_eq!((planned.afterwards, planned.after_undoing), (None, None));
        assert!(!planned.shared.is_empty());
    }
    home.system.package_databases.clear();
    let error = home.plan("upgrades").unwrap_err();
    assert!(error.to_string().contains("could be watched") && error.hint().is_some(), "{error}");
}

#[test]
fn systemd_accepts_the_unit_of_an_image_and_others_than_all_users_get_none() {
    let home = Home::new(b"of us", "bin/coldstart");
    assert!(matches!(home.plan("mount"), Err(InstallError::Refused { .. })));
    let root = home.directory.path().join("a root");
    let all = Directories::system(&root, &Environment::default());
    let planned = home.plan_in("mount", &all).unwrap();
    let paths: Vec<_> = planned.shared.iter().map(|file| file.path.strip_prefix(&root).unwrap().to_owned()).collect();
    let units = Path::new("etc/systemd/system");
    let unit = "coldstart-image-app.service";
    assert_eq!(paths, [units.join(unit), units.join("multi-user.target.wants").join(unit)]);
    if let Some(said) = home.verified(&planned) {
        assert_eq!(said, "");
    }
}
