//! Written through an output target: the whole image or what was there before.

use std::fs;
use std::ops::ControlFlow;

use coldstart_image::{HotOrder, KIND, WriteError, write_image_at};
use coldstart_output::OutputTarget;

use crate::scene::{Scene, go_on, noise, sound};

fn names(scene: &Scene) -> Vec<String> {
    let names = fs::read_dir(scene.path("out")).unwrap();
    let mut names: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn an_image_replaces_an_image_and_nothing_else() {
    let scene = Scene::new();
    fs::create_dir(scene.path("out")).unwrap();
    fs::write(scene.tree().join("a"), "a").unwrap();
    let path = scene.path("out/image.erofs");
    let target = OutputTarget::new(&path, KIND, false).unwrap();
    let first = write_image_at(&target, &scene.plan(&HotOrder::default()), &mut go_on).unwrap();
    scene.judge(&path);
    fs::write(scene.tree().join("b"), "b").unwrap();
    let second = write_image_at(&target, &scene.plan(&HotOrder::default()), &mut go_on).unwrap();
    assert_ne!(first.uuid, second.uuid);
    scene.judge(&path);
    assert_eq!(names(&scene), ["image.erofs"]);
    fs::write(&path, "a letter").unwrap();
    let refused = write_image_at(&target, &scene.plan(&HotOrder::default()), &mut go_on).unwrap_err();
    assert!(matches!(refused, WriteError::Output(_)), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a letter");
}

#[test]
fn a_failure_in_the_middle_leaves_what_was_there() {
    let scene = Scene::new();
    fs::create_dir(scene.path("out")).unwrap();
    fs::write(scene.tree().join("a"), noise(1, 3_000_000)).unwrap();
    fs::write(scene.tree().join("b"), noise(2, 3_000_000)).unwrap();
    let path = scene.path("out/image.erofs");
    let target = OutputTarget::new(&path, KIND, false).unwrap();
    write_image_at(&target, &scene.plan(&HotOrder::default()), &mut go_on).unwrap();
    let before = sound(&path).index;
    let plan = scene.plan(&HotOrder::default());
    // Half of it is written when a file that comes later disappears.
    let mut parts = 0;
    let mut progress = |_: u64| {
        parts += 1;
        let _ = fs::remove_file(scene.tree().join("b"));
        ControlFlow::Continue(())
    };
    assert!(write_image_at(&target, &plan, &mut progress).is_err());
    assert!(parts > 0);
    assert_eq!(names(&scene), ["image.erofs"]);
    assert_eq!(sound(&path).index, before);
}

#[test]
fn who_is_interrupted_leaves_nothing() {
    let scene = Scene::new();
    fs::create_dir(scene.path("out")).unwrap();
    fs::write(scene.tree().join("a"), noise(1, 3_000_000)).unwrap();
    let target = OutputTarget::new(&scene.path("out/image.erofs"), KIND, false).unwrap();
    let ended = write_image_at(&target, &scene.plan(&HotOrder::default()), &mut |_| ControlFlow::Break(()));
    assert!(matches!(ended.unwrap_err(), WriteError::Interrupted));
    assert!(names(&scene).is_empty());
}
