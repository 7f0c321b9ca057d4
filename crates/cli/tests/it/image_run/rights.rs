//! What gives rights, what has several names, and what is kept for people: the originals are used.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use coldstart_testing::{NOBODY, compile, skip};
use rustix::fs::{XattrFlags, setxattr};

use super::{PROGRAM, Scene};
use crate::text;

/// `CAP_NET_RAW`, permitted and effective (`struct vfs_cap_data`, version 2).
pub(super) const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// `app/NAME`, which needs no library of ours.
pub(super) fn alone(scene: &Scene, name: &str) -> String {
    let source = format!("{PROGRAM}\nint part(void) {{ return 1; }}\n");
    compile("cc", &scene.path("app").join(name), &source, &[]).to_str().unwrap().to_owned()
}

#[track_caller]
fn make(scene: &Scene, program: &str) {
    let a = scene.share("a");
    scene.json(&["make", "--json", "--as-is", "--force", "-o", "x.erofs", "--", program, "look", &a], &[]);
}

#[track_caller]
fn said(scene: &Scene, program: &str) -> String {
    let a = scene.share("a");
    let words = ["run", "x.erofs", "--", program, "user", "", "exe", "", "look", &a];
    let output = scene.command(&words, &[]).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
    text(&output.stdout)
}

#[test]
fn a_set_user_id_program_keeps_its_rights() {
    let Some(scene) = Scene::new() else { return };
    let program = alone(&scene, "rights");
    let give = || {
        chown(&program, Some(NOBODY), None).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o4755)).unwrap();
    };
    let expected = format!("user 0 {NOBODY}\nexe {program} disk\n{}", scene.line_of_image("a"));
    // After the image was made, and before.
    make(&scene, &program);
    assert!(said(&scene, &program).contains(&format!("user 0 0\nexe {program} erofs\n")));
    give();
    assert!(said(&scene, &program).ends_with(&expected));
    make(&scene, &program);
    assert!(said(&scene, &program).ends_with(&expected));
}

#[test]
fn a_program_with_capabilities_keeps_them() {
    let Some(scene) = Scene::new() else { return };
    let program = alone(&scene, "rights");
    let give = || setxattr(&program, "security.capability", &CAPABILITY, XattrFlags::empty());
    make(&scene, &program);
    assert!(said(&scene, &program).contains(" erofs\n"));
    if let Err(error) = give() {
        return skip(&format!("/var/tmp keeps no capabilities: {error}"));
    }
    let expected = format!("exe {program} disk\n{}", scene.line_of_image("a"));
    assert!(said(&scene, &program).ends_with(&expected));
    make(&scene, &program);
    assert!(said(&scene, &program).ends_with(&expected));
}

#[test]
fn settings_in_a_home_are_the_programs_own() {
    let Some(scene) = Scene::new() else { return };
    let settings = scene.path("home/.config/settings");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "settings\n").unwrap();
    let settings = settings.to_str().unwrap();
    let a = scene.share("a");
    let mut made = scene.command(&["make", "--as-is", "-o", "x.erofs"], &["look", settings, "look", &a]);
    assert!(made.env("HOME", scene.path("home")).output().unwrap().status.success());
    let said = scene.said("x.erofs", &["write", settings, "look", &a, "remove", settings]);
    let expected = format!("{settings} written\n{}{settings} removed\n", scene.line_of_image("a"));
    assert!(said.ends_with(&expected), "{said}");
}

#[test]
fn a_file_with_two_names_stays_one_file() {
    let Some(scene) = Scene::new() else { return };
    let (a, b, other) = (scene.share("a"), scene.share("b"), scene.share("other"));
    fs::hard_link(&a, &other).unwrap();
    scene.image("x.erofs", &["look", &a, "look", &b, "look", &other]);
    let said = scene.said("x.erofs", &["write", &other, "look", &a, "look", &b, "look", &other]);
    let expected =
        format!("{other} written\n{a} disk words of a\n{}{other} disk words of a\n", scene.line_of_image("b"));
    assert!(said.ends_with(&expected), "{said}");
    assert_eq!(fs::read_to_string(Path::new(&a)).unwrap(), "words of a\nmore\n");
}
