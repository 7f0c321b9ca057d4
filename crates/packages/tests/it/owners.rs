//! Who owns a file, by the databases of three package managers.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use coldstart_packages::{
    Owner, Ownership, PackageError, Replacement, databases, is_at_work, owner_of, owners_of, ownerships_of,
    version_change, versions_of, what_changed,
};
use coldstart_testing::{is_there, scratch, skip};

use crate::system::System;

fn owner(package: &str, version: &str) -> Owner {
    Owner { package: package.to_owned(), version: version.to_owned() }
}

#[test]
fn ownerships_are_told_in_the_order_of_the_files() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("answer", "1:2.0-3", "/usr/lib/a*[b]\\c.so", b""));
    system.install(&system.package("merged", "7", "/lib/merged.so", b""));
    std::fs::write(system.at("/usr/lib/own"), "").unwrap();
    let files = ["/usr/lib/a*[b]\\c.so", "/usr/lib/own", "/usr/lib/merged.so", "/usr/lib/missing"].map(Path::new);
    // More than one call takes.
    let many: Vec<&Path> = files.iter().copied().cycle().take(1_000).collect();
    let found = ownerships_of(&system.root(), &many).unwrap();
    let shown: Vec<String> =
        found.iter().take(4).map(|owner| owner.owner().map_or("-".to_owned(), ToString::to_string)).collect();
    assert_eq!(shown, ["answer 1:2.0-3", "-", "merged 7", "-"]);
    assert!(found.chunks(4).all(|four| four == &found[..4]));
    assert_eq!(found[2], owner_of(&system.root(), files[2]).unwrap());
    assert!(ownerships_of(&system.root(), &[Path::new("relative")]).is_err());
}

#[test]
fn files_of_dpkg_are_found_by_all_their_names() {
    let Some(system) = System::new() else { return };
    let odd = OsStr::from_bytes(b"/usr/lib/a [b]*? \\ \xff: c.so");
    system.install(&system.package("odd", "1.0-1", odd, b"odd"));
    system.install(&system.package("outside", "2:1.0", "/lib/outside.so", b"outside"));
    let root = system.root();
    let odd = Path::new(odd);
    let expected = Ownership::Dpkg { owner: owner("odd", "1.0-1"), listed: odd.to_owned() };
    assert_eq!(owner_of(&root, odd).unwrap(), expected);
    for name in ["/lib/outside.so", "/usr/lib/outside.so"] {
        let listed = Path::new("/lib/outside.so").to_owned();
        let expected = Ownership::Dpkg { owner: owner("outside", "2:1.0"), listed };
        assert_eq!(owner_of(&root, Path::new(name)).unwrap(), expected);
    }
    for name in ["/usr/lib/a b", "/usr/lib/*", "/usr/lib/outside.s", "/etc/a\nb", "/usr/lib/outside.so\n"] {
        assert_eq!(owner_of(&root, Path::new(name)).unwrap(), Ownership::None, "{name}");
    }
    let before = owner("outside", "2:1.0");
    system.install(&system.package("outside", "2:1.1", "/lib/outside.so", b"newer"));
    let now = owner_of(&root, Path::new("/lib/outside.so")).unwrap();
    assert_eq!(what_changed(Some(&before), &now).unwrap(), "package outside 2:1.0 became 2:1.1");
    assert!(matches!(owner_of(&root, Path::new("lib")), Err(PackageError::Relative(_))));
}

#[test]
fn files_of_pacman_and_rpm_are_recognised_and_refused() {
    let directory = scratch();
    let root = directory.path();
    let package = root.join("var/lib/pacman/local/foo-1.2-3");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::create_dir_all(root.join("usr/bin")).unwrap();
    std::fs::write(package.join("desc"), "%NAME%\nfoo\n\n%VERSION%\n1.2-3\n\n").unwrap();
    std::fs::write(package.join("files"), "%FILES%\nusr/\nusr/bin/\nusr/bin/foo\n\n%BACKUP%\netc/foo\tabc\n").unwrap();
    std::fs::write(root.join("usr/bin/foo"), "foo").unwrap();
    let file = Path::new("/usr/bin/foo");
    assert_eq!(owner_of(root, file).unwrap(), Ownership::Pacman(owner("foo", "1.2-3")));
    assert_eq!(owner_of(root, Path::new("/etc/foo\tabc")).unwrap(), Ownership::None);
    let refused = Replacement::plan(root, &root.join("records"), file, &root.join("usr/bin/foo")).unwrap_err();
    assert!(
        refused
            .to_string()
            .ends_with("belongs to package foo 1.2-3, and pacman cannot be told that a file was replaced")
    );
    assert!(refused.hint().unwrap().contains("-o"));
    std::fs::remove_dir_all(root.join("var")).unwrap();
    // A database that rpm cannot read, whether it is installed or not.
    std::fs::create_dir_all(root.join("var/lib/rpm")).unwrap();
    std::fs::write(root.join("var/lib/rpm/rpmdb.sqlite"), "not a database").unwrap();
    assert_eq!(owner_of(root, file).unwrap(), Ownership::Rpm(None));
    let refused = Replacement::plan(root, &root.join("records"), file, &root.join("usr/bin/foo")).unwrap_err();
    assert!(matches!(refused, PackageError::Manager { manager: "rpm", .. }));
    assert!(!root.join("records").exists());
}

