//! The life of a replaced file: upgraded, downgraded, reinstalled, removed, purged.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use coldstart_packages::{
    Condition, PackageError, Replacement, fall_back, hook_file, recorded, remove_unused_hook, write_hook,
};
use coldstart_testing::{compile, succeed};

use crate::system::System;

const FILE: &str = "/usr/lib/libanswer.so.1";
const KEPT: &str = "/usr/lib/.libanswer.so.1.coldstart-original";

fn replace(system: &System, content: &[u8]) -> Replacement {
    let changed = system.beside("changed", content);
    let mut replacement = Replacement::plan(&system.root(), &system.records(), Path::new(FILE), &changed).unwrap();
    replacement.apply(&changed, &mut |_| {}).unwrap();
    replacement
}

fn one(system: &System) -> Replacement {
    let mut all = recorded(&system.root(), &system.records()).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[track_caller]
fn leaves_nothing(system: &System) {
    assert_eq!(system.diversions(), "");
    assert!(system.names("/usr/lib").iter().all(|name| !name.contains("coldstart")), "{:?}", system.names("/usr/lib"));
    assert_eq!(system.names("/var/lib/coldstart/replaced"), [""; 0]);
}

#[test]
fn a_replaced_file_lives_through_upgrades() {
    let Some(system) = System::new() else { return };
    let versions = ["1.0", "2.0"].map(|version| system.package("answer", version, FILE, version.as_bytes()));
    system.install(&versions[0]);
    let before = std::fs::metadata(system.at(FILE)).unwrap();
    let mut replacement = replace(&system, b"changed 1.0");
    let after = std::fs::metadata(system.at(FILE)).unwrap();
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!((&*system.read(FILE), &*system.read(KEPT)), ("changed 1.0", "1.0"));
    assert_eq!(replacement.condition().unwrap(), Condition::Fresh);
    assert_eq!(system.dpkg(&["--verify", "answer"], &[]), "", "dpkg sees its own file");

    system.install(&versions[1]);
    assert_eq!((&*system.read(FILE), &*system.read(KEPT)), ("changed 1.0", "2.0"));
    let words = "package answer 1.0 became 2.0".to_owned();
    assert_eq!(one(&system).condition().unwrap(), Condition::OriginalChanged(Some(words)));
    replacement.refresh(&system.beside("changed", "changed 2.0"), &mut |_| {}).unwrap();
    assert_eq!((&*system.read(FILE), one(&system).condition().unwrap()), ("changed 2.0", Condition::Fresh));
    assert_eq!(system.dpkg(&["--verify", "answer"], &[]), "");

    system.install(&versions[1]);
    assert_eq!((&*system.read(FILE), one(&system).condition().unwrap()), ("changed 2.0", Condition::Fresh));
    system.install(&versions[0]);
    let words = "package answer 2.0 became 1.0".to_owned();
    assert_eq!(one(&system).condition().unwrap(), Condition::OriginalChanged(Some(words)));

    one(&system).undo(&mut |_| {}).unwrap();
    assert_eq!(system.read(FILE), "1.0");
    assert_eq!(system.dpkg(&["--verify", "answer"], &[]), "");
    leaves_nothing(&system);
    system.install(&versions[1]);
    assert_eq!(system.read(FILE), "2.0");
}

/// What dpkg's hook does: nothing of the old version stays beside the new one.
#[test]
fn after_an_upgrade_the_original_is_in_place() {
    let Some(system) = System::new() else { return };
    let versions = ["1.0", "2.0", "3.0"].map(|version| system.package("answer", version, FILE, version.as_bytes()));
    system.install(&versions[0]);
    replace(&system, b"changed 1.0");
    let put_back = || fall_back(&system.root(), &system.records()).unwrap();
    assert_eq!(put_back(), [""; 0].map(PathBuf::from));
    assert_eq!(system.read(FILE), "changed 1.0");
    system.install(&versions[0]);
    assert_eq!(put_back(), [""; 0].map(PathBuf::from), "a reinstallation changes nothing");
    assert_eq!((&*system.read(FILE), one(&system).condition().unwrap()), ("changed 1.0", Condition::Fresh));

    for (version, before) in [("2.0", "1.0"), ("3.0", "1.0")] {
        system.install(&versions[if version == "2.0" { 1 } else { 2 }]);
        assert_eq!(put_back(), [system.at(FILE)]);
        assert_eq!((&*system.read(FILE), &*system.read(KEPT)), (version, version));
        let words = format!("package answer {before} became {version}");
        assert_eq!(one(&system).condition().unwrap(), Condition::FellBack(Some(words)));
        assert_eq!(put_back(), [""; 0].map(PathBuf::from), "twice is once");
        assert_eq!(system.dpkg(&["--verify", "answer"], &[]), "");
    }
    one(&system).refresh(&system.beside("changed", "changed 3.0"), &mut |_| {}).unwrap();
    assert_eq!((&*system.read(FILE), one(&system).condition().unwrap()), ("changed 3.0", Condition::Fresh));
    system.install(&versions[1]);
    assert_eq!(put_back(), [system.at(FILE)]);
    one(&system).undo(&mut |_| {}).unwrap();
    assert_eq!(system.read(FILE), "2.0");
    leaves_nothing(&system);
}

/// A file that somebody put in place of ours is not touched, and one whose package is gone waits for its undoing.
#[test]
fn falling_back_leaves_the_files_of_others_alone() {
    let Some(system) = System::new() else { return };
    let versions = ["1.0", "2.0"].map(|version| system.package("answer", version, FILE, version.as_bytes()));
    system.install(&versions[0]);
    replace(&system, b"changed");
    system.install(&versions[1]);
    std::fs::write(system.at(FILE), "mine").unwrap();
    assert_eq!(fall_back(&system.root(), &system.records()).unwrap(), [""; 0].map(PathBuf::from));
    assert_eq!((&*system.read(FILE), one(&system).condition().unwrap()), ("mine", Condition::Overwritten));
    std::fs::write(system.at(FILE), "changed").unwrap();
    system.dpkg(&["--remove", "answer"], &[]);
    assert_eq!(fall_back(&system.root(), &system.records()).unwrap(), [""; 0].map(PathBuf::from));
    assert_eq!(one(&system).condition().unwrap(), Condition::PackageGone);
}

#[test]
fn the_changed_file_has_the_time_of_its_original() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("answer", "1.0", FILE, b"1.0"));
    let before = std::fs::metadata(system.at(FILE)).unwrap().modified().unwrap();
    replace(&system, b"changed");
    assert_eq!(std::fs::metadata(system.at(FILE)).unwrap().modified().unwrap(), before);
}

