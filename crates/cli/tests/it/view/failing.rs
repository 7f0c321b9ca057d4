//! What cannot be read, what cannot be written: an error that names the file, exit code 2, and nothing left behind.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use coldstart_profile::trace::{Event, Moment};
use rustix::process::{Pid, Signal, kill_process};

use super::{Place, command, scene, skip, text};

/// Every kind of output.
const ALL: [&str; 12] =
    ["-o", "a.html", "-o", "a.svg", "-o", "a.png", "-o", "a.json", "-o", "a.csv", "--table", "touches"];

/// Expects failure of each kind, with these words, and no new file.
fn refuses(place: &Place, trace: &str, words: &[&str]) {
    let before = place.names();
    let all = [&[trace][..], &ALL].concat();
    for asked in [
        &all[..],
        &[trace, "--open"],
        &[trace],
        &[trace, "-o", "-", "--as", "html"],
        &["app.coldtrace", trace, "-o", "b.html"],
    ] {
        let output = place.run(asked);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{asked:?}: {said}");
        assert!(words.iter().all(|word| said.contains(word)) && said.contains("hint: "), "{asked:?}: {said}");
    }
    assert_eq!(place.names(), before);
}

#[test]
fn what_is_no_trace_is_refused() {
    let place = Place::new();
    fs::write(place.path("empty"), []).unwrap();
    refuses(&place, "empty", &["`empty` is empty", "coldstart trace -o"]);
    refuses(&place, "nowhere", &["`nowhere`", "No such file", "coldstart trace -o"]);
    refuses(&place, ".", &["cannot read the trace `.`: it is a directory, not a regular file"]);
    fs::copy(coldstart_host::process::own::PROGRAM, place.path("elf")).unwrap();
    refuses(&place, "elf", &["`elf` is not a trace", "not a SQLite database"]);
    fs::write(place.path("perf.data"), [&b"PERFILE2"[..], &[0; 400]].concat()).unwrap();
    refuses(&place, "perf.data", &["`perf.data` is not a trace", "coldstart trace import perf.data"]);
    fs::write(place.path("page.html"), "<!DOCTYPE html>".repeat(20)).unwrap();
    refuses(&place, "page.html", &["`page.html` is not a trace"]);
    rusqlite::Connection::open(place.path("other.db")).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    refuses(&place, "other.db", &["`other.db` is not a trace", "another program's database"]);
}

#[test]
fn damaged_and_newer_traces_are_refused() {
    let place = Place::new();
    let bytes = place.read("app.coldtrace");
    // The place of the format in the header, big-endian (`PRAGMA user_version`).
    let mut newer = bytes.clone();
    newer[63] = 99;
    fs::write(place.path("newer"), newer).unwrap();
    refuses(&place, "newer", &["`newer` has format 99", "a later one"]);
    fs::write(place.path("cut"), &bytes[..bytes.len() / 2]).unwrap();
    refuses(&place, "cut", &["`cut` is damaged", "coldstart trace -o"]);
    let mut scratched = bytes.clone();
    let middle = scratched.len() / 2;
    scratched[middle..middle + 4096].fill(0xa5);
    fs::write(place.path("scratched"), scratched).unwrap();
    refuses(&place, "scratched", &["`scratched`", "damaged"]);
    fs::copy(place.path("app.coldtrace"), place.path("viewed")).unwrap();
    let database = rusqlite::Connection::open(place.path("viewed")).unwrap();
    database.execute_batch("DROP VIEW files; CREATE VIEW files AS SELECT 1").unwrap();
    drop(database);
    refuses(&place, "viewed", &["`viewed` is damaged", "differs from coldstart's definition"]);
}

