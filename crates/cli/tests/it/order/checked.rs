//! What `order check` finds where little or nothing changed, and lists beside a kill.

use std::process::Command;
use std::time::Duration;

use coldstart_testing::kill_after;

use super::scene::{FUNCTIONS, Scene, called};

/// Links a build that has the functions of a list in its order, but with others that no start calls between any two.
fn scattered(scene: &Scene, list: &str) {
    let text = std::fs::read_to_string(scene.path(list)).unwrap();
    let called = called();
    let others = (0..FUNCTIONS).flat_map(|number| [format!("a_{number:03}"), format!("b_{number:03}")]);
    let mut others = others.filter(|name| !called.contains(name));
    let mut all = String::new();
    for name in text.lines().filter(|line| !line.starts_with('#')) {
        all.push_str(&format!("{name}\n"));
        for other in others.by_ref().take(6) {
            all.push_str(&format!("{other}\n"));
        }
    }
    std::fs::write(scene.path("all"), all).unwrap();
    scene.link("old", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=all"]);
}

#[test]
fn functions_in_order_already_are_a_gain_when_they_come_together_and_none_otherwise() {
    let scene = Scene::new("gcc", &[]);
    scene.link("plain", &["-fuse-ld=lld"]);
    scene.trace("p", &["./plain"]);
    scene.json(&["order", "functions", "p", "--for", "lld", "-o", "list", "--json"], 0);
    scattered(&scene, "list");
    scene.trace("t", &["./old"]);
    scene.link("new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    let together = scene.json(
        &["order", "check", "list", "--before", "old", "--after", "new", "--trace", "t", "--json", "--", "{}"],
        0,
    );
    let pair = |name: &str| [0, 1].map(|side| together[name][side].as_u64().unwrap());
    let ([run_before, run_after], [span_before, span_after]) = (pair("longest_run"), pair("span"));
    assert!(run_before >= called().len() as u64 && run_after <= run_before, "{together}");
    assert!(span_after * 2 < span_before, "{together}");
    assert!(together["gain"].as_bool().unwrap() && together["reasons"].as_array().unwrap().is_empty(), "{together}");

    scene.trace("u", &["./new"]);
    for (after, trace) in [("new", "u"), ("old", "u")] {
        let words = ["order", "check", "list", "--before", "new", "--after", after, "--trace", trace, "--json"];
        let none = scene.json(&words, 1);
        assert!(!none["gain"].as_bool().unwrap(), "{none}");
        assert!(none["reasons"].as_array().unwrap().len() >= 2, "{none}");
    }
}

#[test]
fn another_program_with_the_listed_names_is_no_gain() {
    let scene = Scene::new("gcc", &[]);
    scene.link("old", &["-fuse-ld=lld"]);
    scene.trace("t", &["./old"]);
    scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    let grown = std::fs::read_to_string(scene.path("a.c")).unwrap().replacen("{ BODY; }", "{ BODY; BODY; }", 2);
    scene.compile("gcc", "a", &grown, &["-O1", "-fno-ipa-ra", "-fasynchronous-unwind-tables"]);
    scene.link("new", &["-fuse-ld=lld", "-Wl,--symbol-ordering-file=list"]);
    let words = ["order", "check", "list", "--before", "old", "--after", "new", "--trace", "t", "--json"];
    let differs = scene.json(&words, 1);
    assert!(!differs["gain"].as_bool().unwrap() && differs["resized"].as_u64() >= Some(2), "{differs}");
    // Of a list of another program nothing is found.
    std::fs::write(scene.path("foreign"), "main\nfoo\nbar\nbaz\n").unwrap();
    let foreign = scene.json(&["order", "check", "foreign", "--before", "old", "--after", "old", "--json"], 1);
    assert_eq!((foreign["listed"].as_u64(), foreign["found"].as_u64()), (Some(4), Some(1)), "{foreign}");
}

#[test]
fn killed_at_any_moment_the_old_or_the_new_list_stands_there_whole() {
    let scene = Scene::new("gcc", &[]);
    scene.link("old", &["-fuse-ld=lld"]);
    scene.trace("t", &["./old"]);
    let words = ["order", "functions", "t", "--for", "lld", "-o"];
    scene.json(&[&words[..], &["new", "--json"]].concat(), 0);
    scene.json(&[&words[..], &["random", "--order", "random", "--json"]].concat(), 0);
    let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
    let (earlier, later) = (read("random"), read("new"));
    assert_ne!(earlier, later);
    for milliseconds in (0..60).step_by(4) {
        std::fs::write(scene.path("list"), &earlier).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).arg("list").current_dir(scene.path(""));
        kill_after(&mut command, Duration::from_millis(milliseconds));
        let list = read("list");
        assert!(list == earlier || list == later, "after {milliseconds} ms: {}", String::from_utf8_lossy(&list));
    }
}
