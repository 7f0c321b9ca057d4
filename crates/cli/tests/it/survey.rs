//! `coldstart survey` hands over to the program with the work, which is tested by itself.

use std::process::{Command, Output, Stdio};

use coldstart_testing::{copy_program, script};

use crate::text;

fn survey(directory: &std::path::Path) -> Output {
    let mut command = Command::new(directory.join("bin/coldstart"));
    command.args(["survey", "a b", "-o", "out"]).current_dir(directory).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_program_with_the_work_gets_all_words() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for name in ["bin", "lib/coldstart"] {
        std::fs::create_dir_all(directory.path().join(name)).unwrap();
    }
    copy_program(env!("CARGO_BIN_EXE_coldstart"), directory.path().join("bin/coldstart"));
    let missing = survey(directory.path());
    assert_eq!(missing.status.code(), Some(2));
    let message = text(&missing.stderr);
    assert!(message.contains("coldstart-survey") && message.contains("hint:"), "{message}");
    for place in ["lib/coldstart", "bin"] {
        let content = "#!/bin/sh\necho \"$#: $1, $2, $3, $4\"; exit 1\n";
        script(&directory.path().join(place), "coldstart-survey", content, 0o755);
        let found = survey(directory.path());
        assert_eq!((text(&found.stdout).as_str(), found.status.code()), ("4: survey, a b, -o, out\n", Some(1)));
    }
}
