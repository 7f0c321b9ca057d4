//! `image make` starts the program again, from the image: what that start needs is hot as well.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use coldstart_testing::{Turn, eventually, within};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{Scene, mounts_below};
use crate::text;

const PAGES: usize = 100;

/// A scene with a file of pages.
fn scene() -> Option<(Scene, String, Turn)> {
    let scene = Scene::new()?;
    let turn = Turn::alone("page-cache");
    fs::write(scene.share("pages"), vec![b'x'; PAGES * 4096]).unwrap();
    fs::create_dir(scene.path("state")).unwrap();
    let counter = scene.path("state/counter").to_str().unwrap().to_owned();
    Some((scene, counter, turn))
}

fn hot_pages(scene: &Scene, image: &str, path: &str) -> u64 {
    let shown = scene.json(&["show", "--json", "--limit", "0", image], &[]);
    let files = shown["hot_files"].as_array().unwrap();
    files.iter().find(|file| file["path"] == path).and_then(|file| file["pages"].as_u64()).unwrap_or(0)
}

#[test]
fn pages_that_only_a_later_start_uses_become_hot_and_it_ends() {
    let Some((scene, counter, _turn)) = scene() else { return };
    let pages = scene.share("pages");
    let made: Value = scene.json(&["make", "--json", "-o", "x.erofs"], &["next", &counter, &pages]);
    // The recorded start, and three from the image, each of which found a page that was not hot.
    let notes = made["notes"].to_string();
    assert!(!notes.contains("no start from the image"), "{notes}");
    assert_eq!(fs::read_to_string(&counter).unwrap(), "4\n");
    assert!(hot_pages(&scene, "x.erofs", &pages) >= 4, "{made}");
    // As it is, the program is started once.
    fs::remove_file(&counter).unwrap();
    scene.json(&["make", "--json", "--as-is", "-o", "once.erofs"], &["next", &counter, &pages]);
    assert_eq!(fs::read_to_string(&counter).unwrap(), "1\n");
    assert!(mounts_below(scene.directory.path()).is_empty());
}

/// Waits until the second start is under way.
fn in_the_second_start(scene: &Scene, counter: &str) -> Child {
    let mut command = scene.command(&["make", "-o", "x.erofs", "--grace", "0"], &["wait-at", counter]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the second start", || fs::read_to_string(counter).is_ok_and(|text| text.contains("more")));
    child
}

/// The image is whole or not there, and nothing else is left beside it.
#[track_caller]
fn nothing_stays(scene: &Scene) {
    let found = fs::read_dir(scene.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = found.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names.retain(|name| name != "x.erofs");
    assert_eq!(names, ["app", "state"]);
    if scene.path("x.erofs").exists() {
        assert_eq!(scene.json(&["verify", "--json", "x.erofs"], &[])["good"], true);
    }
    assert!(mounts_below(scene.directory.path()).is_empty());
    let program = scene.path("app/program");
    let runs = || {
        let numbers = coldstart_host::process::numbers().unwrap().into_iter();
        let is_ours = |number| coldstart_host::process::ProcessFiles::of(number).program();
        numbers.filter_map(|number| is_ours(number).ok()).any(|found| found == program)
    };
    assert!(within(coldstart_testing::PATIENCE, || !runs()), "the program goes on");
}

#[test]
fn an_interrupt_in_the_second_start_leaves_nothing_half() {
    let Some((scene, counter, _turn)) = scene() else { return };
    let child = in_the_second_start(&scene, &counter);
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let ended = output.status;
    assert!(ended.code() == Some(130) || ended.signal() == Some(2), "{ended:?} {}", text(&output.stderr));
    nothing_stays(&scene);
    assert!(!scene.path("x.erofs").exists(), "an interrupted image was written");
}

#[test]
fn a_kill_in_the_second_start_leaves_nothing_half() {
    let Some((scene, counter, _turn)) = scene() else { return };
    let mut child = in_the_second_start(&scene, &counter);
    child.kill().unwrap();
    child.wait().unwrap();
    nothing_stays(&scene);
}
