//! Originals that change: what they are now is used, and everything else comes from the image.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::Scene;

/// Changes an original, whose first line is another one afterwards.
type Change = fn(&Path);

fn edit_in_place(path: &Path) {
    // As long as before.
    let text = fs::read_to_string(path).unwrap().replace("words", "other");
    File::options().write(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn replace(path: &Path) {
    let new = path.with_extension("new");
    fs::write(&new, fs::read_to_string(path).unwrap().replace("words", "other")).unwrap();
    fs::rename(new, path).unwrap();
}

/// With the size and time of the one before.
fn replace_in_secret(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    replace(path);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

fn edit_in_secret(path: &Path) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    edit_in_place(path);
    File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn an_original_that_has_changed_is_used_as_it_is_now() {
    let Some(scene) = Scene::new() else { return };
    let changes: [(&str, Change); 4] = [
        ("edited", edit_in_place),
        ("replaced", replace),
        ("replaced in secret", replace_in_secret),
        ("edited in secret", edit_in_secret),
    ];
    for (how, change) in changes {
        fs::write(scene.share("a"), "words of a\n").unwrap();
        scene.whole_image("x.erofs");
        assert_eq!(
            scene.said("x.erofs", &["look", &scene.share("a")]).lines().nth(1),
            scene.line_of_image("a").lines().next()
        );
        change(Path::new(&scene.share("a")));
        let said = scene.said("x.erofs", &["look", &scene.share("a"), "look", &scene.share("b")]);
        let now = format!("{} disk other of a\n{}", scene.share("a"), scene.line_of_image("b"));
        assert!(said.ends_with(&now), "{how}: {said}");
        let told = scene.told("x.erofs");
        assert!(told.contains(&format!("`{}` has changed since", scene.share("a"))), "{how}: {told}");
        assert!(!told.contains(&scene.share("b")), "{how}: {told}");
    }
}

#[test]
fn a_mode_an_absence_and_another_kind_of_file_are_those_of_now() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    fs::set_permissions(scene.share("a"), Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(scene.share("b")).unwrap();
    fs::remove_file(scene.share("c")).unwrap();
    std::os::unix::fs::symlink("a", scene.share("c")).unwrap();
    let orders = ["look", &scene.share("a"), "look", &scene.share("b"), "look", &scene.share("c"), "exe", ""];
    let said = scene.said("x.erofs", &orders);
    let expected = format!(
        "{} disk words of a\n{}: No such file or directory\n{} disk words of a\nexe {} erofs\n",
        scene.share("a"),
        scene.share("b"),
        scene.share("c"),
        scene.path("app/program").display()
    );
    assert!(said.ends_with(&expected), "{said}");
    let told = scene.told("x.erofs");
    for (name, why) in [("a", "has changed since"), ("b", "is missing"), ("c", "has changed since")] {
        assert!(told.contains(&format!("`{}` {why}\n", scene.share(name))), "{told}");
    }
}

#[test]
fn a_library_that_was_replaced_is_the_one_that_is_loaded() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let new = scene.path("app/lib/new.so");
    coldstart_testing::compile("cc", &new, "int part(void) { return 43; }", &["-shared", "-fPIC"]);
    fs::rename(new, scene.path("app/lib/libpart.so")).unwrap();
    let said = scene.said("x.erofs", &["part", "", "exe", ""]);
    assert!(said.contains("part 43 ") && said.contains("libpart.so disk mapped\nexe "), "{said}");
    assert!(said.ends_with("app/program erofs\n"), "{said}");
}

#[test]
fn a_running_program_sees_what_others_replace_remove_and_add() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mut program = scene.wait("x.erofs");
    let (a, b, c) = (scene.share("a"), scene.share("b"), scene.share("c"));
    assert_eq!(program.ask(&format!("look {a}")), scene.line_of_image("a"));
    replace(Path::new(&a));
    fs::remove_file(&b).unwrap();
    fs::write(scene.share("new"), "new\n").unwrap();
    assert_eq!(program.ask(&format!("look {a}")), format!("{a} disk other of a\n"));
    assert_eq!(program.ask(&format!("look {b}")), format!("{b}: No such file or directory\n"));
    assert_eq!(program.ask(&format!("look {c}")), scene.line_of_image("c"));
    let new = scene.share("new");
    assert_eq!(program.ask(&format!("look {new}")), format!("{new} disk new\n"));
    assert_eq!(program.end(), Some(0));
}

#[test]
fn a_program_may_write_beside_itself_but_not_to_what_is_covered() {
    let Some(scene) = Scene::new() else { return };
    let left = scene.share("left");
    fs::write(&left, "left\n").unwrap();
    scene.whole_image("x.erofs");
    let (a, new) = (scene.share("a"), scene.share("new"));
    let before = fs::read(&a).unwrap();
    let orders = ["write", &new, "look", &new, "remove", &new, "write", &left, "write", &a, "remove", &a];
    let said = scene.said("x.erofs", &orders);
    let expected = format!(
        "{new} written\n{new} disk more\n{new} removed\n{left} written\n{a}: Read-only file system\n{a}: Device or resource busy\n"
    );
    assert!(said.ends_with(&expected), "{said}");
    assert_eq!(fs::read(&a).unwrap(), before);
    assert_eq!(fs::read_to_string(&left).unwrap(), "left\nmore\n");
    assert!(!Path::new(&new).exists());
}
