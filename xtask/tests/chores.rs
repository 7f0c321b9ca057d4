//! Chores as a user types them: they work in the target directory that cargo uses, and fail with a sentence.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn xtask(arguments: &[&str]) -> Command {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    // As for those who always want to see where their own programs panic.
    xtask.args(arguments).env("RUST_BACKTRACE", "1").env_remove("CARGO_BUILD_TARGET_DIR");
    xtask
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_is_a_sentence(output: &Output, with: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("error: ") && said.contains(with) && said.lines().count() <= 2, "{said}");
}

fn write_program(path: &Path, script: &str) {
    fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn errors_are_sentences() {
    let output = xtask(&["demo", "no-such-program"]).output().unwrap();
    assert_is_a_sentence(&output, "there is no program `no-such-program`\nhint: ");
    let output = xtask(&["corpus"]).env("CARGO", "/no/such/cargo").output().unwrap();
    assert_is_a_sentence(&output, "cannot start cargo");
    let output = xtask(&["corpus"]).env("CARGO", "false").output().unwrap();
    assert_is_a_sentence(&output, "cargo metadata");
}

/// A cargo that builds scripts: `coldstart` knows `speedup` only, and the testbed nothing.
const CARGO: &str = r#"
case $1 in
metadata)
    printf '{"target_directory": "%s"}' "$CARGO_TARGET_DIR" ;;
build)
    for name in coldstart coldstart-launcher coldstart-testbed; do
        printf '{"reason": "compiler-artifact", "package_id": "path+file:///w#%s@0.1.0", "executable": "%s/demo/%s"}\n' \
            $name "$CARGO_TARGET_DIR" $name
    done ;;
esac
"#;

const COLDSTART: &str = r#"
test "$1" = speedup || { echo "I cannot $1" >&2; exit 2; }
echo '{"schema": "coldstart.speedup/2", "fixes": [{"proven": true}], "measurement": {
    "summaries": [{"command": 0, "state": "cold", "median": 2.0}, {"command": 1, "state": "cold", "median": 0.5}],
    "comparisons": [{"command": 1, "state": "cold", "verdict": "faster"}]}}'
"#;

#[test]
fn the_demonstration_works_in_the_target_directory_of_cargo() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("a target");
    fs::create_dir_all(target.join("demo")).unwrap();
    write_program(&home.path().join("cargo"), CARGO);
    write_program(&target.join("demo/coldstart"), COLDSTART);
    write_program(&target.join("demo/coldstart-testbed"), "echo 'I cannot' >&2; exit 2");
    let output = xtask(&["demo", "sh", "-c", "exit 0"])
        .current_dir(home.path())
        .env("CARGO", home.path().join("cargo"))
        // Relative to where the chore is started, and not to the workspace.
        .env("CARGO_TARGET_DIR", "a target")
        .output()
        .unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    // A busy machine has time for fewer runs on the network disk, which stands between the two.
    assert!(shown.contains("cold starts, medians of 5 runs"), "{shown}{said}");
    assert!(shown.contains(": sh -c 'exit 0'\n"), "{shown}{said}");
    assert!(shown.contains("sh starts 4.0 times as fast from this machine's disk"), "{shown}{said}");
    assert!(target.join("demonstration/a.txt").is_file());
    // Root without /dev/fuse or a loop device is told so, as all others are.
    if !shown.contains("not shown: ") {
        assert_eq!(output.status.code(), Some(1), "{shown}{said}");
        assert!(
            shown.contains("network disk  failed") && said.contains("the disk could not be taken down"),
            "{shown}{said}"
        );
    } else {
        assert_eq!(output.status.code(), Some(0), "{shown}{said}");
    }

    let output = xtask(&["demo", "sh", "-c", "echo why >&2; exit 3"])
        .env("CARGO", home.path().join("cargo"))
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .unwrap();
    assert!(text(&output.stderr).contains("cannot be shown: it ended with exit status: 3: why"), "{output:?}");
}

#[test]
fn no_chore_takes_the_target_directory_for_granted() {
    let sources = walkdir::WalkDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for source in sources.into_iter().map(Result::unwrap).filter(|source| source.file_type().is_file()) {
        let text = fs::read_to_string(source.path()).unwrap();
        assert!(!text.contains(r#"join("target"#), "{}: see cargo::target_directory", source.path().display());
    }
}