#[test]
fn the_hook_is_there_as_long_as_a_file_of_a_package_is_replaced() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("answer", "1.0", FILE, b"1.0"));
    let write = || write_hook(&system.root(), Path::new("/usr/bin/coldstart"), "installed --fall-back");
    write().unwrap();
    let replacement = replace(&system, b"changed");
    assert!(!remove_unused_hook(&system.root(), &system.records()).unwrap());
    replacement.undo(&mut |_| {}).unwrap();
    assert!(remove_unused_hook(&system.root(), &system.records()).unwrap());
    assert!(!hook_file(&system.root()).exists());
    std::fs::write(hook_file(&system.root()), "# of the administrator\n").unwrap();
    assert!(matches!(write(), Err(PackageError::NameTaken(_))));
    assert!(!remove_unused_hook(&system.root(), &system.records()).unwrap());
}

#[test]
fn a_package_that_is_gone_leaves_nothing() {
    for way in ["--remove", "--purge"] {
        let Some(system) = System::new() else { return };
        system.install(&system.package("answer", "1.0", FILE, b"1.0"));
        let replacement = replace(&system, b"changed");
        system.dpkg(&[way, "answer"], &[]);
        assert_eq!(replacement.condition().unwrap(), Condition::PackageGone, "{way}");
        one(&system).undo(&mut |_| {}).unwrap();
        assert!(!system.at(FILE).exists(), "{way}");
        leaves_nothing(&system);
    }
}

