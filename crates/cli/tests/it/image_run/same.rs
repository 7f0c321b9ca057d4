//! The program is the same: names, output, exit code, environment and descriptors. Its pages come from the image.

use std::process::{Command, Output, Stdio};

use super::Scene;
use crate::text;

/// What a program says, with files of the image counted as files of the disk.
fn as_from_disk(output: &Output) -> (Option<i32>, String, String) {
    (output.status.code(), text(&output.stdout).replace(" erofs", " disk"), text(&output.stderr))
}

#[test]
fn the_program_its_library_and_its_files_come_from_the_image() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let (program, library) = (scene.path("app/program"), scene.path("app/lib/libpart.so"));
    let said = scene.said("x.erofs", &["exe", "", "part", "", "look", &scene.share("a")]);
    let expected = format!(
        "argv {0}\nexe {0} erofs\npart 42 {1} erofs mapped\n{2}",
        program.display(),
        library.display(),
        scene.line_of_image("a")
    );
    // The library is found by $ORIGIN, which is the program's own directory.
    assert_eq!(said.replace("app/./lib", "app/lib"), expected);
    assert!(scene.told("x.erofs").contains(" files of the image in place"));
}

#[test]
fn a_start_differs_in_nothing_else() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let orders = ["exe", "", "part", "", "look", &scene.share("b"), "env", "WORD", "descriptors", "", "exit", "7"];
    let start = |launcher: &[&str], program: &str| {
        // Descriptors 7 and 9 are open in the program.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec 7</dev/null 9>/dev/null; exec \"$@\"", "sh"])
            .args(launcher)
            .arg(program)
            .args(orders);
        let path = format!("{}:/usr/bin:/bin", scene.path("app").display());
        command.env("WORD", "a b").env("PATH", path).current_dir(scene.directory.path()).stdin(Stdio::null());
        command.output().unwrap()
    };
    let launcher = [env!("CARGO_BIN_EXE_coldstart"), "image", "run", "x.erofs", "--"];
    let absolute = scene.path("app/program");
    for program in [absolute.to_str().unwrap(), "app/program", "./app/../app/program", "program"] {
        let (ours, plain) = (start(&launcher, program), start(&[], program));
        assert_eq!(as_from_disk(&ours), as_from_disk(&plain), "{program}");
        assert_eq!(plain.status.code(), Some(7));
        assert!(text(&plain.stdout).contains("descriptors 0 1 2 7 9"), "{}", text(&plain.stdout));
        assert!(text(&ours.stdout).contains(" erofs"), "{program}");
    }
}

#[test]
fn a_program_that_cannot_be_started_has_the_codes_of_the_shell() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    for (program, code) in [("./missing", 127), ("./app/share/a", 126)] {
        let output = scene.command(&["run", "x.erofs", "--", program], &[]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{program}: {}", text(&output.stderr));
    }
}
