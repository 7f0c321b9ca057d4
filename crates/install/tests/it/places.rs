//! What is planned at each place, judged by the programs that read it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_install::place::{
    Place, PlaceChoice, PlannedPlace, StartWay, StartWith, Subject, SystemFacts, starter_file,
};
use coldstart_install::{Directories, Environment, InstallError, Installation, Registry};
use coldstart_testing::{is_there, script, skip, succeed};
use tempfile::TempDir;

/// A user's home with a program, a launcher that says what it was given, and a plan.
struct Home {
    _directory: TempDir,
    at: PathBuf,
    directories: Directories,
    installation: Installation,
    program: PathBuf,
    launcher: PathBuf,
    ways: Vec<StartWay>,
    system: SystemFacts,
}

fn home(name: &[u8]) -> Home {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = directory.path().join(OsStr::from_bytes(name));
    fs::create_dir_all(at.join("bin")).unwrap();
    let program = script(&at.join("bin"), "app", "#!/bin/sh\necho app \"$#\" \"$@\"\n", 0o755);
    let launcher = "#!/bin/sh\ntest \"$2\" = -- || exit 9\nshift 2\necho launched\nexec \"$@\"\n";
    let launcher = script(&at.join("bin"), "launcher", launcher, 0o755);
    let system = SystemFacts {
        coldstart: at.join("bin/coldstart"),
        package_databases: vec!["/var/lib/dpkg/status".into()],
        systemd_runs: true,
    };
    let environment = Environment {
        home: Some(at.clone().into()),
        data_dirs: Some(at.join("share").into()),
        path: Some(at.join("bin").into()),
        ..Environment::default()
    };
    let directories = Directories::user(&environment).unwrap();
    let installation = Registry::new(&directories.registry).installation(OsStr::new("app")).unwrap();
    fs::create_dir_all(installation.directory()).unwrap();
    fs::write(installation.plan(), "plan").unwrap();
    let ways = vec![StartWay { needs: vec![installation.plan()], words: vec![installation.plan().into()] }];
    Home { _directory: directory, at, directories, installation, program, launcher, ways, system }
}

impl Home {
    fn subject<'a>(&'a self, arguments: &'a [OsString]) -> Subject<'a> {
        Subject {
            name: OsStr::new("app"),
            program: &self.program,
            arguments,
            launcher: &self.launcher,
            start_with: StartWith::Plan,
            ways: &self.ways,
            installation: &self.installation,
            directories: &self.directories,
            system: &self.system,
        }
    }

    fn plan(&self, place: &str) -> Result<PlannedPlace, InstallError> {
        PlaceChoice::parse(OsStr::new(place)).unwrap().plan(&self.subject(&[]))
    }

    /// Plans a place and writes its files.
    fn written(&self, place: &str) -> PlannedPlace {
        let planned = self.plan(place).unwrap();
        let starter = starter_file(&self.subject(&[]));
        for file in planned.files.iter().chain(&planned.own_files).chain([&starter]) {
            fs::create_dir_all(file.path.parent().unwrap()).unwrap();
            fs::write(&file.path, &file.bytes).unwrap();
            fs::set_permissions(&file.path, Permissions::from_mode(file.mode)).unwrap();
        }
        planned
    }

    fn entry(&self, id: &str, text: &str) {
        fs::create_dir_all(self.at.join("share/applications")).unwrap();
        fs::write(self.at.join("share/applications").join(id), text).unwrap();
    }
}

const ODD: &[u8] = b"it's a \"home\" $(x) %u\n\xff";