#[test]
fn a_package_that_moves_its_file_takes_it_back() {
    let Some(system) = System::new() else { return };
    let outside = FILE.strip_prefix("/usr").unwrap();
    // Else dpkg would remove `/lib` itself with the last package that has something in it.
    system.install(&system.package("base", "1.0", "/lib/base", b""));
    system.install(&system.package("answer", "1.0", outside, b"1.0"));
    let replacement = replace(&system, b"changed");
    assert_eq!(system.diversions().lines().count(), 1);
    // As packages did when systems were merged: the diversion is for the other name.
    system.install(&system.package("answer", "2.0", FILE, b"2.0"));
    assert_eq!(system.read(FILE), "2.0");
    assert_eq!(replacement.condition().unwrap(), Condition::Overwritten);
    replacement.undo(&mut |_| {}).unwrap();
    assert_eq!(system.read(FILE), "2.0");
    leaves_nothing(&system);
}

#[test]
fn a_file_of_no_package_is_kept_beside() {
    let Some(system) = System::new() else { return };
    std::fs::write(system.at(FILE), "own").unwrap();
    let replacement = replace(&system, b"changed");
    assert_eq!((&*system.read(FILE), &*system.read(KEPT), &*system.diversions()), ("changed", "own", ""));
    replacement.undo(&mut |_| {}).unwrap();
    assert_eq!(system.read(FILE), "own");
    leaves_nothing(&system);
}

/// Ends the loops of other threads, also when this one fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A program that is started in a loop finds its library at every instant, and a file that is read in a loop is always whole.
#[test]
fn the_library_is_there_at_every_instant() {
    let Some(system) = System::new() else { return };
    let directory = tempfile::tempdir().unwrap();
    let library = |answer: &str| {
        let source = format!("int answer(void) {{ return {answer}; }}");
        let path = directory.path().join(format!("libanswer{answer}.so"));
        std::fs::read(compile("cc", &path, &source, &["-shared", "-fPIC", "-Wl,-soname,libanswer.so.1"])).unwrap()
    };
    let libraries = ["1", "2", "3"].map(library);
    let versions = ["1", "2"]
        .map(|version| system.package("answer", version, FILE, &libraries[if version == "1" { 0 } else { 1 }]));
    system.install(&versions[0]);
    let program = directory.path().join("program");
    let link = system.at(FILE).display().to_string();
    let source = "int answer(void); int main(void) { return answer() < 1 || answer() > 3; }";
    compile("cc", &program, source, &[&link]);
    let done = AtomicBool::new(false);
    let start = || succeed(Command::new(&program).env("LD_LIBRARY_PATH", system.at("/usr/lib")));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0_u64;
            while !done.load(Ordering::Relaxed) {
                let read = std::fs::read(system.at(FILE)).expect("the file is missing");
                assert!(libraries.contains(&read), "the file is not whole");
                reads += 1;
            }
            reads
        });
        let starter = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                start();
            }
        });
        let ending = Ending(&done);
        for version in [1, 0, 1] {
            let mut replacement = replace(&system, &libraries[2]);
            start();
            system.install(&versions[version]);
            replacement.refresh(&system.beside("changed", &libraries[2]), &mut |_| {}).unwrap();
            replacement.undo(&mut |_| {}).unwrap();
        }
        drop(ending);
        assert!(reader.join().unwrap() > 0);
        starter.join().unwrap();
    });
    leaves_nothing(&system);
}

/// `ldconfig` leads a library's link to the file with the highest name that begins with `lib`.
#[test]
fn ldconfig_does_not_find_the_original() {
    let Some(system) = System::new() else { return };
    let directory = tempfile::tempdir().unwrap();
    let library = compile("cc", &directory.path().join("l.so"), "int a;", &["-shared", "-Wl,-soname,libanswer.so.1"]);
    let content = std::fs::read(library).unwrap();
    let file = "/usr/lib/libanswer.so.1.2";
    system.install(&system.package("answer", "1.0", file, &content));
    let changed = system.beside("changed", [&content[..], b"changed"].concat());
    let mut replacement = Replacement::plan(&system.root(), &system.records(), Path::new(file), &changed).unwrap();
    replacement.apply(&changed, &mut |_| {}).unwrap();
    std::fs::write(system.at("/etc/ld.so.conf"), "/usr/lib\n").unwrap();
    succeed(Command::new("/sbin/ldconfig").arg("-r").arg(system.root()));
    assert_eq!(std::fs::read_link(system.at(FILE)).unwrap(), Path::new("libanswer.so.1.2"));
}