#[test]
fn many_files_have_the_owners_that_each_has_alone() {
    let Some(system) = System::new() else { return };
    let root = system.root();
    let odd = OsStr::from_bytes(b"/usr/lib/a [b]*? \\ \xff: c.so");
    system.install(&system.package("odd", "1.0-1", odd, b"odd"));
    system.install(&system.package("outside", "2:1.0", "/lib/outside.so", b"outside"));
    // More than one command line can hold.
    let many: Vec<PathBuf> = (0..30_000).map(|number| format!("/usr/lib/none-{number}").into()).collect();
    let known = [Path::new(odd), Path::new("/usr/lib/outside.so"), Path::new("/lib/outside.so")];
    let odd_ones = ["/etc/a\nb", "relative", "/usr/lib/outside.s", "/usr/lib/*"].map(Path::new);
    let asked: Vec<&Path> = many.iter().map(PathBuf::as_path).chain(known).chain(odd_ones).collect();
    let owners = owners_of(&root, &asked).unwrap();
    assert_eq!(owners.len(), known.len(), "{owners:?}");
    for path in known {
        assert_eq!(owners.get(path), owner_of(&root, path).unwrap().owner(), "{path:?}");
    }
    system.install(&system.package("outside", "2:1.1", "/lib/outside.so", b"newer"));
    let versions = versions_of(&root, &["outside", "gone"]).unwrap();
    assert_eq!(versions.len(), 2, "{versions:?}");
    let changed = version_change(&owners[Path::new("/lib/outside.so")], versions.get("outside").map(String::as_str));
    assert_eq!(changed.unwrap(), "package outside 2:1.0 became 2:1.1");
    assert_eq!(version_change(&owner("odd", "1.0-1"), versions.get("odd").map(String::as_str)), None);
    assert_eq!(version_change(&owner("gone", "1"), None).unwrap(), "package gone 1 was removed");
    assert_eq!(databases(&root), [root.join("var/lib/dpkg/status")]);
    // Removed, but not purged, it keeps its version in the database.
    let status = root.join("var/lib/dpkg/status");
    let text = std::fs::read_to_string(&status).unwrap();
    std::fs::write(&status, text.replace("install ok installed", "deinstall ok config-files")).unwrap();
    assert_eq!(versions_of(&root, &["outside", "odd"]).unwrap(), [].into());
}

#[test]
fn dpkg_at_work_is_noticed() {
    let Some(system) = System::new() else { return };
    let root = system.root();
    assert!(!is_at_work(&root));
    let lock = root.join("var/lib/dpkg/lock-frontend");
    std::fs::write(&lock, "").unwrap();
    assert!(!is_at_work(&root));
    // A lock of POSIX, as dpkg's: that of another process.
    let script = "import fcntl,sys;f=open(sys.argv[1],'w');fcntl.lockf(f,fcntl.LOCK_EX);print('held',flush=True);sys.stdin.read()";
    if !is_there("python3") {
        return skip("needs python3");
    }
    let mut command = Command::new("python3");
    let mut holder =
        command.args(["-c", script]).arg(&lock).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(is_at_work(&root), "{line}");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert!(!is_at_work(&root));
}

#[test]
fn many_files_of_pacman_are_found_by_one_reading() {
    let directory = scratch();
    let root = directory.path();
    for (name, version, file) in [("foo", "1.2-3", "usr/bin/foo"), ("bar", "1:2", "usr/lib/bar.so")] {
        let package = root.join(format!("var/lib/pacman/local/{name}-{version}"));
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("desc"), format!("%NAME%\n{name}\n\n%VERSION%\n{version}\n\n")).unwrap();
        std::fs::write(package.join("files"), format!("%FILES%\nusr/\n{file}\n\n")).unwrap();
    }
    let owners = owners_of(root, &["/usr/bin/foo", "/usr/lib/bar.so", "/usr/none"].map(Path::new)).unwrap();
    assert_eq!(owners.len(), 2);
    assert_eq!(owners[Path::new("/usr/lib/bar.so")], owner("bar", "1:2"));
    assert_eq!(versions_of(root, &["foo"]).unwrap()["foo"], "1.2-3");
    assert_eq!(databases(root), [root.join("var/lib/pacman/local")]);
}