#[test]
fn a_wrapper_starts_with_the_launcher_and_without_it_if_that_is_gone() {
    for name in [b"home".as_slice(), ODD] {
        let home = home(name);
        let planned = home.written("wrapper");
        let wrapper = &planned.files[0].path;
        let start =
            || succeed(Command::new(wrapper).args(["a b", "", "*"]).env("plan", "mine").env("PATH", "/bin:/usr/bin"));
        assert_eq!(start(), "launched\napp 3 a b  *\n");
        fs::rename(home.installation.plan(), home.at.join("away")).unwrap();
        assert_eq!(start(), "app 3 a b  *\n");
        fs::rename(home.at.join("away"), home.installation.plan()).unwrap();
        fs::set_permissions(&home.launcher, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(start(), "app 3 a b  *\n");
        fs::remove_file(&home.launcher).unwrap();
        assert_eq!(start(), "app 3 a b  *\n");
        // The program's path leads to the wrapper: it would start itself without end.
        fs::remove_file(&home.program).unwrap();
        std::os::unix::fs::symlink(wrapper, &home.program).unwrap();
        assert_eq!(Command::new(wrapper).output().unwrap().status.code(), Some(126));
        assert!(planned.notes[0].contains("is not in PATH"), "{:?}", planned.notes);
    }
}

#[test]
fn a_program_is_not_replaced_by_its_own_wrapper() {
    let home = home(b"home");
    let error = home.plan(&format!("wrapper={}", home.at.join("bin").display())).unwrap_err();
    assert!(error.to_string().contains("the program itself") && error.hint().is_some(), "{error}");
}

const ENTRY: &str = "[Desktop Entry]\nType=Application\nName=App\nExec=app --new %U\nTryExec=app\nActions=more;\n\n\
                     [Desktop Action more]\nName=More\nExec=app --more\n";

#[test]
fn desktop_entries_that_start_the_program_are_copied() {
    let home = home(b"my home");
    home.entry("app.desktop", ENTRY);
    home.entry("script.desktop", &ENTRY.replace("--new", "/usr/share/other.py"));
    home.entry("hidden.desktop", &format!("{ENTRY}\n[Desktop Entry]\nHidden=true\n"));
    home.entry("other.desktop", &ENTRY.replace("Exec=app", "Exec=sh"));
    let planned = home.written("desktop");
    let copy = home.at.join(".local/share/applications/app.desktop");
    assert_eq!(planned.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>(), std::slice::from_ref(&copy));
    let text = fs::read_to_string(&copy).unwrap();
    assert_eq!(text.matches("/start\" ").count(), 2, "{text}");
    assert!(text.contains("--new %U\n") && text.contains("TryExec=app\n"), "{text}");
    match is_there("desktop-file-validate") {
        true => drop(succeed(Command::new("desktop-file-validate").arg(&copy))),
        false => skip("desktop-file-validate is missing"),
    }
}

#[test]
fn entries_started_through_dbus_are_started_by_command_or_refused() {
    let home = home(b"home");
    let dbus = ENTRY.replace("TryExec=app", "DBusActivatable=true");
    home.entry("org.app.desktop", &dbus);
    let planned = home.plan("desktop").unwrap();
    assert!(String::from_utf8_lossy(&planned.files[0].bytes).contains("DBusActivatable=false"));
    assert!(planned.notes[0].contains("no longer through D-Bus"), "{:?}", planned.notes);
    home.entry("org.app.desktop", &dbus.replace("Exec=app --more\n", ""));
    let error = home.plan("desktop=org.app").unwrap_err();
    assert!(error.to_string().contains("no command line"), "{error}");
    assert!(home.plan("desktop=none").unwrap_err().to_string().contains("none of this id"));
}

fn unit(home: &Home, name: &str, text: &str) {
    let directory = home.at.join(".config/systemd/user");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(name), text.replace("APP", &home.program.to_string_lossy())).unwrap();
}

#[test]
fn a_service_gets_a_drop_in_that_systemd_accepts() {
    let home = home(b"my home");
    let text = "[Service]\nType=oneshot\nExecStart=-:\"APP\" $A \\\n  # between\n  %i\nExecStart=/bin/true\n";
    unit(&home, "app@.service", text);
    let planned = home.written("unit=app@one.service");
    let written = fs::read_to_string(&planned.files[0].path).unwrap();
    let lines: Vec<&str> = written.lines().skip(1).collect();
    let start = home.installation.starter();
    let first = format!("ExecStart=-:\"{}\" \"{}\" $A  %i", start.display(), home.program.display());
    let squeezed: Vec<String> = lines.iter().map(|line| line.replace("   ", " ")).collect();
    assert_eq!(squeezed[..2], ["[Service]", "ExecStart="]);
    assert_eq!(squeezed[2].split_whitespace().collect::<Vec<_>>(), first.split_whitespace().collect::<Vec<_>>());
    assert_eq!(squeezed[3], "ExecStart=/bin/true");
    assert_eq!(planned.afterwards.as_deref(), Some("systemctl --user daemon-reload"));
    if !is_there("systemd-analyze") {
        return skip("systemd-analyze is missing");
    }
    let directory = planned.files[0].path.parent().unwrap().parent().unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no", "app@one.service"])
        .env("SYSTEMD_UNIT_PATH", format!("{}:", directory.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("coldstart.conf") && !said.contains("app@one.service:"), "{said}");
}

/// What `systemd-analyze verify` says of a unit that starts this; `None` where it is missing.
fn verified(at: &Path, program: &str) -> Option<String> {
    if !is_there("systemd-analyze") {
        skip("systemd-analyze is missing");
        return None;
    }
    let unit = at.join("verified.service");
    fs::write(&unit, format!("[Service]\nType=oneshot\nExecStart={program}\n")).unwrap();
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&unit).output().unwrap();
    Some(String::from_utf8_lossy(&output.stderr).lines().filter(|line| line.contains("verified.service")).collect())
}

