//! A program that is ended by SIGKILL after each step, and the repair.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_packages::{Condition, Replacement, Step, recorded, repair};
use coldstart_testing::output_of;

use crate::system::System;

const FILE: &str = "/usr/lib/file";
const ACT: &str = "COLDSTART_TEST_ACT";
const STEP: &str = "COLDSTART_TEST_STEP";
const ROOT: &str = "COLDSTART_TEST_ROOT";

/// Not a test of its own: the part of the tests below that is killed.
#[test]
fn victim() {
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let last = std::env::var(STEP).unwrap();
    let mut after = |step: Step| {
        if format!("{step:?}") == last {
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
        }
    };
    let records = root.join("var/lib/coldstart/replaced");
    let changed = root.join("tmp/changed");
    let one = || recorded(&root, &records).unwrap().remove(0);
    match &*std::env::var(ACT).unwrap() {
        "apply" => {
            Replacement::plan(&root, &records, Path::new(FILE), &changed).unwrap().apply(&changed, &mut after).unwrap();
        }
        "refresh" => one().refresh(&changed, &mut after).unwrap(),
        _ => one().undo(&mut after).unwrap(),
    }
}

fn killed_after(system: &System, act: &str, step: Step) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::victim", "--test-threads=1"]);
    command.env(ACT, act).env(STEP, format!("{step:?}")).env(ROOT, system.root());
    let output = output_of(&mut command);
    assert_eq!(output.status.signal(), Some(9), "{act} {step:?}: {}", String::from_utf8_lossy(&output.stdout));
}

fn changed(system: &System, content: &str) -> PathBuf {
    let path = system.root().join("tmp/changed");
    std::fs::write(&path, content).unwrap();
    path
}

fn is_clean(system: &System) {
    assert_eq!(system.names("/usr/lib"), ["file"]);
    assert_eq!((&*system.diversions(), system.names("/var/lib/coldstart/replaced").len()), ("", 0));
}

fn repaired(system: &System) {
    repair(&system.root(), &system.records()).unwrap();
    assert_eq!(repair(&system.root(), &system.records()).unwrap(), [], "a second repair has nothing to do");
}

#[test]
fn a_kill_at_each_step_of_the_way_there_is_repaired() {
    let Some(system) = System::new() else { return };
    let version = system.package("file", "1", FILE, b"one");
    system.install(&version);
    for (step, upgrade) in [Step::Recorded, Step::Linked, Step::Diverted, Step::Replaced]
        .into_iter()
        .flat_map(|step| [(step, false), (step, true)])
    {
        changed(&system, "changed");
        killed_after(&system, "apply", step);
        assert_eq!(system.read(FILE), if step == Step::Replaced { "changed" } else { "one" }, "{step:?}");
        if upgrade {
            // Before anybody repairs.
            system.install(&version);
        }
        repaired(&system);
        if step == Step::Replaced {
            let mut all = recorded(&system.root(), &system.records()).unwrap();
            assert_eq!(all.remove(0).condition().unwrap(), Condition::Fresh);
            recorded(&system.root(), &system.records()).unwrap().remove(0).undo(&mut |_| {}).unwrap();
        }
        assert_eq!(system.read(FILE), "one", "{step:?}");
        is_clean(&system);
    }
}

#[test]
fn a_kill_at_each_step_of_the_way_back_is_repaired() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("file", "1", FILE, b"one"));
    for step in [Step::Recorded, Step::Restored, Step::NotDiverted, Step::Unlinked] {
        let changed = changed(&system, "changed");
        let mut replacement = Replacement::plan(&system.root(), &system.records(), Path::new(FILE), &changed).unwrap();
        replacement.apply(&changed, &mut |_| {}).unwrap();
        killed_after(&system, "undo", step);
        let expected = if step == Step::Recorded { "changed" } else { "one" };
        assert_eq!(system.read(FILE), expected, "{step:?}");
        repaired(&system);
        assert_eq!(system.read(FILE), "one", "{step:?}");
        is_clean(&system);
    }
}

#[test]
fn a_kill_in_a_refresh_is_repaired() {
    let Some(system) = System::new() else { return };
    let versions = ["one", "two"].map(|content| {
        system.package("file", content.replace("one", "1").replace("two", "2").as_str(), FILE, content.as_bytes())
    });
    for (step, expected) in [(Step::Recorded, "changed one"), (Step::Replaced, "changed two")] {
        system.install(&versions[0]);
        let path = changed(&system, "changed one");
        let mut replacement = Replacement::plan(&system.root(), &system.records(), Path::new(FILE), &path).unwrap();
        replacement.apply(&path, &mut |_| {}).unwrap();
        system.install(&versions[1]);
        changed(&system, "changed two");
        killed_after(&system, "refresh", step);
        assert_eq!(
            replacement.condition().unwrap(),
            if step == Step::Recorded {
                Condition::OriginalChanged(Some("package file 1 became 2".to_owned()))
            } else {
                Condition::Overwritten
            }
        );
        repair(&system.root(), &system.records()).unwrap();
        assert_eq!(system.read(FILE), expected);
        let one = recorded(&system.root(), &system.records()).unwrap().remove(0);
        assert_eq!(one.condition().unwrap() == Condition::Fresh, step == Step::Replaced);
        one.undo(&mut |_| {}).unwrap();
        assert_eq!(system.read(FILE), "two");
        is_clean(&system);
    }
}
