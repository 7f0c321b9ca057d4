//! What every output of every verb may write over: nothing but an earlier output of its kind, an empty file, or a link.

mod leftovers;
pub(crate) mod scene;
pub(crate) mod table;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::process::Command;

use scene::{Scene, is_root, skip};
use table::{Kind, OUTPUTS, Output, Runs};

/// The rows that are run as a whole and may write over something.
fn whole() -> impl Iterator<Item = &'static Output> {
    OUTPUTS.iter().filter(|output| output.runs == Runs::Whole && output.kind != Kind::KeptOriginal)
}

/// What is said of a file that is no earlier output.
fn not_earlier(output: &Output) -> &'static str {
    if output.kind == Kind::KeptOriginal { "a different file exists there" } else { "it already exists and is not " }
}

#[test]
fn a_users_file_is_refused_and_written_over_by_force() {
    for output in OUTPUTS {
        let scene = Scene::new();
        fs::write(scene.path("to"), "a user's text").unwrap();
        scene.refuses(output, "to", &[], not_earlier(output));
        if output.kind == Kind::KeptOriginal {
            scene.refuses(output, "to", &["--force"], not_earlier(output));
        } else if output.runs == Runs::Whole {
            scene.writes(output, "to", &["--force"]);
            assert_ne!(fs::read(scene.path("to")).unwrap(), b"a user's text");
        }
    }
}

#[test]
fn an_earlier_output_and_an_empty_file_are_written_over() {
    for output in whole() {
        let scene = Scene::new();
        fs::write(scene.path("to"), "").unwrap();
        for _ in 0..2 {
            scene.writes(output, "to", &[]);
            let _ = fs::remove_file(scene.path("audited"));
        }
    }
}

#[test]
fn another_kind_of_output_is_refused() {
    for output in OUTPUTS {
        let others = ["app.coldtrace", "packed.so", "history.sqlite"].into_iter();
        let is_its_own = |name: &&str| match output.kind {
            Kind::Trace => *name == "app.coldtrace",
            Kind::Packed => *name == "packed.so",
            _ => false,
        };
        for name in others.filter(|name| !is_its_own(name)) {
            let scene = Scene::new();
            // A copy: the file itself may be an input.
            fs::copy(scene.path(name), scene.path("to")).unwrap();
            scene.refuses(output, "to", &[], not_earlier(output));
        }
    }
}

#[test]
fn a_link_is_replaced_and_what_it_leads_to_stays() {
    for output in whole() {
        let scene = Scene::new();
        fs::write(scene.path("users"), "a user's text").unwrap();
        symlink("users", scene.path("to")).unwrap();
        scene.writes(output, "to", &[]);
        assert_eq!(fs::read(scene.path("users")).unwrap(), b"a user's text", "{output:?}");
        let _ = fs::remove_file(scene.path("audited"));
        symlink("nowhere", scene.path("dangling")).unwrap();
        scene.writes(output, "dangling", &[]);
        assert!(!scene.path("nowhere").exists(), "{output:?}");
    }
}

#[test]
fn an_input_is_never_written_over_by_whatever_name() {
    for output in OUTPUTS {
        for input in output.inputs {
            for force in [&[][..], &["--force"]] {
                let scene = Scene::new();
                fs::hard_link(scene.path(input), scene.path("hard")).unwrap();
                symlink(input, scene.path("soft")).unwrap();
                for name in [input, "hard", "soft"] {
                    let before = fs::read(scene.path(input)).unwrap();
                    let answer = scene.run(output, name, force);
                    // A hard link to the original does keep it.
                    if output.kind == Kind::KeptOriginal && name == "hard" {
                        continue;
                    }
                    let what = format!("{} {} over {name} {force:?}: {}", output.verb, output.option, answer.said);
                    assert_eq!(answer.code, Some(2), "{what}");
                    assert!(scene.path("soft").is_symlink(), "{what}");
                    assert!(input.contains("history") || fs::read(scene.path(input)).unwrap() == before, "{what}");
                }
            }
        }
    }
}

