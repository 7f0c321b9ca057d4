//! Where files go: nothing is written twice or by halves, links are replaced, and nobody may read more than before.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use super::{Place, scene, skip, text};

/// Expects a refusal in these words before anything was read or written: the trace is not even there.
fn refuses(place: &Place, words: &[&str], said: &[&str]) {
    let before = place.names();
    for traces in [&["app.coldtrace"][..], &["nowhere.coldtrace"]] {
        let output = place.run(&[traces, words].concat());
        let error = text(&output.stderr);
        // With --json the refusal stands on stdout as well.
        let has_answer = words.contains(&"--json");
        assert_eq!((output.status.code(), !output.stdout.is_empty()), (Some(2), has_answer), "{words:?}: {error}");
        assert!(said.iter().all(|word| error.contains(word)) && error.contains("hint: "), "{words:?}: {error}");
        assert_eq!(place.names(), before, "{words:?}");
    }
}

#[test]
fn names_of_tables_do_not_collide() {
    let place = Place::new();
    place.add("after.coldtrace", &scene::trace());
    for (first, second) in [("z.csv", "z-other.csv"), ("z-other.csv", "z.csv")] {
        let words = ["after.coldtrace", "-o", first, "-o", second];
        refuses(&place, &words, &["`z-other-touches.csv` is given twice as output"]);
    }
    refuses(&place, &["-o", "z.csv", "-o", "./z.csv"], &["is given twice as output"]);
    // What stands for several tables is not written itself.
    place.done(&["app.coldtrace", "-o", "z.csv", "-o", "z-other.csv"]);
    assert!(place.path("z-touches.csv").is_file() && place.path("z-other-touches.csv").is_file());
    assert!(!place.path("z.csv").exists());
}

#[test]
fn a_table_that_cannot_be_written_keeps_all_from_being_written() {
    let place = Place::new();
    fs::create_dir(place.path("a-relocations.csv")).unwrap();
    refuses(&place, &["-o", "page.html", "-o", "a.csv"], &["cannot write `a-relocations.csv`", "a directory"]);
    fs::remove_dir(place.path("a-relocations.csv")).unwrap();
    symlink("app.coldtrace", place.path("a-events.csv")).unwrap();
    let output = place.run(&["app.coldtrace", "-o", "a.csv"]);
    let said = text(&output.stderr);
    assert!(said.contains("cannot write `a-events.csv`: it is the viewed trace `app.coldtrace`"), "{said}");
    assert_eq!((output.status.code(), place.names()), (Some(2), vec!["a-events.csv".into(), "app.coldtrace".into()]));
    // 255 bytes may a name have: `-reads` still fits, `-relocations` no longer.
    let long = format!("{}.csv", "a".repeat(255 - ".csv".len() - "-touches".len()));
    refuses(&place, &["-o", &long], &["File name too long", "shorter"]);
}

#[test]
fn links_are_replaced_and_never_followed() {
    let place = Place::new();
    symlink("round.html", place.path("round.html")).unwrap();
    symlink("missing/a.html", place.path("into.html")).unwrap();
    symlink("a.html", place.path("b.html")).unwrap();
    place.done(&["app.coldtrace", "-o", "round.html", "-o", "into.html", "-o", "b.html"]);
    assert_eq!(place.names(), ["app.coldtrace", "b.html", "into.html", "round.html"]);
    assert!(["round.html", "into.html", "b.html"].iter().all(|name| !place.path(name).is_symlink()));
    // The directory before the name may be a link.
    fs::create_dir(place.path("far")).unwrap();
    symlink("far", place.path("near")).unwrap();
    place.done(&["app.coldtrace", "-o", "near/a.html"]);
    assert!(place.path("near").is_symlink() && place.path("far/a.html").is_file());
    symlink("far", place.path("folder.html")).unwrap();
    refuses(&place, &["-o", "folder.html"], &["cannot write `folder.html`", "directory"]);
}

#[test]
fn a_name_that_ends_in_a_slash_is_that_of_a_directory() {
    let place = Place::new();
    for out in ["dir/", "q.csv/", "dir/.", "./"] {
        refuses(&place, &["-o", "first.html", "-o", out, "--as", "html"], &["directory", out]);
    }
    refuses(&place, &["-o", "q.csv/"], &["directory", "q.csv/"]);
}

#[test]
fn what_list_would_not_do_is_refused() {
    let place = Place::new();
    let list = ["--table", "list"];
    for (words, what) in [
        (&["-o", "a.html"][..], "-o"),
        (&["--json"], "--json"),
        (&["--open"], "--open"),
        (&["--terminal"], "--terminal"),
    ] {
        refuses(&place, &[&list, words].concat(), &["`--table list`", &format!("with {what}\n")]);
    }
    assert!(text(&place.done(&["app.coldtrace", "--table", "list"]).stdout).starts_with("touches\n"));
}