#[test]
fn an_unknown_ending_is_refused_before_anything_is_made() {
    let place = Place::new();
    for (words, said) in [
        (&["-o", "a.html", "-o", "b.pdf"][..], ".html, .svg, .png, .json and .csv"),
        (&["-o", "a.html", "-o", "noending"], ".html, .svg"),
        (&["-o", "a.html", "-o", "a.html"], "twice"),
        (&["-o", "a.html", "-o", "./a.html"], "twice"),
        (&["-o", "a.html", "-o", "b.svg", "--object", "nothing-like-it"], "no file of this trace is named"),
        (&["-o", "a.html", "--format", "firefox"], "-o OUT.json"),
        (&["-o", "a.html", "--table", "files"], "-o OUT.csv"),
        (&["-o", "a.csv", "--table", "nothing"], "the tables are touches, "),
        (&["-o", "a.csv", "--table", "changes"], "requires two traces"),
        (&["--json"], "add -o OUT"),
    ] {
        let output = place.run(&[&["app.coldtrace"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(said), "{words:?}: {}", text(&output.stderr));
        assert_eq!(place.names(), ["app.coldtrace"], "{words:?}");
    }
}

#[test]
fn the_trace_and_what_is_no_file_are_not_written_over() {
    let place = Place::new();
    let before = place.read("app.coldtrace");
    std::os::unix::fs::symlink("app.coldtrace", place.path("link.html")).unwrap();
    fs::create_dir(place.path("folder.html")).unwrap();
    assert!(Command::new("mkfifo").arg(place.path("pipe.html")).status().unwrap().success());
    for (out, said) in [
        ("link.html", "it is the viewed trace `app.coldtrace`"),
        ("folder.html", "a directory"),
        ("pipe.html", "not a regular file"),
        ("/dev/null", "not a regular file"),
        ("missing/a.html", "No such file"),
        ("missing/a.html", "hint: create its directory first"),
    ] {
        let output = place.run(&["app.coldtrace", "-o", out, "--as", "html"]);
        assert_eq!(output.status.code(), Some(2), "{out}");
        assert!(text(&output.stderr).contains(said) && text(&output.stderr).contains(out), "{}", text(&output.stderr));
    }
    assert_eq!(place.read("app.coldtrace"), before);
    assert_eq!(place.names(), ["app.coldtrace", "folder.html", "link.html", "pipe.html"]);
}

#[test]
fn no_other_trace_is_written_over() {
    let place = Place::new();
    place.add("other.coldtrace", &scene::trace());
    let before = place.read("other.coldtrace");
    // Half a trace may still be somebody's only one.
    fs::write(place.path("cut.html"), &before[..before.len() / 2]).unwrap();
    fs::copy(place.path("other.coldtrace"), place.path("a-reads.csv")).unwrap();
    let names = place.names();
    for out in ["other.coldtrace", "cut.html"] {
        let output = place.run(&["app.coldtrace", "-o", "first.html", "-o", out, "--as", "html"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{out}: {said}");
        assert!(
            said.contains(out) && said.contains("is not a page written by coldstart") && said.contains("hint: "),
            "{said}"
        );
    }
    assert_eq!(place.run(&["app.coldtrace", "-o", "a.csv"]).status.code(), Some(2));
    let program = env!("CARGO_BIN_EXE_coldstart");
    let mut inspect = Command::new(program);
    inspect.args(["inspect", program, "--html", "other.coldtrace"]).current_dir(place.folder.path());
    assert_eq!(inspect.output().unwrap().status.code(), Some(2));
    assert_eq!(place.read("other.coldtrace"), before);
    assert_eq!(place.read("a-reads.csv"), before);
    assert!(place.names().iter().all(|name| names.contains(name) || name.ends_with(".csv")), "{:?}", place.names());
}

#[test]
fn a_picture_that_is_there_is_replaced_whole_and_so_is_a_link() {
    let place = Place::new();
    for theme in ["dark", "light"] {
        place.done(&["app.coldtrace", "-o", "real.svg", "--theme", theme]);
    }
    let before = place.read("real.svg");
    std::os::unix::fs::symlink("real.svg", place.path("link.svg")).unwrap();
    place.done(&["app.coldtrace", "-o", "link.svg", "--theme", "dark"]);
    assert!(!place.path("link.svg").is_symlink() && place.read("real.svg") == before);
    assert!(text(&place.read("link.svg")).contains("<svg"));
    assert_eq!(fs::metadata(place.path("real.svg")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_coldstart");
    fs::create_dir(place.path("disk")).unwrap();
    // More than the disk has, and a file that must survive.
    let script = format!(
        "mount -t tmpfs -o size=16k tmpfs disk || exit 99; echo old > disk/a.html; \
         for kind in html json csv; do {program} view app.coldtrace --force -o disk/a.$kind; echo code $?; done; \
         cat disk/a.html; ls -A disk; umount disk"
    );
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", &script]).current_dir(place.folder.path()).output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    if said.contains("unshare failed") || output.status.code() == Some(99) {
        return skip("may not mount a disk of its own");
    }
    assert!(said.contains("cannot write `disk/a.html`: ") && said.contains("No space left on device"), "{said}");
    assert!(said.contains("hint: free some space there"), "{said}");
    assert!(shown.starts_with("code 2\n"), "{shown}{said}");
    assert!(shown.contains("\nold\n") && !shown.contains(".coldstart-"), "{shown}");
}

#[test]
fn a_folder_that_may_not_be_written_to_is_said() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_coldstart");
    fs::create_dir(place.path("locked")).unwrap();
    // Root may write everywhere but where the mount says no.
    let script = format!(
        "mount -t tmpfs -o size=1m tmpfs locked && mount -o remount,ro locked || exit 99; {program} view app.coldtrace -o locked/a.html"
    );
    let output =
        Command::new("unshare").args(["-m", "sh", "-c", &script]).current_dir(place.folder.path()).output().unwrap();
    let said = text(&output.stderr);
    if said.contains("unshare failed") || output.status.code() == Some(99) {
        return skip("may not mount a disk of its own");
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write `locked/a.html`") && said.contains("Read-only file system"), "{said}");
    assert!(said.contains("hint: name a file in a directory that you may write to"), "{said}");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let mut trace = scene::trace();
    // So many that writing their tables takes longer than the signal does.
    let event = trace.events[0];
    trace.events = (0..300_000).map(|at| Event { at: Moment(at * 100), ..event }).collect();
    let place = Place::with(&trace);
    fs::write(place.path("a-touches.csv"), "old").unwrap();
    let mut child = command(place.folder.path())
        .args(["app.coldtrace", "--force", "-o", "b.svg", "-o", "a.csv"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first is there; the next takes its time.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("wrote b.svg")));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    let code = child.wait().unwrap().code();
    let left = place.names();
    assert!(!left.iter().any(|name| name.starts_with('.')), "{left:?}");
    assert_eq!(code, Some(130), "{left:?}");
    let touches = text(&place.read("a-touches.csv"));
    assert!(touches == "old" || touches.lines().count() == 300_001, "half a table");
}