#[test]
fn directories_pipes_and_devices_stay() {
    for output in OUTPUTS {
        let scene = Scene::new();
        assert!(Command::new("mkfifo").arg(scene.path("pipe")).status().unwrap().success());
        let mut names = vec!["pipe"];
        // The same device as /dev/null, which a wrong command would take away from the whole machine.
        if Command::new("mknod").arg(scene.path("null")).args(["c", "1", "3"]).status().unwrap().success() {
            symlink("null", scene.path("link")).unwrap();
            names.extend(["null", "link"]);
        }
        let results_go_below = matches!(output.kind, Kind::Packed | Kind::Restored | Kind::Bound | Kind::Noted);
        if !results_go_below && output.kind != Kind::KeptOriginal {
            fs::create_dir(scene.path("directory")).unwrap();
            names.push("directory");
        }
        for force in [&[][..], &["--force"]] {
            for name in &names {
                let is_kept = output.kind == Kind::KeptOriginal;
                let words = match *name {
                    _ if is_kept => not_earlier(output),
                    "directory" => "it is a directory",
                    _ => "it is not a regular file",
                };
                scene.refuses(output, name, force, words);
            }
        }
    }
}

/// A link like `/dev/stdout`, in a directory of our own: replaced by mistake, the real one would be missed by the
/// whole machine.
#[test]
fn a_link_to_stdout_stays_also_where_that_is_a_file() {
    for output in OUTPUTS.iter().filter(|output| output.kind != Kind::KeptOriginal) {
        let scene = Scene::new();
        symlink(coldstart_host::descriptor::path(std::io::stdout()), scene.path("stdout")).unwrap();
        symlink("stdout", scene.path("to stdout")).unwrap();
        for name in ["stdout", "to stdout"] {
            for force in [&[][..], &["--force"]] {
                let file = fs::File::create(scene.path("redirected")).unwrap();
                let answer = scene.run_to(file.into(), output, name, force);
                assert_eq!(answer.code, Some(2), "{output:?}: {}", answer.said);
                assert!(answer.said.contains("it is not a regular file"), "{output:?}: {}", answer.said);
                assert!(scene.path(name).is_symlink(), "{output:?}");
            }
        }
    }
}

#[test]
fn no_output_is_written_twice() {
    let twice = [
        ("inspect", &["lib.so", "--html", "OUT", "--svg", "OUT"][..]),
        ("measure", &["--history", "program", "--html", "OUT", "--svg", "OUT"]),
        ("speedup", &["-o", "OUT", "--html", "OUT", "--", "./program"]),
        ("view", &["app.coldtrace", "--as", "svg", "-o", "OUT", "-o", "OUT"]),
        ("bind", &["--mode", "audit", "app", "-o", "OUT", "--audit-library", "OUT"]),
    ];
    for (verb, words) in twice {
        let output = Output { verb, words, ..OUTPUTS[0] };
        Scene::new().refuses(&output, "to", &["--force"], "is given twice as output");
    }
}

/// `speedup --html` names three more outputs by the page's own name: the same holds for each.
#[test]
fn files_beside_a_page_are_outputs_too() {
    let row = OUTPUTS.iter().find(|output| (output.verb, output.option) == ("speedup", "--html")).unwrap();
    for name in ["to.before.coldtrace", "to.after.coldtrace", "to.starts.html"] {
        let scene = Scene::new();
        let refuses = |more: &[&str], words: &str| scene.refuses(row, "to.html", more, words);
        fs::write(scene.path(name), "a user's text").unwrap();
        refuses(&[], not_earlier(row));
        fs::copy(scene.path("packed.so"), scene.path(name)).unwrap();
        refuses(&[], not_earlier(row));
        refuses(&["--input", name, "--force"], "is");
        fs::remove_file(scene.path(name)).unwrap();
        fs::create_dir(scene.path(name)).unwrap();
        refuses(&["--force"], "it is a directory");
        fs::remove_dir(scene.path(name)).unwrap();
        assert!(Command::new("mkfifo").arg(scene.path(name)).status().unwrap().success());
        refuses(&["--force"], "it is not a regular file");
    }
    // The plan may not be one of them either.
    let twice = ["-o", "to.before.coldtrace"];
    Scene::new().refuses(row, "to.html", &twice, "is given twice as output");
}

