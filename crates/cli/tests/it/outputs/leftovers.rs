//! What a kill leaves is removed by the next command, and nothing else is, whatever it is called.

use std::fs;
use std::process::Command;

use super::scene::{Scene, skip};
use super::table::{Kind, OUTPUTS, Output, Runs};

/// Names that users give their files, and that we might give ours.
const USERS: [&str; 6] = [
    ".lib.so.coldstart-backup",
    ".lib.so.coldstart-before",
    ".to.coldstart-123456",
    ".to.coldstart-abcdef",
    ".coldstart-aB3dE6",
    ".kept.coldtrace.partial",
];

fn users_files(scene: &Scene) {
    USERS.iter().for_each(|name| fs::write(scene.path(name), format!("a user's {name}")).unwrap());
}

fn survive(scene: &Scene, output: &Output) {
    for name in USERS {
        let content = fs::read_to_string(scene.path(name));
        assert_eq!(content.ok(), Some(format!("a user's {name}")), "{} {}", output.verb, output.option);
    }
}

#[test]
fn users_files_survive_with_names_like_ours() {
    for output in OUTPUTS.iter().filter(|output| output.runs == Runs::Whole) {
        let scene = Scene::new();
        users_files(&scene);
        for _ in 0..2 {
            let answer = scene.run(output, "to", &[]);
            let is_second_original = output.kind == Kind::KeptOriginal && scene.path("to").exists();
            assert!(answer.code == Some(0) || is_second_original, "{output:?}: {}", answer.said);
            let _ = fs::remove_file(scene.path("audited"));
        }
        survive(&scene, output);
    }
}

#[test]
fn the_file_of_a_killed_writer_is_removed_by_the_next() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return skip("needs strace");
    }
    let is_wanted = |output: &&Output| matches!(output.verb, "pack" | "unpack" | "view" | "ldcache write" | "inspect");
    let rows = OUTPUTS.iter().filter(|output| output.runs == Runs::Whole && output.kind != Kind::KeptOriginal);
    for output in rows.filter(is_wanted) {
        let scene = Scene::new();
        scene.writes(output, "to", &[]);
        let whole = fs::read(scene.path("to")).unwrap();
        // Killed when it asks for the rename: the temporary name is there, and the old file has its own.
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=/^rename", "-e", "inject=/^rename:signal=SIGKILL"]);
        strace.arg(env!("CARGO_BIN_EXE_coldstart"));
        let answer = scene.run_by(strace, output, "to", &[]);
        assert_ne!(answer.code, Some(0), "{output:?}: {}", answer.said);
        let left = scene.leftovers();
        if left.is_empty() && answer.said.contains("ptrace") {
            return skip("strace may not follow programs here");
        }
        assert_eq!(left.len(), 1, "{output:?}: {left:?}: {}", answer.said);
        assert_eq!(fs::read(scene.path("to")).unwrap(), whole, "{output:?}");
        users_files(&scene);
        let answer = scene.run(output, "to", &[]);
        assert_eq!(answer.code, Some(0), "{output:?}: {}", answer.said);
        assert!(!left[0].exists(), "{output:?}");
        survive(&scene, output);
    }
}
