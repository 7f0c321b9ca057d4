//! Modules on mounts that cannot be written: images, which may be exchanged as a whole, and mounts that are read-only for a while.
//!
//! Needs root, loop devices and mkfs.erofs (erofs-utils).

use std::fs;
use std::path::Path;
use std::process::Command;

use coldstart_testing::{Mount, is_root, is_there, skip, succeed};

use super::scene::{PYTHON, Scene};

/// Directories `one/a` and `one/b`, and the same as `two` with a module in `a` that shadows one of `b`; a program that sees them in `image`.
fn scene() -> Scene {
    let mut scene = Scene::new();
    scene.file("one/b/both.py", "where = 'b'\n");
    scene.file("one/a/only.py", "");
    succeed(Command::new("cp").args(["-a", "one", "two"]).current_dir(scene.root()));
    scene.file("two/a/both.py", "where = 'a'\n");
    scene.file("app.py", "import both, only\nprint(both.where, both.__file__)\n");
    fs::create_dir(scene.path("image")).unwrap();
    scene.search("PYTHONPATH", &["image/a", "image/b"]);
    // Seconds between them, and none of them is the other's.
    for (name, time) in
        [("one/a", "2001-01-01"), ("one/b", "2002-02-02"), ("two/a", "2003-03-03"), ("two/b", "2002-02-02")]
    {
        succeed(Command::new("touch").args(["-d", time]).arg(scene.path(name)));
    }
    for name in ["one", "two"] {
        succeed(Command::new("touch").args(["-d", "2004-04-04"]).arg(scene.path(name)));
    }
    scene
}

/// Makes an image of a directory beside it and mounts it.
fn mounted(scene: &Scene, name: &str, options: &[&str]) -> Option<Mount> {
    let image = scene.path(&format!("{name}.erofs"));
    succeed(Command::new("mkfs.erofs").args(options).arg(&image).arg(scene.path(name)));
    let mount = Mount::new(&scene.path("image"), &["-o", "loop,ro", "-t", "erofs", text_of(&image)]);
    mount.inspect_err(|error| skip(&format!("needs EROFS and a loop device: {error}"))).ok()
}

fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Whether tests that mount images can run.
fn may_mount() -> bool {
    let may = is_root() && is_there("mkfs.erofs");
    if !may {
        skip("needs root and mkfs.erofs");
    }
    may
}

#[test]
fn another_image_in_the_same_place() {
    if !may_mount() {
        return;
    }
    let scene = scene();
    let Some(one) = mounted(&scene, "one", &[]) else { return };
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.starts_with("b "), "{printed}");
    assert_eq!(scene.check().0, Some(0));
    drop(one);
    let Some(_two) = mounted(&scene, "two", &[]) else { return };
    let printed = scene.same(&[PYTHON, "app.py"]);
    assert!(printed.starts_with("a "), "{printed}");
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn an_image_with_a_single_time_is_left_to_the_interpreter() {
    if !may_mount() {
        return;
    }
    let scene = scene();
    let Some(one) = mounted(&scene, "one", &["-T1"]) else { return };
    let made = scene.make(&[PYTHON, "app.py"]);
    assert!(made["notes"].to_string().contains("same time"), "{made}");
    assert!(scene.same(&[PYTHON, "app.py"]).starts_with("b "));
    drop(one);
    let Some(_two) = mounted(&scene, "two", &["-T1"]) else { return };
    assert!(scene.same(&[PYTHON, "app.py"]).starts_with("a "));
}

#[test]
fn a_read_only_mount_that_becomes_writable() {
    if !is_root() {
        return skip("needs root");
    }
    let scene = scene();
    let options = ["--bind", "-o", "ro", text_of(&scene.path("one")).to_owned().leak()];
    let mount = match Mount::new(&scene.path("image"), &options) {
        Ok(mount) => mount,
        Err(error) => return skip(&format!("needs bind mounts: {error}")),
    };
    let shadow = scene.path("image/a/both.py");
    assert!(fs::write(&shadow, "").is_err(), "it is mounted read-only");
    assert!(scene.made_and_same(&[PYTHON, "app.py"]).starts_with("b "));
    succeed(Command::new("mount").args(["-o", "remount,bind,rw"]).arg(mount.place()));
    fs::write(&shadow, "where = 'a'\n").unwrap();
    succeed(Command::new("mount").args(["-o", "remount,bind,ro"]).arg(mount.place()));
    assert!(scene.same(&[PYTHON, "app.py"]).starts_with("a "));
    assert_eq!(scene.check().0, Some(1));
}

/// A container: a layer of its own, in a directory that exists, over that of the image.
fn container(scene: &Scene, name: &str) -> Option<Mount> {
    for directory in ["own", "work"] {
        fs::create_dir(scene.path(&format!("{name}/{directory}"))).unwrap();
    }
    let [lower, upper, work] = ["one", &format!("{name}/own"), &format!("{name}/work")].map(|name| scene.text_of(name));
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let mount = Mount::new(&scene.path("image"), &["-t", "overlay", "-o", &options, "none"]);
    mount.inspect_err(|error| skip(&format!("needs overlayfs: {error}"))).ok()
}

#[test]
fn another_container_of_the_same_image() {
    if !is_root() {
        return;
    }
    let mut scene = scene();
    // What Python writes beside its modules is in the container's layer, not in the image.
    scene.variables.push(("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned()));
    // Before the index is made, for the program's directory is searched, too.
    for name in ["first", "second"] {
        fs::create_dir(scene.path(name)).unwrap();
    }
    let Some(first) = container(&scene, "first") else { return };
    scene.made_and_same(&[PYTHON, "app.py"]);
    drop(first);
    let Some(second) = container(&scene, "second") else { return };
    assert_eq!(scene.check().0, Some(0));
    scene.same(&[PYTHON, "app.py"]);
    // A module in the container's own layer.
    scene.file("image/a/both.py", "where = 'a'\n");
    assert!(scene.same(&[PYTHON, "app.py"]).starts_with("a "));
    assert_eq!(scene.check().0, Some(1));
    drop(second);
}