#[test]
fn in_a_directory_for_all_nothing_of_another_user_is_touched() {
    if !is_root() {
        return;
    }
    for output in OUTPUTS.iter().filter(|output| output.kind != Kind::KeptOriginal) {
        let scene = Scene::new();
        let all = scene.path("all");
        fs::create_dir(&all).unwrap();
        fs::set_permissions(&all, Permissions::from_mode(0o1777)).unwrap();
        fs::write(scene.path("users"), "a user's text").unwrap();
        fs::write(all.join("file"), "").unwrap();
        symlink("../users", all.join("link")).unwrap();
        symlink("nowhere", all.join("dangling")).unwrap();
        symlink("../sub", all.join("directory")).unwrap();
        for name in ["file", "link", "dangling", "directory"] {
            lchown(all.join(name), Some(4321), Some(4321)).unwrap();
        }
        for force in [&[][..], &["--force"]] {
            for name in ["all/file", "all/link", "all/dangling"] {
                scene.refuses(output, name, force, "it belongs to another user");
            }
            // Where the kernel does not follow the link by itself, it says so.
            let before = scene.state();
            let answer = scene.run(output, "all/directory/to", force);
            assert!(answer.code == Some(2) && scene.state() == before, "{output:?}: {}", answer.said);
        }
    }
}

#[test]
fn a_directory_that_may_not_be_written_to_is_named_before_anything_is_started() {
    if !is_root() {
        return;
    }
    // A copy, since the directory where it was built may be closed to others.
    let open_to_all = scene::new_folder();
    let copy = open_to_all.path().join("coldstart");
    coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), &copy);
    for output in OUTPUTS.iter().filter(|output| output.kind != Kind::KeptOriginal) {
        let scene = Scene::new();
        fs::create_dir(scene.path("closed")).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=4321", "--regid=4321", "--clear-groups", "--bounding-set=-all"]).arg(&copy);
        let before = scene.state();
        let answer = scene.run_by(command, output, "closed/to", &[]);
        if matches!(answer.code, Some(1 | 126 | 127)) {
            return skip("setpriv cannot change the user here");
        }
        assert_eq!(answer.code, Some(2), "{output:?}: {}", answer.said);
        assert!(answer.said.contains("Permission denied"), "{output:?}: {}", answer.said);
        assert!(scene.state() == before, "{output:?}: {}", answer.said);
    }
}

#[test]
fn a_full_disk_leaves_nothing_and_what_was_there() {
    if !is_root() {
        return;
    }
    for output in whole() {
        let scene = Scene::new();
        let small = scene.path("small");
        fs::create_dir(&small).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(&small).status();
        if !mounted.is_ok_and(|status| status.success()) {
            return skip("nothing can be mounted here");
        }
        fs::write(small.join("to"), "").unwrap();
        // All the room there is.
        let _ = fs::write(small.join("filler"), [1; 1 << 16]);
        let answer = scene.run(output, "small/to", &[]);
        let mut left: Vec<_> = fs::read_dir(&small).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        let size = fs::metadata(small.join("to")).unwrap().len();
        assert!(Command::new("umount").arg("--lazy").arg(&small).status().unwrap().success());
        assert_eq!((answer.code, size), (Some(2), 0), "{output:?}: {}", answer.said);
        assert_eq!(left, ["filler", "to"], "{output:?}: {}", answer.said);
    }
}
