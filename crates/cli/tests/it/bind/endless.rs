//! `coldstart verify --run` of programs that do not end by themselves: the time limit, readiness, Ctrl-C.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use coldstart_host::process::{ProcessFiles, numbers};

use super::scene::{Tree, names};

/// Words that make the program of a tree wait in a child of its own, which can be told by its arguments.
struct Endless {
    tree: Tree,
    /// A number of seconds that no other process sleeps.
    sleeps: String,
}

impl Endless {
    fn new(number: u32) -> Self {
        let tree = Tree::new();
        tree.bind(&[]);
        Self { tree, sleeps: format!("{}{number}", std::process::id()) }
    }

    fn child(&self, before: &str) -> String {
        format!("{before}; sleep {}", self.sleeps)
    }

    /// Processes of the starts that are still there.
    fn left(&self) -> Vec<u32> {
        let is_left = |process: &u32| {
            let words = ProcessFiles::of(*process).arguments();
            let is_ours = words.iter().any(|word| word == "verify");
            !is_ours && words.iter().any(|word| word.as_encoded_bytes().ends_with(self.sleeps.as_bytes()))
        };
        numbers().unwrap().into_iter().filter(is_left).collect()
    }
}

#[test]
fn what_both_loaded_until_the_limit_is_compared() {
    let endless = Endless::new(1);
    let words = ["verify", "--run", "--time-limit", "5", "bin/app"];
    let child = endless.child("true");
    let program = ["--", "child", child.as_str()];
    let (exit, text, stderr) = endless.tree.said(&[&words[..], &program].concat());
    assert_eq!(exit, 1, "{text}{stderr}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("maps the same objects") && text.contains("neither had ended after 5 s, and both were stopped"),
        "{text}"
    );
    assert!(text.contains("was ended at the time limit") && text.contains("up to the program's entry point"), "{text}");
    assert!(stderr.contains("--ready"), "{stderr}");
    let (exit, report) = endless.tree.json(&[&words[..], &["--json"], &program].concat());
    let starts = &report["starts"];
    assert_eq!((exit, &report["same"], &starts["parting"]), (1, &false.into(), &().into()), "{report:#}");
    for start in ["before", "after"] {
        assert_eq!(starts[start]["reached_limit"], true, "{starts:#}");
        assert_eq!(starts[start]["counted_until"], "entry-point", "{starts:#}");
        assert!(starts[start]["relocations"].as_u64().unwrap() > 0, "{starts:#}");
    }
    assert!(starts["before"]["failed_probes"].as_u64() > starts["after"]["failed_probes"].as_u64(), "{starts:#}");
    assert!(endless.left().is_empty(), "the whole tree is ended");
    assert_eq!(names(&endless.tree.at("bin")), [".app.libs", "app"]);
}

#[test]
fn a_program_that_becomes_ready_is_compared_up_to_there() {
    let endless = Endless::new(2);
    let child = endless.child("echo up");
    let words =
        ["verify", "--run", "--runs", "5", "--ready", "stdout:^up$", "--json", "bin/app", "--", "child", &child];
    let (exit, report) = endless.tree.json(&words);
    assert_eq!((exit, &report["same"]), (0, &true.into()), "{report:#}");
    let after = &report["starts"]["after"];
    assert_eq!((&after["reached_limit"], &after["counted_until"]), (&false.into(), &"entry-point".into()));
    assert_eq!(after["relocation_cycles"].as_array().unwrap().len(), 5, "{after:#}");
    assert!(endless.left().is_empty());
}

#[test]
fn limits_are_for_starts() {
    let tree = Tree::new();
    tree.bind(&[]);
    for option in ["--time-limit=5", "--ready=exit", "--grace=1"] {
        let (exit, _, stderr) = tree.said(&["verify", option, "bin/app"]);
        assert!(exit == 2 && stderr.contains("--run"), "{option}: {stderr}");
    }
    let (exit, _, stderr) = tree.said(&["verify", "--run", "--time-limit", "0", "bin/app"]);
    assert!(exit == 2 && stderr.contains("above 0"), "{stderr}");
    // A limit that cuts a start wherever it stands is no difference.
    let (exit, report) = tree.json(&["verify", "--run", "--time-limit", "0.0001", "--json", "bin/app"]);
    let parting = &report["starts"]["parting"];
    assert!(exit == 1 || report["starts"]["after"]["reached_limit"] == false, "{report:#}");
    assert!(parting.is_null() || parting.as_str().unwrap().contains("log"), "{report:#}");
}

#[test]
fn an_interrupt_ends_the_starts() {
    let endless = Endless::new(3);
    let child = endless.child("true");
    let mut command = super::scene::plain(std::path::Path::new(env!("CARGO_BIN_EXE_coldstart")));
    command.args(["verify", "--run", "bin/app", "--", "child", &child]).current_dir(&endless.tree.root);
    let mut verify = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while endless.left().len() < 2 {
        assert!(Instant::now() < deadline, "it did not start the program");
        std::thread::sleep(Duration::from_millis(10));
    }
    let number = verify.id().to_string();
    assert!(Command::new("kill").args(["-INT", &number]).status().unwrap().success());
    let code = loop {
        match verify.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if Instant::now() > deadline => {
                verify.kill().unwrap();
                panic!("it did not end");
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    assert_eq!((code, endless.left()), (Some(130), Vec::new()));
    assert_eq!(names(&endless.tree.at("bin")), [".app.libs", "app"], "the original that was made is gone");
}
