//! Plans after they are installed: replayed, recorded again.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_testing::{as_unprivileged, copy_program, eventually, is_root, is_there, script, skip, succeed};
use serde_json::Value;

use super::Home;
use crate::text;

impl Home {
    /// Installs this program under its name, with these options.
    pub(super) fn install_with(&self, program: &Path, options: &[&str]) {
        let program = program.to_str().unwrap();
        self.succeeds(&["prefetch", "record", "--as-is", "-o", "a.prefetch", "--", program]);
        let words = [&["prefetch", "install", "--user"], options, &["a.prefetch", "--", program]].concat();
        self.succeeds(&words);
    }

    /// The exit code and the JSON of a verb.
    pub(super) fn json(&self, words: &[&str]) -> (Option<i32>, Value) {
        let output = self.run(&[words, &["--json"]].concat());
        let value = serde_json::from_slice(&output.stdout);
        (output.status.code(), value.unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr))))
    }

    /// The exit code of a replay, and what became of each plan.
    fn replay(&self, words: &[&str]) -> (Option<i32>, Vec<Value>) {
        let words = [&["installed", "--user", "--replay", "--anyway"], words].concat();
        let (code, outcome) = self.json(&words);
        (code, outcome["installations"].as_array().unwrap().clone())
    }

    fn manifest(&self, name: &str) -> PathBuf {
        self.at(".local/share/coldstart/installed").join(name).join("manifest.json")
    }

    /// Another program of this home, with a name of its own.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        let path = self.at(name);
        copy_program(Path::new("/bin/true"), &path);
        path
    }

    /// Runs coldstart after these commands for the shell, in a mount namespace of its own.
    fn under(&self, mounts: &str, variables: &[(&str, &str)], words: &[&str]) -> Output {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &format!("set -e\n{mounts}\nexec \"$0\" \"$@\"")]);
        command.arg(env!("CARGO_BIN_EXE_coldstart")).args(words).envs(variables.iter().copied());
        command.env("HOME", self.directory.path()).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        command.output().unwrap()
    }

    /// Makes the plan of a program stale.
    pub(super) fn change(&self, program: &Path) {
        let mut bytes = fs::read(program).unwrap();
        bytes.push(0);
        fs::write(self.at("new"), bytes).unwrap();
        fs::remove_file(program).unwrap();
        copy_program(self.at("new"), program);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

const UNIT: &str = ".config/systemd/user/coldstart-login.service";
const LINK: &str = ".config/systemd/user/default.target.wants/coldstart-login.service";

#[test]
fn plans_that_take_part_are_replayed_and_one_unit_serves_all() {
    let home = Home::new();
    home.install_with(&home.program, &["--place", "wrapper", "--at-login"]);
    home.install_with(&home.program("other"), &["--place", "wrapper"]);
    home.install_with(&home.program("third"), &["--place", "login"]);
    let unit = fs::read_to_string(home.at(UNIT)).unwrap();
    assert!(unit.contains("installed --replay\n") && unit.contains("IOSchedulingClass=idle"), "{unit}");
    assert_eq!(fs::canonicalize(home.at(LINK)).unwrap(), fs::canonicalize(home.at(UNIT)).unwrap());
    let (code, replayed) = home.replay(&[]);
    let names: Vec<&str> = replayed.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!((code, names), (Some(0), vec!["my app", "third"]), "{replayed:#?}");
    assert!(replayed.iter().all(|one| one["bytes"].as_u64().unwrap() > 0 && one["skipped"].is_null()), "{replayed:#?}");
    // One that does not take part is replayed when it is named.
    let (code, replayed) = home.replay(&["other"]);
    assert_eq!((code, &replayed[0]["name"]), (Some(0), &"other".into()));
    assert_eq!(home.run(&["installed", "none", "--user", "--replay"]).status.code(), Some(2));
    let (_, listing) = home.json(&["installed", "--user", "--place", "login"]);
    assert_eq!(listing["installations"].as_array().unwrap().len(), 2);
    home.succeeds(&["installed", "my app", "--user", "--uninstall"]);
    assert!(home.at(UNIT).exists());
    home.succeeds(&["installed", "third", "--user", "--uninstall"]);
    assert!(!home.at(UNIT).exists() && !home.at(".config").exists());
    let said = home.succeeds(&["installed", "--user", "--replay"]);
    assert!(said.contains("no installation has the place `login`"), "{said}");
}

#[test]
fn a_removed_unit_is_told_and_comes_back_with_a_refresh() {
    let home = Home::alone();
    home.install_with(&home.program, &["--place", "wrapper", "--at-login"]);
    fs::remove_file(home.at(UNIT)).unwrap();
    let (code, report) = home.health();
    assert_eq!((code, &report["health"], &report["remedy"]), (Some(1), &"broken".into(), &"refresh".into()));
    assert!(report["reasons"].to_string().contains("coldstart-login.service"), "{report:#}");
    let (code, outcome) = home.json(&["installed", "--user", "--refresh"]);
    assert_eq!((code, &outcome["refreshed"][0]["places_written"]), (Some(0), &true.into()), "{outcome:#}");
    assert!(home.at(UNIT).exists() && home.at(LINK).exists());
    assert_eq!(home.health().1["health"], "fresh");
}

#[test]
fn a_manifest_of_the_first_coldstart_is_read_and_takes_no_part() {
    let home = Home::new();
    home.install();
    let mut manifest: Value = serde_json::from_slice(&fs::read(home.manifest("my app")).unwrap()).unwrap();
    for member in ["shared", "starts", "after_undoing"] {
        assert!(manifest["places"][0].get(member).is_none(), "it is written only where it is used: {member}");
    }
    manifest["places"][0].as_object_mut().unwrap().remove("sources");
    fs::write(home.manifest("my app"), manifest.to_string()).unwrap();
    fs::remove_file(home.manifest("my app").with_file_name("packages.json")).unwrap();
    assert_eq!(home.health().1["health"], "fresh");
    assert_eq!(home.replay(&[]), (Some(0), vec![]));
}

#[test]
fn what_is_left_out_of_a_replay_is_told_with_its_reason() {
    let home = Home::new();
    for name in ["half", "cut", "damaged", "gone", "whole"] {
        home.install_with(&home.program(name), &["--place", "login"]);
    }
    let edit = |name: &str, file: &str, edit: &dyn Fn(String) -> Vec<u8>| {
        let path = home.manifest(name).with_file_name(file);
        let bytes = fs::read(&path).unwrap();
        fs::write(path, edit(String::from_utf8_lossy(&bytes).into_owned())).unwrap();
    };
    edit("half", "manifest.json", &|text| text.replace("\"installed\"", "\"installing\"").into_bytes());
    edit("damaged", "manifest.json", &|text| text.as_bytes()[..text.len() / 2].to_vec());
    let plan = home.manifest("cut").with_file_name("plan.prefetch");
    let bytes = fs::read(&plan).unwrap();
    fs::write(plan, &bytes[..bytes.len() / 2]).unwrap();
    fs::remove_file(home.manifest("gone").with_file_name("plan.prefetch")).unwrap();
    fs::create_dir(home.manifest("gone").parent().unwrap().with_file_name("empty")).unwrap();
    let (code, replayed) = home.replay(&[]);
    let reason = |name: &str| {
        let one = replayed.iter().find(|one| one["name"] == name).unwrap();
        one["skipped"]["reason"].as_str().map(str::to_owned)
    };
    assert_eq!(code, Some(2), "{replayed:#?}");
    for name in ["cut", "damaged", "gone"] {
        assert_eq!(reason(name).as_deref(), Some("unusable"), "{name}");
    }
    for name in ["half", "empty"] {
        assert_eq!(reason(name).as_deref(), Some("half-made"), "{name}");
    }
    assert_eq!(reason("whole"), None);
    for name in ["cut", "damaged", "gone", "half", "empty"] {
        fs::remove_dir_all(home.manifest(name).parent().unwrap()).unwrap();
    }
    // A stale plan only says what it left out.
    home.change(&home.at("whole"));
    let (code, replayed) = home.replay(&[]);
    assert!(code == Some(0) && replayed[0]["left_out"].as_u64().unwrap() > 0, "{replayed:#?}");
    let said = home.succeeds(&["installed", "--user", "--replay", "--anyway"]);
    assert!(said.contains("left out, because files have changed"), "{said}");
}

#[test]
fn all_stale_installations_are_recorded_and_a_failure_stops_no_other() {
    let home = Home::alone();
    for name in ["b", "fails", "fresh", "z"] {
        home.install_with(&home.program(name), &["--place", "wrapper"]);
    }
    for name in ["b", "z"] {
        home.change(&home.at(name));
    }
    // It changed, and cannot be started any more.
    fs::write(home.at("fails"), "#!/nowhere/interpreter\n").unwrap();
    let (code, outcome) = home.json(&["installed", "--user", "--refresh"]);
    let names = |list: &Value| -> Vec<String> {
        let name = |one: &Value| one["name"].as_str().or(one.as_str()).unwrap().to_owned();
        list.as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(code, Some(2), "{outcome:#}");
    assert_eq!(names(&outcome["refreshed"]), ["b", "z"], "{outcome:#}");
    assert_eq!(names(&outcome["failed"]), ["fails"], "{outcome:#}");
    assert!(outcome["error"].to_string().contains("fails"), "{outcome:#}");
    fs::remove_file(home.at("fails")).unwrap();
    let output = home.run(&["installed", "--user", "--refresh"]);
    let said = text(&output.stdout);
    assert!(output.status.code() == Some(1) && said.contains("fails: left as it is"), "{said}");
    assert!(said.contains("--uninstall"), "{said}");
    home.succeeds(&["installed", "fails", "--user", "--uninstall"]);
    assert_eq!(home.succeeds(&["installed", "--user", "--refresh"]), "nothing is stale\n");
    let said = home.succeeds(&["installed", "--user", "--refresh", "--place", "login"]);
    assert_eq!(said, "nothing is stale\n");
}

#[test]
fn a_program_that_changes_its_own_files_is_recorded_once() {
    let home = Home::alone();
    let program = script(
        home.directory.path(),
        "restless",
        "#!/bin/sh\ncat \"$0.data\" >/dev/null\ndate +%N >\"$0.data\"\n",
        0o755,
    );
    fs::write(home.at("restless.data"), "x".repeat(9000)).unwrap();
    home.install_with(&program, &["--place", "wrapper"]);
    home.change(&program);
    let (code, outcome) = home.json(&["installed", "--user", "--refresh"]);
    assert_eq!(outcome["refreshed"].as_array().unwrap().len(), 1, "{outcome:#}");
    // Whether the plan holds that file is the recorder's business; either way it says so and ends.
    let again = outcome["left"].as_array().unwrap();
    assert_eq!(code, Some(i32::from(!again.is_empty())), "{outcome:#}");
    assert!(again.iter().all(|left| left["why"] == "stale-again"), "{outcome:#}");
}

#[test]
fn a_busy_machine_is_waited_for_and_left_alone() {
    let home = Home::alone();
    home.install_with(&home.program, &["--place", "wrapper"]);
    home.change(&home.program);
    // Nobody knows how busy this machine is, so both answers are right; each leaves the plan as it says.
    let (code, outcome) = home.json(&["installed", "--user", "--refresh", "--when-idle", "--longest-wait", "0.1"]);
    let fresh = home.health().1["health"] == "fresh";
    match code {
        Some(0) => assert!(fresh && outcome["refreshed"][0]["name"] == "my app", "{outcome:#}"),
        Some(1) => assert!(!fresh && outcome["left"][0]["why"] == "busy", "{outcome:#}"),
        code => panic!("{code:?}: {outcome:#}"),
    }
    for words in [["--when-idle", "--user"], ["--longest-wait", "9"], ["--anyway", "--user"]] {
        assert_eq!(home.run(&[&["installed"][..], &words].concat()).status.code(), Some(2), "{words:?}");
    }
}

/// A start that is ended in the middle leaves the old plan, and no process.
#[test]
fn a_signal_in_the_middle_of_a_refresh_leaves_the_old_plan() {
    let home = Home::alone();
    let body = "#!/bin/sh\nif [ -e \"$0.wait\" ]; then echo $$ >\"$0.started\"; sleep 600; fi\n";
    let slow = script(home.directory.path(), "slow", body, 0o755);
    home.install_with(&slow, &["--place", "wrapper"]);
    let plan = home.manifest("slow").with_file_name("plan.prefetch");
    let before = fs::read(&plan).unwrap();
    home.change(&slow);
    fs::write(home.at("slow.wait"), "").unwrap();
    for words in [&["installed", "--user", "--refresh"][..], &["installed", "slow", "--user", "--refresh"]] {
        let _ = fs::remove_file(home.at("slow.started"));
        let mut child = Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(words)
            .env("HOME", home.directory.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let pid = || fs::read_to_string(home.at("slow.started")).ok().filter(|text| text.ends_with('\n'));
        eventually("the program was started", || pid().is_some());
        let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{words:?}");
        let process = Path::new("/proc").join(pid().unwrap().trim());
        eventually("the program has ended", || !process.exists());
        assert_eq!(fs::read(&plan).unwrap(), before);
        assert_eq!(home.json(&["installed", "slow", "--user"]).1["installations"][0]["health"], "stale");
    }
    assert!(home.succeeds(&["installed", "--user", "--repair"]).contains("nothing to repair"));
}

#[test]
fn a_hundred_installations_are_replayed_and_listed() {
    let home = Home::new();
    home.install_with(&home.program, &["--place", "login"]);
    let first = home.manifest("my app").parent().unwrap().to_owned();
    for number in 0..100 {
        let copy = first.with_file_name(format!("copy{number}"));
        fs::create_dir(&copy).unwrap();
        for file in ["plan.prefetch", "packages.json", "start"] {
            fs::copy(first.join(file), copy.join(file)).unwrap();
        }
        let manifest = fs::read_to_string(first.join("manifest.json")).unwrap();
        let name = format!("\"name\": \"copy{number}\"");
        fs::write(copy.join("manifest.json"), manifest.replace("\"name\": \"my app\"", &name)).unwrap();
    }
    let (code, replayed) = home.replay(&[]);
    assert_eq!((code, replayed.len()), (Some(0), 101));
    let (code, listing) = home.json(&["installed", "--user"]);
    assert_eq!((code, listing["installations"].as_array().unwrap().len()), (Some(0), 101));
    for number in 0..100 {
        home.succeeds(&["installed", &format!("copy{number}"), "--user", "--uninstall"]);
    }
    assert!(home.at(UNIT).exists());
    home.succeeds(&["installed", "my app", "--user", "--uninstall"]);
    assert!(!home.at(UNIT).exists());
}

#[test]
fn a_user_without_a_home_has_those_of_the_system_only() {
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).env_remove("HOME").env_remove("XDG_DATA_HOME").output().unwrap()
    };
    let output = run(&["installed", "--replay", "--json"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    let output = run(&["installed", "--replay", "--user"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("HOME is not set") && said.contains("hint: "), "{said}");
}

#[test]
fn a_home_of_any_bytes_takes_part() {
    let mut home = Home::new();
    let odd = home.directory.path().join(OsStr::from_bytes(b"it's my \"home\" \xff"));
    fs::create_dir(&odd).unwrap();
    let directory = tempfile::tempdir_in(&odd).unwrap();
    let program = directory.path().join("app");
    copy_program(Path::new("/bin/true"), &program);
    home.program = program;
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).arg("--json").env("HOME", &odd).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
        if words.contains(&"install") || words.contains(&"record") {
            command.arg("--").arg(&home.program);
        }
        let output = command.current_dir(&odd).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    run(&["prefetch", "record", "--as-is", "-o", "a.prefetch"]);
    run(&["prefetch", "install", "--user", "--place", "wrapper", "--at-login", "a.prefetch"]);
    assert!(odd.join(UNIT).exists());
    let replayed = run(&["installed", "--user", "--replay", "--anyway"]);
    assert!(replayed["installations"][0]["bytes"].as_u64().unwrap() > 0, "{replayed:#}");
    run(&["installed", "app", "--user", "--uninstall"]);
    assert!(!odd.join(".config").exists());
}

#[test]
fn a_registry_that_cannot_be_written_is_replayed_and_its_refresh_refused() {
    if !is_root() {
        return;
    }
    let home = Home::new();
    home.install_with(&home.program, &["--place", "login"]);
    home.change(&home.program);
    // The user may read everything of it, and write nothing.
    fs::set_permissions(home.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let run = |words: &[&str]| {
        let mut command = as_unprivileged(env!("CARGO_BIN_EXE_coldstart"));
        command
            .args(words)
            .env("HOME", home.directory.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CONFIG_HOME");
        command.output().unwrap()
    };
    let output = run(&["installed", "--user", "--replay", "--anyway"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = run(&["installed", "--user", "--refresh"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("cannot write to") && said.contains("hint: "), "{said}");
}

/// The version that dpkg-query names.
fn version_of(package: &str) -> Option<String> {
    if !is_there("dpkg-query") {
        skip("needs dpkg-query");
        return None;
    }
    Some(succeed(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", package])))
}

#[test]
fn a_stale_plan_names_the_package_that_changed() {
    const LICENSE: &str = "/usr/share/common-licenses/GPL-3";
    let Some(base) = version_of("base-files").filter(|_| Path::new(LICENSE).exists()) else { return };
    let home = Home::alone();
    let program = script(home.directory.path(), "script", format!("#!/bin/sh\ncat {LICENSE}\n"), 0o755);
    // What is in memory already is not recorded.
    home.succeeds(&["pagecache", "evict", "--sync", LICENSE]);
    home.install_with(&program, &["--place", "wrapper"]);
    let path = home.manifest("script").with_file_name("packages.json");
    let mut recorded: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(recorded["schema"], "coldstart.installed-packages/1");
    let packages = recorded["packages"].as_array_mut().unwrap();
    let read = packages.iter().find(|package| package["package"] == "base-files").unwrap();
    assert_eq!(read["version"], base.as_str(), "as dpkg-query says");
    assert_eq!(read["files"], serde_json::json!([LICENSE]));
    // As if the script had come with packages that were upgraded and removed since.
    let file = fs::canonicalize(&program).unwrap();
    packages.push(serde_json::json!({"package": "base-files", "version": "0.1-1", "files": [file]}));
    fs::write(&path, recorded.to_string()).unwrap();
    home.change(&program);
    let (code, listing) = home.json(&["installed", "script", "--user"]);
    let report = &listing["installations"][0];
    let became = format!("package base-files 0.1-1 became {base}");
    assert_eq!((code, &report["health"], &report["reasons"][0]), (Some(1), &"stale".into(), &became.as_str().into()));
    assert_eq!(report["changed_packages"][0]["now"], base.as_str());
    assert_eq!(report["stale_files"][0]["package"]["before"], "0.1-1");
    let said = text(&home.run(&["installed", "--user"]).stdout);
    assert!(said.contains(&became), "{said}");
    fs::write(
        &path,
        recorded.to_string().replace("\"base-files\",\"version\":\"0.1-1\"", "\"gone\",\"version\":\"0.1-1\""),
    )
    .unwrap();
    let said = text(&home.run(&["installed", "script", "--user"]).stdout);
    assert!(said.contains("package gone 0.1-1 was removed"), "{said}");
    // Somebody else changed it: no package is named.
    fs::write(&path, recorded.to_string().replace("0.1-1", &base)).unwrap();
    let report = home.json(&["installed", "script", "--user"]).1["installations"][0].clone();
    assert!(report["changed_packages"].as_array().unwrap().is_empty(), "{report:#}");
    assert!(report["reasons"][0].as_str().unwrap().contains("changed or missing"), "{report:#}");
    fs::write(&path, "{").unwrap();
    assert_eq!(home.json(&["installed", "script", "--user"]).1["installations"][0]["health"], "stale");
    home.succeeds(&["installed", "script", "--user", "--refresh"]);
    assert!(fs::read_to_string(&path).unwrap().contains("coldstart.installed-packages/1"));
}

/// Nobody tells us of an upgrade while a refresh runs, so it looks by itself.
#[test]
fn an_upgrade_during_a_refresh_is_noticed() {
    if !is_root() {
        return;
    }
    if !is_there("unshare") || !Path::new("/var/lib/dpkg").is_dir() {
        return skip("needs unshare and a directory of dpkg's database");
    }
    let home = Home::alone();
    // The third start, the last one of a recording, is hit by an upgrade.
    let body = "#!/bin/sh\ncat \"$0.data\" >/dev/null\n[ -e \"$0.armed\" ] || exit 0\n\
                mkdir \"$0.1\" 2>/dev/null || mkdir \"$0.2\" 2>/dev/null || {\n\
                rm \"$0.armed\"; echo new >\"$0.data\"; echo >>/var/lib/dpkg/status; }\n";
    let program = script(home.directory.path(), "hit", body, 0o755);
    fs::write(home.at("hit.data"), "old data").unwrap();
    home.install_with(&program, &["--place", "wrapper"]);
    for directory in ["dpkg", "dpkg/info", "dpkg/updates"] {
        fs::create_dir(home.at(directory)).unwrap();
    }
    fs::write(home.at("dpkg/status"), "").unwrap();
    for is_hit in [false, true] {
        fs::write(home.at("hit.data"), format!("made stale {is_hit}")).unwrap();
        if is_hit {
            fs::write(home.at("hit.armed"), "").unwrap();
        }
        let mounts = "mount --bind \"$HOME/dpkg\" /var/lib/dpkg";
        let output = home.under(mounts, &[], &["installed", "--user", "--refresh", "--json"]);
        let said = text(&output.stderr);
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
        assert_eq!((output.status.code(), home.at("hit.armed").exists()), (Some(0), false), "{outcome:#}\n{said}");
        assert_eq!(outcome["refreshed"].as_array().unwrap().len(), 1, "{outcome:#}");
        assert_eq!(said.matches("recording a start").count(), 1 + usize::from(is_hit), "{said}");
        assert_eq!(home.json(&["installed", "hit", "--user"]).1["installations"][0]["health"], "fresh", "{outcome:#}");
    }
}

/// With made-up files in the place of the kernel's.
#[test]
fn a_battery_and_a_lack_of_memory_skip_plans_and_say_so() {
    if !is_root() {
        return;
    }
    if !is_there("unshare") || !Path::new("/sys/class/power_supply").is_dir() {
        return skip("needs unshare, and a kernel that knows power supplies");
    }
    let home = Home::new();
    home.install_with(&home.program, &["--place", "login"]);
    fs::create_dir_all(home.at("battery/BAT0")).unwrap();
    fs::create_dir(home.at("mains")).unwrap();
    fs::write(home.at("battery/BAT0/type"), "Battery\n").unwrap();
    fs::write(home.at("battery/BAT0/status"), "Discharging\n").unwrap();
    for (name, percent) in [("calm", "0.00"), ("short", "7.50")] {
        fs::write(home.at(name), format!("some avg10={percent} avg60=0.00 avg300=0.00 total=0\n")).unwrap();
    }
    for (name, available) in [("much", 8_000_000), ("little", 40)] {
        fs::write(home.at(name), format!("MemTotal: 9000000 kB\nMemAvailable: {available} kB\n")).unwrap();
    }
    let has_pressure = Path::new("/proc").join("pressure/memory").exists();
    for (supplies, pressure, memory, code, reason) in [
        ("mains", "calm", "much", 0, None),
        ("battery", "calm", "much", 1, Some("battery")),
        ("mains", "short", "much", 1, Some("memory-pressure")),
        ("mains", "calm", "little", 1, Some("not-enough-memory")),
    ] {
        if pressure == "short" && !has_pressure {
            continue;
        }
        let mounts = "mount --bind \"$HOME/$SUPPLIES\" /sys/class/power_supply\n\
                      mount --bind \"$HOME/$MEMORY\" /proc/meminfo\n\
                      [ ! -e /proc/pressure/memory ] || mount --bind \"$HOME/$PRESSURE\" /proc/pressure/memory";
        let variables = [("SUPPLIES", supplies), ("MEMORY", memory), ("PRESSURE", pressure)];
        let output = home.under(mounts, &variables, &["installed", "--user", "--replay", "--json"]);
        let outcome: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
        let skipped = outcome["installations"][0]["skipped"]["reason"].as_str();
        assert_eq!((output.status.code(), skipped), (Some(code), reason), "{outcome:#}");
    }
}
