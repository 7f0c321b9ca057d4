//! `order files --for jlink`: a run time made with the list has the classes of a start together.

use std::fs;

use coldstart_testing::skip;
use serde_json::Value;

use super::archives::{Scene, records_reads};

const MAIN: &str = r#"
import java.util.stream.*;
public class Main {
    public static void main(String[] words) {
        System.out.println(Stream.of("a", "b").collect(Collectors.joining(",")) + java.time.LocalDate.of(2020, 1, 1).plusDays(3));
    }
}
"#;

/// Makes a run time with these options; three modules, of whose classes a start uses few.
fn link(scene: &Scene, output: &str, options: &[&str]) {
    let words = ["--add-modules", "java.base,java.xml,java.logging", "--output", output];
    scene.done("jlink", &[&words[..], options].concat());
}

/// Traces a start of the run time. Returns what it used of its modules: the classes, and how many pages in how many pieces.
fn used(scene: &Scene, image: &str) -> (Vec<String>, u64, usize) {
    let trace = format!("{image}.coldtrace");
    let java = format!("{image}/bin/java");
    scene.trace(&trace, &[&java, "-Xshare:off", "Main"]);
    let files = scene.json(&["order", "files", &trace, "--root", image, "--json"]);
    let modules = files["files"].as_array().unwrap().iter().find(|file| file["path"] == "lib/modules").unwrap();
    let lengths: Vec<u64> =
        modules["ranges"].as_array().unwrap().iter().map(|range| range[1].as_u64().unwrap()).collect();
    let words = ["order", "files", &trace, "--root", image, "--for", "jlink"];
    let list = scene.done(env!("CARGO_BIN_EXE_coldstart"), &words);
    (list.lines().map(str::to_owned).collect(), lengths.iter().sum::<u64>() / 4096, lengths.len())
}

#[test]
fn jlink_lays_the_classes_of_a_start_together_and_it_uses_fewer_pages() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    if !scene.run("sh", &["-c", "command -v jlink && command -v javac"]).status.success() {
        return skip("no jlink");
    }
    fs::write(scene.path("Main.java"), MAIN).unwrap();
    scene.done("javac", &["Main.java"]);
    link(&scene, "old", &[]);
    let (classes, pages, pieces) = used(&scene, "old");
    let place =
        |name: &str| classes.iter().position(|class| class == name).unwrap_or_else(|| panic!("{name}: {classes:?}"));
    assert!(place("java/lang/Object") < place("java/time/LocalDate"), "{classes:?}");
    assert!(place("java/util/stream/Collectors") < classes.len(), "{classes:?}");
    fs::write(scene.path("list"), classes.join("\n")).unwrap();
    link(&scene, "new", &["--order-resources=@list"]);
    let (_, new_pages, new_pieces) = used(&scene, "new");
    assert_eq!(scene.done("new/bin/java", &["Main"]), "a,b2020-01-04\n");
    assert!(new_pages < pages, "{pages} pages in {pieces} pieces became {new_pages} in {new_pieces}");
    assert!(new_pieces * 4 < pieces, "{pages} pages in {pieces} pieces became {new_pages} in {new_pieces}");
    let same = |image: &str| scene.done("sh", &["-c", &format!("{image}/bin/java --list-modules")]);
    assert_eq!(same("new"), same("old"));

    // A trace of another image, or of none.
    fs::copy(scene.path("new/lib/modules"), scene.path("old/lib/modules")).unwrap();
    let refused = |words: &[&str], reason: &str| {
        let answer = scene.coldstart(&[&["order", "files"], words, &["--for", "jlink", "--json"]].concat());
        let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{words:?}: {answer}"));
        assert!(message.contains(reason), "{answer}");
    };
    refused(&["old.coldtrace", "--root", "old"], "has changed since the trace");
    refused(&["old.coldtrace", "new.coldtrace"], "several Java run times");
    scene.trace("none.coldtrace", &["true"]);
    refused(&["none.coldtrace"], "no traced start read the modules");
    fs::write(scene.path("new/lib/modules"), "not modules").unwrap();
    refused(&["new.coldtrace", "--root", "new"], "not an image of Java modules");
}