/// Permissions, owner and group.
fn rights(path: &Path) -> (u32, u32, u32) {
    let found = fs::metadata(path).unwrap();
    (found.mode() & 0o777, found.uid(), found.gid())
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let place = Place::new();
    for mode in [0o600, 0o640, 0o444, 0o664, 0o666] {
        fs::write(place.path("a.html"), "old").unwrap();
        fs::set_permissions(place.path("a.html"), Permissions::from_mode(mode)).unwrap();
        place.done(&["app.coldtrace", "-o", "a.html", "--force"]);
        assert_eq!(rights(&place.path("a.html")).0, mode);
        assert!(place.read("a.html") != b"old");
        fs::remove_file(place.path("a.html")).unwrap();
    }
    // Also each of several tables.
    fs::write(place.path("a-reads.csv"), "old").unwrap();
    fs::set_permissions(place.path("a-reads.csv"), Permissions::from_mode(0o600)).unwrap();
    place.done(&["app.coldtrace", "-o", "a.csv", "--force"]);
    assert_eq!(rights(&place.path("a-reads.csv")).0, 0o600);
}

#[test]
fn a_replaced_file_keeps_its_owner_or_gives_nobody_more() {
    let place = Place::new();
    let file = place.path("a.html");
    let as_it_is = |mode| {
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&file, Some(1234), Some(1235))
    };
    if as_it_is(0o640).is_err() {
        return skip("may not give files away");
    }
    place.done(&["app.coldtrace", "-o", "a.html", "--force"]);
    assert_eq!(rights(&file), (0o640, 1234, 1235));
    fs::set_permissions(place.folder.path(), Permissions::from_mode(0o777)).unwrap();
    for (mode, then) in [(0o640, 0o600), (0o644, 0o644), (0o664, 0o644), (0o604, 0o600)] {
        fs::remove_file(&file).unwrap();
        as_it_is(mode).unwrap();
        // Somebody who is neither the owner nor of the group, and may give nothing away.
        let Some(output) = as_somebody(&place) else { return skip("setpriv cannot change the user here") };
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert_eq!(rights(&file), (then, 4321, 4321), "{mode:o}");
    }
}

#[test]
fn a_replaced_file_keeps_its_access_list() {
    let place = Place::new();
    let file = place.path("a.html");
    fs::write(&file, "").unwrap();
    // Version 2; tag, permissions and number of each entry: owner rw, user 1234 r, group none, mask r, others none.
    let entries =
        [(0x01_u16, 6_u16, u32::MAX), (0x02, 4, 1234), (0x04, 0, u32::MAX), (0x10, 4, u32::MAX), (0x20, 0, u32::MAX)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, number) in entries {
        list.extend([&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &number.to_le_bytes()].concat());
    }
    const NAME: &str = "system.posix_acl_access";
    if rustix::fs::setxattr(&file, NAME, &list, rustix::fs::XattrFlags::empty()).is_err() {
        return skip("the disk keeps no access lists");
    }
    place.done(&["app.coldtrace", "-o", "a.html"]);
    let mut kept = vec![0; 1024];
    let length = rustix::fs::getxattr(&file, NAME, kept.as_mut_slice()).unwrap();
    assert_eq!((&kept[..length], rights(&file).0), (&list[..], 0o640));
    // Without a list, and in a folder that gives one to each new file.
    const FOLDERS: &str = "system.posix_acl_default";
    rustix::fs::removexattr(&file, NAME).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    rustix::fs::setxattr(place.folder.path(), FOLDERS, &list, rustix::fs::XattrFlags::empty()).unwrap();
    place.done(&["app.coldtrace", "-o", "a.html"]);
    assert!(rustix::fs::getxattr(&file, NAME, kept.as_mut_slice()).is_err());
    assert_eq!(rights(&file).0, 0o640);
}

fn as_somebody(place: &Place) -> Option<Output> {
    // A copy, since the folder where it was built may be closed to others.
    let program = place.path("program");
    if !program.exists() {
        coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=4321", "--regid=4321", "--clear-groups", "--bounding-set=-all"]);
    command.arg(&program).args(["view", "app.coldtrace", "-o", "a.html", "--force"]).current_dir(place.folder.path());
    let output = command.output().ok()?;
    let is_refused = matches!(output.status.code(), Some(1 | 126 | 127));
    (!is_refused).then_some(output)
}
