//! Images that cannot be used: the program starts from its own files, and one line says why.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, chown};
use std::process::Command;

use coldstart_testing::{NOBODY, copy_program, is_there, skip, succeed};

use super::{Scene, WITHOUT};
use crate::text;

/// The program starts without its image, for a reason that contains these words.
#[track_caller]
fn starts_without(scene: &Scene, image: &str, reason: &str) {
    let output = scene.run(image, &["exe", "", "look", &scene.share("a"), "exit", "7"]);
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{image}: {complained}");
    let program = scene.path("app/program");
    assert_eq!(said, format!("argv {0}\nexe {0} disk\n{1} disk words of a\n", program.display(), scene.share("a")));
    assert!(complained.starts_with(WITHOUT) && complained.contains(reason), "{image}: {reason}: {complained}");
    assert_eq!(complained.lines().count(), 1, "{complained}");
}

fn copy(scene: &Scene, name: &str) -> File {
    copy_program(scene.path("x.erofs"), scene.path(name));
    File::options().read(true).write(true).open(scene.path(name)).unwrap()
}

#[test]
fn what_is_no_image_is_told_in_a_line() {
    let Some(scene) = Scene::new() else { return };
    fs::create_dir(scene.path("directory")).unwrap();
    succeed(Command::new("mkfifo").arg(scene.path("pipe")));
    fs::write(scene.path("empty"), "").unwrap();
    fs::write(scene.path("zeros"), vec![0; 1 << 20]).unwrap();
    for (name, reason) in [
        ("missing", "No such file"),
        ("directory", "directory"),
        ("pipe", "pipe"),
        ("empty", "does not begin like one"),
        ("zeros", "does not begin like one"),
        ("app/program", "does not begin like one"),
    ] {
        starts_without(&scene, name, reason);
    }
    if !is_there("mkfs.erofs") {
        return skip("needs mkfs.erofs");
    }
    succeed(Command::new("mkfs.erofs").arg(scene.path("other")).arg(scene.path("app")));
    starts_without(&scene, "other", "does not begin like one");
}

#[test]
fn a_cut_and_a_damaged_image_are_told_in_a_line() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let length = fs::metadata(scene.path("x.erofs")).unwrap().len();
    copy(&scene, "cut").set_len(length - 4096).unwrap();
    starts_without(&scene, "cut", "is cut off");
    copy(&scene, "one block").set_len(4096).unwrap();
    starts_without(&scene, "one block", "is cut off");
    copy(&scene, "half a block").set_len(2000).unwrap();
    starts_without(&scene, "half a block", "does not begin like one");
    for (name, at, bytes, reason) in [
        ("newer", 8, &[99, 0, 0, 0][..], "version 99, newer"),
        ("older", 8, &[1, 0, 0, 0], "version 1, of an earlier"),
        ("elsewhere", 16, &[0xff; 8], "damaged"),
        ("long", 24, &[0xff; 8], "damaged"),
        ("no file system", 1024, &[0; 4], "cannot be mounted"),
        ("another uuid", 1024 + 48, &[0; 16], "cannot be mounted"),
    ] {
        copy(&scene, name).write_all_at(bytes, at).unwrap();
        starts_without(&scene, name, reason);
    }
    // In the index, which lies where the sign says.
    let image = copy(&scene, "index");
    let mut hot = [0; 8];
    image.read_exact_at(&mut hot, 16).unwrap();
    image.write_all_at(&[0xff], u64::from_le_bytes(hot) + 200).unwrap();
    starts_without(&scene, "index", "damaged");
}

#[test]
fn an_image_that_others_may_change_is_not_used() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mode = |name: &str, mode| fs::set_permissions(scene.path(name), Permissions::from_mode(mode)).unwrap();
    copy(&scene, "theirs");
    chown(scene.path("theirs"), Some(NOBODY), None).unwrap();
    starts_without(&scene, "theirs", "belongs to user 65534");
    copy(&scene, "writable");
    mode("writable", 0o666);
    starts_without(&scene, "writable", "others may write to the image");
    for (name, permissions) in [("open", 0o777), ("group", 0o775), ("sticky", 0o1777)] {
        fs::create_dir(scene.path(name)).unwrap();
        mode(name, permissions);
        copy(&scene, &format!("{name}/x.erofs"));
    }
    starts_without(&scene, "open/x.erofs", "others may write to the directory");
    starts_without(&scene, "group/x.erofs", "others may write to the directory");
    // Nobody else may rename what is in it.
    assert!(scene.said("sticky/x.erofs", &["look", &scene.share("a")]).ends_with(&scene.line_of_image("a")));
    // By a link, it is the directories of its target that count.
    std::os::unix::fs::symlink(scene.path("open/x.erofs"), scene.path("link")).unwrap();
    starts_without(&scene, "link", "others may write to the directory");
    chown(scene.path("group"), Some(NOBODY), None).unwrap();
    mode("group", 0o755);
    starts_without(&scene, "group/x.erofs", "belongs to user 65534");
}
