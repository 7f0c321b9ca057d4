//! The trigger of coldstart's own package, as dpkg runs it: `packaging/debian/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{script, succeed};

use crate::system::System;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/debian");

/// A package with the trigger and the script, as debhelper makes it.
fn coldstart(system: &System) -> PathBuf {
    let tree = system.beside("coldstart", "");
    std::fs::remove_file(&tree).unwrap();
    std::fs::create_dir_all(tree.join("DEBIAN")).unwrap();
    let control = "Package: coldstart\nVersion: 1\nArchitecture: all\nMaintainer: a test <test@example.org>\nDescription: a test\n";
    std::fs::write(tree.join("DEBIAN/control"), control).unwrap();
    for name in ["triggers", "postinst"] {
        std::fs::copy(Path::new(PACKAGING).join(format!("coldstart.{name}")), tree.join("DEBIAN").join(name)).unwrap();
    }
    let package = tree.with_file_name("coldstart.deb");
    succeed(Command::new("dpkg-deb").args(["--root-owner-group", "-Znone", "--build"]).arg(&tree).arg(&package));
    package
}

#[test]
fn an_upgrade_starts_the_service_once_if_an_installation_wants_it() {
    let Some(system) = System::new() else { return };
    let tools = system.root().join("tmp/tools");
    std::fs::create_dir(&tools).unwrap();
    let started = system.root().join("tmp/started");
    script(&tools, "systemctl", format!("#!/bin/sh\necho \"$*\" >>{:?}\nexit 1\n", started), 0o755);
    // dpkg runs scripts of packages in the root directory, which has no shell, unless it is told not to.
    let install = |packages: &[&Path]| {
        let path = std::env::join_paths([
            &tools,
            Path::new("/usr/sbin"),
            Path::new("/usr/bin"),
            Path::new("/sbin"),
            Path::new("/bin"),
        ]);
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", system.root().display()));
        command.arg(format!("--log={}", system.root().join("tmp/dpkg.log").display()));
        command.args(["--force-script-chrootless", "--install"]).args(packages).env("PATH", path.unwrap());
        succeed(&mut command);
    };
    install(&[&coldstart(&system)]);
    std::fs::create_dir_all(system.root().join("run/systemd/system")).unwrap();
    let unit = system.root().join("etc/systemd/system/coldstart-refresh.service");
    install(&[&system.package("one", "1", "/usr/bin/one", b"one")]);
    assert!(!started.exists(), "no installation wants it");
    std::fs::create_dir_all(unit.parent().unwrap()).unwrap();
    std::fs::write(&unit, "").unwrap();
    // Two packages in one run of dpkg; a failure of systemctl fails none of them.
    install(&[
        &system.package("one", "2", "/usr/bin/one", b"two"),
        &system.package("lib", "1", "/usr/lib/lib.so", b"lib"),
    ]);
    assert_eq!(std::fs::read_to_string(&started).unwrap(), "--no-block start coldstart-refresh.service\n");
    install(&[&system.package("elsewhere", "1", "/etc/elsewhere", b"etc")]);
    assert_eq!(std::fs::read_to_string(&started).unwrap().lines().count(), 1, "it is interested in programs only");
}
