//! AppImages where something goes wrong: a full disk, a kill; and as another user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use coldstart_testing::{Mount, as_unprivileged, copy_program, kill_after, output_of, skip, succeed};

use super::appimages::{make, scene, trace};
use crate::text;

#[test]
fn a_full_disk_has_no_appimage_and_says_which_directory_needs_room() {
    let Some(scene) = scene() else { return };
    make(&scene, "app", "", &[]);
    trace(&scene, "app");
    let disk = match Mount::new(&scene.path("disk"), &["-t", "tmpfs", "-o", "size=3m", "none"]) {
        Ok(disk) => disk,
        Err(reason) => return skip(&format!("this machine does not mount tmpfs: {reason}")),
    };
    let order = |output: &str, room: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["order", "appimage", "app", "--trace", "t.coldtrace", "--json", "-o", output]);
        output_of(command.current_dir(scene.path("")).env("TMPDIR", scene.path(room)))
    };
    // The image of 6 MB fits neither there,
    let refused = order("disk/new", "");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stdout).contains("No space left on device"), "{}", text(&refused.stdout));
    assert_eq!(fs::read_dir(disk.place()).unwrap().count(), 0);
    // nor can it be extracted there.
    let refused = order("new", "disk");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stdout).contains("make room in $TMPDIR"), "{}", text(&refused.stdout));
    assert_eq!(fs::read_dir(disk.place()).unwrap().count(), 0);
    assert!(!scene.path("new").exists());
}

#[test]
fn killed_at_any_moment_there_is_a_whole_appimage_or_none() {
    let Some(scene) = scene() else { return };
    make(&scene, "app", "", &[]);
    trace(&scene, "app");
    fs::create_dir(scene.path("room")).unwrap();
    let order = |output: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["order", "appimage", "app", "--trace", "t.coldtrace", "-o", output]);
        command.current_dir(scene.path("")).env("TMPDIR", scene.path("room"));
        command
    };
    let begun = std::time::Instant::now();
    succeed(&mut order("whole"));
    // From the first moments to beyond the end.
    let step = begun.elapsed().mul_f64(0.15);
    let (whole, before) = (fs::read(scene.path("whole")).unwrap(), fs::read(scene.path("app")).unwrap());
    for number in 0..9 {
        kill_after(&mut order("new"), step.saturating_mul(number).max(Duration::from_millis(1)));
        assert!(fs::read(scene.path("app")).unwrap() == before);
        if let Ok(made) = fs::read(scene.path("new")) {
            assert!(made == whole, "after {number} steps: another file");
            fs::remove_file(scene.path("new")).unwrap();
        }
    }
    // What a kill left does not hinder the next.
    succeed(&mut order("new"));
    assert!(fs::read(scene.path("new")).unwrap() == whole);
}

#[test]
fn without_root_owners_stay_and_devices_are_refused() {
    let Some(scene) = scene() else { return };
    // Not below the build directory, which may be closed to others.
    let room = tempfile::tempdir().unwrap();
    fs::set_permissions(room.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let place = |name: &str| room.path().join(name);
    copy_program(env!("CARGO_BIN_EXE_coldstart"), place("coldstart"));
    let order = |name: &str| {
        let words = ["order", "appimage", name, "-o", "new", "--trace", "t", "--json"];
        let mut command = as_unprivileged(place("coldstart"));
        output_of(command.args(words).current_dir(room.path()).env("TMPDIR", room.path()))
    };
    let bring = |name: &str| {
        trace(&scene, name);
        fs::copy(scene.path("t.coldtrace"), place("t")).unwrap();
        fs::copy(scene.path(name), place(name)).unwrap();
        fs::set_permissions(place("t"), PermissionsExt::from_mode(0o644)).unwrap();
    };
    make(&scene, "devices", "", &[]);
    bring("devices");
    let refused = order("devices");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stdout).contains("root"), "{}", text(&refused.stdout));
    assert!(!place("new").exists());

    for name in ["null", "usr/share/f03", "usr/share/f04"] {
        fs::remove_file(scene.path("AppDir").join(name)).unwrap();
    }
    fs::remove_file(scene.path("image")).unwrap();
    make(&scene, "app", "", &["-all-root"]);
    bring("app");
    let made = order("app");
    assert!(made.status.success(), "{}{}", text(&made.stdout), text(&made.stderr));
    let offset = fs::metadata(scene.path("runtime")).unwrap().len().to_string();
    let listed = |name: &str| {
        let mut list = Command::new("unsquashfs");
        let all = succeed(list.args(["-lln", "-UTC", "-d", "", "-o", &offset]).arg(place(name)));
        let mut lines: Vec<String> = all.lines().filter(|line| !line.starts_with('d')).map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert!(listed("new").iter().any(|line| line.contains("0/0") && line.ends_with("/usr/share/f05")));
    assert_eq!(listed("new"), listed("app"));
}
