//! Images that root has mounted for everybody, and users who may not mount.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use coldstart_testing::{NOBODY, as_unprivileged, copy_program, skip};

use super::{Scene, WITHOUT, Waiting, mounts_below};
use crate::text;

/// Offset of an image's UUID.
const UUID: u64 = 1024 + 48;

/// A mounted image, unmounted when this is dropped.
struct ForEverybody(PathBuf);

impl ForEverybody {
    #[track_caller]
    fn new(scene: &Scene) -> Self {
        let mounted = scene.json(&["mount", "--json", "x.erofs"], &[]);
        assert_eq!((&mounted["schema"], &mounted["was_mounted"]), (&"coldstart.image-mount/1".into(), &false.into()));
        Self(mounted["path"].as_str().unwrap().into())
    }
}

impl Drop for ForEverybody {
    fn drop(&mut self) {
        if !mounts_below(&self.0).is_empty() {
            let _ = Command::new(env!("CARGO_BIN_EXE_coldstart")).args(["image", "umount"]).arg(&self.0).output();
        }
    }
}

/// `coldstart image` of a user who may not mount.
fn as_user(scene: &Scene, words: &[&str], orders: &[&str]) -> Command {
    let coldstart = scene.path("coldstart");
    if !coldstart.exists() {
        copy_program(env!("CARGO_BIN_EXE_coldstart"), &coldstart);
    }
    let mut command = as_unprivileged(coldstart);
    command.arg("image").args(words).current_dir(scene.directory.path()).stdin(Stdio::null());
    if !orders.is_empty() {
        command.arg("--").arg(scene.path("app/program")).args(orders);
    }
    command
}

/// Whether that user may make a user namespace.
fn may_users() -> bool {
    let tried = as_unprivileged("unshare").args(["--user", "--mount", "true"]).output();
    let allowed = tried.is_ok_and(|output| output.status.success());
    if !allowed {
        skip("users may not make user namespaces");
    }
    allowed
}

#[track_caller]
fn succeeded(output: &Output) -> String {
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{}", text(&output.stdout));
    text(&output.stdout)
}

#[test]
fn a_user_starts_without_the_image_unless_root_has_mounted_it() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let orders = ["user", "", "exe", "", "look", &scene.share("a"), "exit", "7"];
    let start = || as_user(&scene, &["run", "x.erofs"], &orders).output().unwrap();
    let output = start();
    let said = text(&output.stderr);
    assert!(said.starts_with(WITHOUT) && said.contains("`coldstart image mount x.erofs`"), "{said}");
    assert_eq!((output.status.code(), said.lines().count()), (Some(7), 1));
    assert!(text(&output.stdout).contains("words of a\n"));
    let mounted = ForEverybody::new(&scene);
    assert_eq!(mounts_below(&mounted.0), [mounted.0.as_path()]);
    if !may_users() {
        return;
    }
    let output = start();
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(7), ""));
    let program = scene.path("app/program");
    let expected = format!("user 65534 65534\nexe {} erofs\n{}", program.display(), scene.line_of_image("a"));
    assert!(text(&output.stdout).ends_with(&expected), "{}", text(&output.stdout));
    // What has changed since is theirs as well.
    fs::write(scene.share("a"), "changed\n").unwrap();
    let said = text(&start().stdout);
    assert!(said.ends_with(&format!("{} disk changed\n", scene.share("a"))), "{said}");
}

#[test]
fn only_root_mounts_and_unmounts() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    for action in ["mount", "umount"] {
        let output = as_user(&scene, &[action, "x.erofs"], &[]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("only root can mount") && said.contains("hint: use sudo"), "{said}");
    }
}

#[test]
fn twice_is_once() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mounted = ForEverybody::new(&scene);
    let again = scene.json(&["mount", "--json", "x.erofs"], &[]);
    assert_eq!((&again["was_mounted"], again["path"].as_str()), (&true.into(), mounted.0.to_str()));
    let said = succeeded(&scene.command(&["mount", "x.erofs"], &[]).output().unwrap());
    assert_eq!(said, format!("is mounted at {}\n", mounted.0.display()));
    assert_eq!(mounts_below(&mounted.0).len(), 1);
    let said = succeeded(&scene.command(&["umount", "x.erofs"], &[]).output().unwrap());
    assert_eq!(said, format!("unmounted from {}\n", mounted.0.display()));
    assert!(mounts_below(&mounted.0).is_empty() && !mounted.0.exists());
    let output = scene.command(&["umount", "x.erofs"], &[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not mounted"), "{said}");
}

#[test]
fn a_mounted_image_is_used_and_unmounted_when_its_file_is_gone() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mounted = ForEverybody::new(&scene);
    assert!(scene.said("x.erofs", &["look", &scene.share("a")]).ends_with(&scene.line_of_image("a")));
    fs::remove_file(scene.path("x.erofs")).unwrap();
    let output = scene.command(&["umount", "x.erofs"], &[]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("hint: if the image is gone, name its directory"), "{said}");
    succeeded(&scene.command(&["umount", mounted.0.to_str().unwrap()], &[]).output().unwrap());
    assert!(mounts_below(&mounted.0).is_empty() && !mounted.0.exists());
}

#[test]
fn a_program_goes_on_when_its_image_is_unmounted() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mounted = ForEverybody::new(&scene);
    let mut programs = vec![scene.wait("x.erofs")];
    if may_users() {
        let mut command = as_user(&scene, &["run", "x.erofs"], &["-"]);
        programs.push(Waiting::of(command.stdin(Stdio::piped()).stdout(Stdio::piped())));
    }
    succeeded(&scene.command(&["umount", "x.erofs"], &[]).output().unwrap());
    assert!(mounts_below(&mounted.0).is_empty());
    for mut program in programs {
        assert_eq!(program.ask(&format!("look {}", scene.share("b"))), scene.line_of_image("b"));
        assert_eq!(program.end(), Some(0));
    }
    // The next start mounts it for itself.
    assert!(scene.said("x.erofs", &["look", &scene.share("a")]).ends_with(&scene.line_of_image("a")));
}

#[test]
fn root_believes_no_index_that_another_user_wrote_for_a_mounted_image() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mounted = ForEverybody::new(&scene);
    // The update of a file, and an image that calls itself the mounted one: the old file would be laid over the new one.
    fs::write(scene.share("a"), "safer words\n").unwrap();
    scene.whole_image("forged.erofs");
    let mut uuid = [0; 16];
    File::open(scene.path("x.erofs")).unwrap().read_exact_at(&mut uuid, UUID).unwrap();
    File::options().write(true).open(scene.path("forged.erofs")).unwrap().write_all_at(&uuid, UUID).unwrap();
    chown(scene.path("forged.erofs"), Some(NOBODY), None).unwrap();
    let output = scene.run("forged.erofs", &["look", &scene.share("a")]);
    let said = text(&output.stdout);
    assert!(said.ends_with(" disk safer words\n"), "{said}");
    let complained = text(&output.stderr);
    assert!(complained.starts_with(WITHOUT) && complained.contains("belongs to user"), "{complained}");
    drop(mounted);
}
