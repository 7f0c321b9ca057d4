//! Who owns a file, by the databases of three package managers.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_packages::{Owner, Ownership, PackageError, Replacement, owner_of, owners_of, what_changed};
use coldstart_testing::scratch;

use crate::system::System;

fn owner(package: &str, version: &str) -> Owner {
    Owner { package: package.to_owned(), version: version.to_owned() }
}

#[test]
fn many_files_are_asked_for_at_once() {
    let Some(system) = System::new() else { return };
    system.install(&system.package("answer", "1:2.0-3", "/usr/lib/a*[b]\\c.so", b""));
    system.install(&system.package("merged", "7", "/lib/merged.so", b""));
    std::fs::write(system.at("/usr/lib/own"), "").unwrap();
    let files = ["/usr/lib/a*[b]\\c.so", "/usr/lib/own", "/usr/lib/merged.so", "/usr/lib/missing"].map(Path::new);
    // More than one call takes.
    let many: Vec<&Path> = files.iter().copied().cycle().take(1_000).collect();
    let found = owners_of(&system.root(), &many).unwrap();
    let shown: Vec<String> =
        found.iter().take(4).map(|owner| owner.owner().map_or("-".to_owned(), ToString::to_string)).collect();
    assert_eq!(shown, ["answer 1:2.0-3", "-", "merged 7", "-"]);
    assert!(found.chunks(4).all(|four| four == &found[..4]));
    assert_eq!(found[2], owner_of(&system.root(), files[2]).unwrap());
    assert!(owners_of(&system.root(), &[Path::new("relative")]).is_err());
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
