//! A program of a package, installed with changed files: what dpkg and its upgrades make of it.
//!
//! dpkg's database, its configuration and our records are overlays in a mount namespace of the test.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_testing::{copy_program, is_root, is_there, output_of, scratch, skip, succeed};

use super::{has_private_view, searching};
use crate::text;

/// A package with the program of this version, in the directory `app` below `directory`.
fn package(directory: &Path, version: &str) {
    let app = directory.join("app");
    let _ = fs::remove_dir_all(&app);
    searching::build(&app, version);
    let tree = directory.join("tree");
    let inside = tree.join(app.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::rename(&app, &inside).unwrap();
    fs::create_dir(tree.join("DEBIAN")).unwrap();
    let control = format!(
        "Package: coldstart-test-searching\nVersion: {version}\nArchitecture: all\n\
         Maintainer: a test <test@example.org>\nDescription: a test\n"
    );
    fs::write(tree.join("DEBIAN/control"), control).unwrap();
    let sums = "find . -type f ! -path './DEBIAN/*' -printf '%P\\0' | xargs -0 md5sum > DEBIAN/md5sums";
    succeed(Command::new("sh").args(["-c", sums]).current_dir(&tree));
    let package = directory.join(format!("{version}.deb"));
    succeed(Command::new("dpkg-deb").args(["--root-owner-group", "-Znone", "--build"]).arg(&tree).arg(package));
    fs::remove_dir_all(&tree).unwrap();
}

const SCRIPT: &str = r#"
set -e
cd "$1"
for directory in etc var/lib var/log usr/local; do
    mkdir -p "upper/$directory" "work/$directory"
    mount -t overlay overlay -o "lowerdir=/$directory,upperdir=upper/$directory,workdir=work/$directory" "/$directory"
done
cp --preserve=mode coldstart coldstart-run /usr/local/bin/
export HOME="$1/home"
mkdir "$HOME"
cd "$HOME"
program="$1/app/searching"
now() { echo "== $1"; "$program" || echo "code $?"; dpkg --verify coldstart-test-searching; echo "verify: $?"; }
dpkg --install "$1/1.deb"
/usr/local/bin/coldstart speedup --install --anyway --after-upgrades --runs 2 --fixes bind -- "$program"
now installed
ls -A "$1/app"
cat /etc/dpkg/dpkg.cfg.d/coldstart
units() { ls /etc/systemd/system | grep coldstart || echo "no unit"; }
units
dpkg-divert --list "$program"
dpkg --install "$1/2.deb"
now upgraded
/usr/local/bin/coldstart installed searching || echo "code $?"
/usr/local/bin/coldstart installed searching --refresh
now refreshed
cmp -s "$program" "$1/app/.searching.coldstart-original" || echo changed
/usr/local/bin/coldstart installed searching
dpkg --remove coldstart-test-searching
echo "== removed"
/usr/local/bin/coldstart installed searching || echo "code $?"
/usr/local/bin/coldstart installed searching --uninstall
test -n "$(find "$1/app" -type f)" || echo "no file"
test -e /etc/dpkg/dpkg.cfg.d/coldstart || echo "no hook"
units
dpkg-divert --list "$program"
echo "== end"
"#;

/// Whether overlays can be mounted over directories of the system.
fn can_mount(directory: &Path) -> bool {
    let script = "mkdir upper work && mount -t overlay overlay -o lowerdir=/etc,upperdir=upper,workdir=work /etc";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).current_dir(directory);
    let output = output_of(&mut command);
    if !output.status.success() {
        skip(&format!("no overlay can be mounted: {}", text(&output.stderr)));
    }
    output.status.success()
}

#[test]
fn a_changed_file_of_a_package_lives_through_upgrades() {
    if !is_root() || !has_private_view() {
        return;
    }
    if !is_there("dpkg-deb") || !is_there("dpkg-divert") {
        return skip("needs dpkg");
    }
    let (directory, probe) = (scratch(), scratch());
    if !can_mount(probe.path()) {
        return;
    }
    let at = directory.path().canonicalize().unwrap();
    for version in ["1", "2"] {
        package(&at, version);
    }
    let ours = Path::new(env!("CARGO_BIN_EXE_coldstart"));
    copy_program(ours, at.join("coldstart"));
    // As the small launcher: it is not needed, but looked for beside coldstart.
    copy_program(ours, at.join("coldstart-run"));
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"]).arg(&at).stdin(Stdio::null());
    let output = output_of(&mut command);
    // Long lines are wrapped.
    let told = text(&output.stdout).replace("\n             ", " ");
    let all = format!("{told}\n{}", text(&output.stderr));
    assert!(output.status.success() && told.contains("== end"), "{all}");
    let part = |from: &str, to: &str| {
        let from = told.find(&format!("== {from}")).unwrap_or_else(|| panic!("no {from}: {all}"));
        let rest = &told[from..];
        rest[..rest.find(&format!("== {to}")).unwrap_or_else(|| panic!("no {to}: {all}"))].to_owned()
    };
    let installed = part("installed", "upgraded");
    for line in
        ["version 1\nverify: 0", ".searching.coldstart-original", "post-invoke=", "local diversion of", ".path\n"]
    {
        assert!(installed.contains(line), "no {line}: {all}");
    }
    let upgraded = part("upgraded", "refreshed");
    for line in
        ["version 2\nverify: 0", "package coldstart-test-searching 1 became 2, and the original is in place", "code 1"]
    {
        assert!(upgraded.contains(line), "no {line}: {all}");
    }
    let refreshed = part("refreshed", "removed");
    for line in ["version 2\nverify: 0", "changed", "searching: fresh, for all users"] {
        assert!(refreshed.contains(line), "no {line}: {all}");
    }
    let removed = part("removed", "end");
    for line in ["its package was removed", "searching is uninstalled", "no file", "no hook", "no unit"] {
        assert!(removed.contains(line), "no {line}: {all}");
    }
    assert!(!removed.contains("diversion"), "{all}");
}