#[test]
fn a_unit_names_the_starter_as_systemd_reads_it_or_is_refused() {
    for name in [&b"a b"[..], b"%h $HOME", "\u{fc};{x}".as_bytes()] {
        let home = home(name);
        unit(&home, "a.service", "[Service]\nExecStart=/bin/sh\n");
        let subject = Subject { program: Path::new("/bin/sh"), ..home.subject(&[]) };
        let planned = PlaceChoice::parse(OsStr::new("unit=a.service")).unwrap().plan(&subject).unwrap();
        fs::write(home.installation.starter(), "#!/bin/sh\n").unwrap();
        fs::set_permissions(home.installation.starter(), Permissions::from_mode(0o755)).unwrap();
        let text = String::from_utf8_lossy(&planned.files[0].bytes).into_owned();
        let line = text.lines().last().unwrap().strip_prefix("ExecStart=").unwrap();
        let Some(said) = verified(home._directory.path(), line) else { return };
        assert_eq!(said, "", "{line}");
    }
    for name in [&b"it's"[..], b"a\"b", b"a\\b", b"a\nb", b"\xff"] {
        let home = home(name);
        unit(&home, "a.service", "[Service]\nExecStart=/bin/sh\n");
        let subject = Subject { program: Path::new("/bin/sh"), ..home.subject(&[]) };
        let error = PlaceChoice::parse(OsStr::new("unit=a.service")).unwrap().plan(&subject).unwrap_err();
        assert!(error.to_string().contains("systemd refuses") && error.hint().is_some(), "{error}");
    }
    // And it does refuse them.
    let home = home(b"home");
    for path in ["\"/a\\\"b\"", "\"/it's\"", "\"/a\\\\b\"", "\"/a\\nb\""] {
        let Some(said) = verified(&home.at, path) else { return };
        assert!(said.contains("special characters"), "{path}: {said}");
    }
}

#[test]
fn services_that_a_launcher_would_change_are_refused_with_the_reason() {
    let home = home(b"home");
    for (text, reason) in [
        ("[Service]\nType=forking\nExecStart=APP\n", "PIDFile"),
        ("[Service]\nSystemCallFilter=@system-service\nExecStart=APP\n", "SystemCallFilter"),
        ("[Service]\nRootDirectory=/x\nExecStart=APP\n", "RootDirectory"),
        ("[Service]\nExecStart=@APP other\n", "another name"),
        ("[Service]\nExecStart=/bin/true\n", "does not start"),
        ("[Service]\n", "no ExecStart="),
    ] {
        unit(&home, "a.service", text);
        let error = home.plan("unit=a.service").unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    unit(&home, "a.service", "[Service]\nType=forking\nPIDFile=/run/a\nExecStart=APP\n");
    home.plan("unit=a.service").unwrap();
    assert!(home.plan("unit=none.service").unwrap_err().to_string().contains("no such unit"));
}

#[test]
fn a_module_puts_the_wrapper_in_front() {
    let home = home(b"a $home [x]");
    let modules = home.at.join("modules");
    let planned = home.written(&format!("modulefile={}", modules.display()));
    let bin = home.installation.wrappers();
    assert_eq!(succeed(Command::new(bin.join("app")).arg("x")), "launched\napp 1 x\n");
    let said = format!("PATH {}\n", bin.display());
    let is_lua = |path: &Path| path.extension().is_some_and(|ending| ending == "lua");
    for file in &planned.files {
        let (interpreter, prelude, path) = match is_lua(&file.path) {
            true => ("lua5.4", "function whatis() end function prepend_path(a, b) print(a .. ' ' .. b) end\n", "m.lua"),
            false => ("tclsh", "proc module-whatis args {}\nproc prepend-path {a b} {puts \"$a $b\"}\n", "m.tcl"),
        };
        if Command::new(interpreter).stdin(std::process::Stdio::null()).output().is_err() {
            skip(&format!("{interpreter} is missing"));
            continue;
        }
        let path = home.at.join(path);
        fs::write(&path, [prelude.as_bytes(), &file.bytes].concat()).unwrap();
        assert_eq!(succeed(Command::new(interpreter).arg(&path)), said);
    }
    assert!(String::from_utf8_lossy(&planned.files[0].bytes).starts_with("#%Module1.0\n"));
}

#[test]
fn a_start_leaves_out_what_is_missing() {
    let mut home = home(b"home");
    let index = home.installation.index().join("current/manifest");
    let way = |needs: &[&PathBuf], word: &str| StartWay {
        needs: needs.iter().map(|&path| path.clone()).collect(),
        words: vec![word.into()],
    };
    let plan = home.installation.plan();
    home.ways = vec![way(&[&plan, &index], "both"), way(&[&plan], "plan"), way(&[&index], "index")];
    let launcher = "#!/bin/sh\necho \"$1\"\n";
    script(&home.at.join("bin"), "launcher", launcher, 0o755);
    let starter = starter_file(&home.subject(&[]));
    fs::write(&starter.path, &starter.bytes).unwrap();
    let told = || {
        let output = Command::new("sh").arg(&starter.path).arg(&home.program).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(told(), "plan");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    fs::write(&index, "").unwrap();
    assert_eq!(told(), "both");
    fs::remove_file(&plan).unwrap();
    assert_eq!(told(), "index");
    fs::remove_file(&index).unwrap();
    assert_eq!(told(), "app 0");
}
