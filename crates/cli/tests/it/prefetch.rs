//! `coldstart prefetch` with real programs and files: what is recorded, what a replay brings back, and that a program
//! started through it cannot tell.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cold::make_cold;
use crate::filtered::{self, WITHOUT_OTHERS_MEMORY};
use crate::text;

fn coldstart() -> Command {
    Command::new(env!("CARGO_BIN_EXE_coldstart"))
}

/// A folder on a real disk: tmpfs has no page cache of its own to be cold.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of `pages` pages, written out to the disk.
    fn file(&self, name: &str, pages: usize) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, vec![b'x'; pages * 4096]).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    /// A plan of a start of `words`, recorded as the caches are, after `evicted` was evicted.
    fn plan(&self, evicted: &Path, words: &[&str]) -> PathBuf {
        make_cold(evicted);
        let plan = self.path("a.prefetch");
        let output = coldstart()
            .args(["prefetch", "record", "--as-is", "-o"])
            .arg(&plan)
            .arg("--")
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        plan
    }
}

fn resident_pages(path: &Path) -> u64 {
    let output = coldstart().args(["pagecache", "show", "--json"]).arg(path).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    shown["files"][0]["resident_pages"].as_u64().unwrap()
}

/// Does something after which most of `wanted` pages of a file are found in memory: at least four fifths, and not each time,
/// since some kernels reclaim pages that nobody has used yet within a second (DAMON).
fn brings_back(data: &Path, wanted: u64, mut bring: impl FnMut() -> u64) {
    let mut found = Vec::new();
    while found.len() < 5 {
        make_cold(data);
        found.push(bring());
        if found.last().is_some_and(|found| found * 5 >= wanted * 4) {
            return;
        }
    }
    panic!("{found:?} of {wanted} pages are resident");
}

fn shown(plan: &Path) -> (Value, Output) {
    let output = coldstart().args(["prefetch", "show", "--json"]).arg(plan).output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap_or(Value::Null), output)
}

fn run_through(plan: &Path, words: &[&str]) -> Command {
    let mut command = coldstart();
    command.args(["prefetch", "run"]).arg(plan).arg("--").args(words);
    command
}

#[test]
fn what_a_program_read_comes_back() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 1000);
    let plan = scratch.plan(&data, &["head", "-c", "1638400", data.to_str().unwrap()]);

    let (json, output) = shown(&plan);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(json["schema"], "coldstart.prefetch/1");
    let files = json["files"].as_array().unwrap();
    let of_data = files.iter().find(|file| file["path"] == data.to_str().unwrap()).unwrap();
    let pages = of_data["pages"].as_u64().unwrap();
    assert!((400..=1000).contains(&pages), "400 pages were read, {pages} are planned");

    brings_back(&data, pages, || {
        assert_eq!(resident_pages(&data), 0);
        let replay = coldstart().args(["prefetch", "run"]).arg(&plan).output().unwrap();
        assert!(replay.status.success(), "{}", text(&replay.stderr));
        resident_pages(&data)
    });
}

#[test]
fn a_start_through_a_plan_brings_pages_in_and_hands_on_the_exit_code() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 500);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    brings_back(&data, 500, || {
        let mut program = run_through(&plan, &["sh", "-c", "read line; exit 7"]);
        let child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // sh reads nothing of it: the replay does, beside it, as fast as the disk is.
        let end = Instant::now() + Duration::from_secs(20);
        let mut found = resident_pages(&data);
        while found < 400 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
            found = found.max(resident_pages(&data));
        }
        // Its input ends with the child's other pipes.
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(7));
        assert_eq!(text(&output.stderr), "");
        found
    });
}

#[test]
fn a_blocking_replay_is_over_when_the_program_starts() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 3000);
    make_cold(&data);
    let plan = scratch.path("blocking.prefetch");
    let mut record = coldstart();
    record.args(["prefetch", "record", "--as-is", "--strategy", "blocking", "-o"]).arg(&plan).arg("--");
    assert!(record.arg("cat").arg(&data).status().unwrap().success());
    let look = [env!("CARGO_BIN_EXE_coldstart"), "pagecache", "show", "--json", data.to_str().unwrap()];
    brings_back(&data, 3000, || {
        let output = run_through(&plan, &look).output().unwrap();
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        // Seen by the program itself, the moment it started.
        seen["files"][0]["resident_pages"].as_u64().unwrap()
    });
}

#[test]
fn the_program_cannot_tell_that_it_was_started_through_a_plan() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 10);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    // Signals ignored and blocked, open descriptors, working directory, limits, session, parent, and children.
    // `ps` in a command substitution, where it is the only child: what comes behind a pipe has the shell's name until it runs.
    let look = "grep -E '^(SigIgn|SigBlk|SigCgt|PPid)' /proc/self/status; ls -l /proc/self/fd | sed 's/.*[0-9] \\([0-9]* ->\\)/\\1/' \
                | grep -v /proc/ | sed 's/:.*//'; pwd; ulimit -n; ulimit -u; ps -o sid= -p $$; children=$(ps --ppid $$ -o comm=); echo \"$children\"; env | grep -v '^_='";
    let plain = Command::new("sh").args(["-c", look]).stdin(Stdio::null()).output().unwrap();
    let through = run_through(&plan, &["sh", "-c", look]).stdin(Stdio::null()).output().unwrap();
    let without_parent = |output: &Output| {
        text(&output.stdout).lines().filter(|line| !line.starts_with("PPid")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(without_parent(&through), without_parent(&plain));
    assert!(plain.stdout.len() > 200, "the look really saw something");
}

#[test]
fn the_process_number_stays_and_there_is_no_child_to_wait_for() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 10);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    let child = run_through(&plan, &["sh", "-c", "echo $$; children=$(ps --ppid $$ -o comm=); echo \"$children\""])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let number = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stdout), format!("{number}\nps\n"));
}

#[test]
fn a_signal_s_death_is_handed_on() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 10);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    let status = run_through(&plan, &["sh", "-c", "kill -9 $$"]).status().unwrap();
    assert_eq!(status.signal(), Some(9));
}

#[test]
fn whatever_is_wrong_with_the_plan_the_program_starts() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 10);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    let whole = fs::read(&plan).unwrap();
    let mut newer = whole.clone();
    newer[8] = 200;
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let cases: [(&str, Option<&[u8]>, &str); 6] = [
        ("missing", None, "No such file"),
        ("empty", Some(b""), "not a prefetch plan"),
        ("text", Some(b"hello, world, this is no plan"), "not a prefetch plan"),
        ("cut", Some(&whole[..whole.len() / 2]), "should be"),
        ("newer", Some(&newer), "version 200"),
        ("flipped", Some(&flipped), "checksum"),
    ];
    for (name, bytes, reason) in cases {
        let path = scratch.path(name);
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        let output = run_through(&path, &["sh", "-c", "echo started; exit 3"]).output().unwrap();
        assert_eq!(text(&output.stdout), "started\n", "{name}");
        assert_eq!(output.status.code(), Some(3), "{name}");
        let said = text(&output.stderr);
        assert!(said.contains(reason) && said.lines().count() == 1, "{name}: {said}");
        // Asked about directly, the same file is an error with advice.
        let (_, output) = shown(&path);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(reason), "{name}: {}", text(&output.stderr));
    }
}

#[test]
fn a_changed_file_is_left_out_and_shown() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 300);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    fs::write(&data, vec![b'y'; 200 * 4096]).unwrap();
    make_cold(&data);
    let (json, output) = shown(&plan);
    assert_eq!(output.status.code(), Some(1), "stale is a no, not an error");
    assert_eq!(json["stale_files"], 1);
    assert!(run_through(&plan, &["true"]).status().unwrap().success());
    assert!(coldstart().args(["prefetch", "run"]).arg(&plan).status().unwrap().success());
    assert_eq!(resident_pages(&data), 0, "another file's pages are not read by old numbers");

    fs::remove_file(&data).unwrap();
    let (json, output) = shown(&plan);
    assert_eq!((output.status.code(), &json["stale_files"]), (Some(1), &Value::from(1)));
    assert!(coldstart().args(["prefetch", "run"]).arg(&plan).status().unwrap().success());
}

#[test]
fn a_fifo_in_a_file_s_place_stops_nobody() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 30);
    let plan = scratch.plan(&data, &["cat", data.to_str().unwrap()]);
    fs::remove_file(&data).unwrap();
    assert!(Command::new("mkfifo").arg(&data).status().unwrap().success());
    assert!(coldstart().args(["prefetch", "run"]).arg(&plan).status().unwrap().success());
}

#[test]
fn a_program_that_cannot_be_started_has_the_shell_s_codes() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 1);
    let missing = run_through(&data, &["/no/such/program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("/no/such/program"));
    let not_executable = run_through(&data, &[data.to_str().unwrap()]).output().unwrap();
    assert_eq!(not_executable.status.code(), Some(126));
}

#[test]
fn a_program_that_fails_is_not_recorded() {
    let scratch = Scratch::new();
    let plan = scratch.path("a.prefetch");
    let record = |words: &[&str]| {
        let mut command = coldstart();
        command.args(["prefetch", "record", "--as-is", "--time-limit", "1", "-o"]).arg(&plan).arg("--").args(words);
        command.output().unwrap()
    };
    for words in [&["false"][..], &["sh", "-c", "kill -SEGV $$"], &["sleep", "100"], &["/no/such/program"]] {
        let output = record(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("hint:"), "{words:?}: {}", text(&output.stderr));
        assert!(!plan.exists(), "{words:?} left a plan");
    }
}

#[test]
fn the_printed_command_can_be_pasted() {
    let scratch = Scratch::new();
    let odd = scratch.0.path().join(OsStr::from_bytes(b"a 'b'\x1b[31m\n\xff$(c)"));
    fs::create_dir(&odd).unwrap();
    let (program, plan) = (odd.join("program"), odd.join("a.prefetch"));
    assert!(Command::new("cp").arg("/bin/echo").arg(&program).status().unwrap().success());
    let word = OsStr::from_bytes(b"\x01\xfe \\ !");
    let mut record = coldstart();
    let output = record
        .args(["prefetch", "record", "--as-is", "-o"])
        .arg(&plan)
        .arg("--")
        .args([program.as_os_str(), word])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains(['\u{fffd}', '\u{1b}']), "{said:?}");
    let line = said.lines().find_map(|line| line.strip_prefix("start it with: ")).unwrap();
    let script = format!("coldstart() {{ {} \"$@\"; }}; {line}", env!("CARGO_BIN_EXE_coldstart"));
    let pasted = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!((pasted.stdout.as_slice(), text(&pasted.stderr).as_str()), (&b"\x01\xfe \\ !\n"[..], ""), "{line}");
}

#[test]
fn children_are_followed_and_missing_names_are_kept() {
    let scratch = Scratch::new();
    let data = scratch.file("data", 50);
    let script = format!("test -e {0}/nothing-here; (cat {0}/data) | wc -c", data.parent().unwrap().display());
    let plan = scratch.plan(&data, &["sh", "-c", &script]);
    let (json, _) = shown(&plan);
    let files = json["files"].as_array().unwrap();
    assert!(files.iter().any(|file| file["path"] == data.to_str().unwrap()), "cat ran in a grandchild");
    let steps = coldstart().args(["prefetch", "show", "--steps"]).arg(&plan).output().unwrap();
    assert!(text(&steps.stdout).contains("nothing-here"), "{}", text(&steps.stdout));
}

#[test]
fn where_names_cannot_be_read_nothing_is_recorded_and_no_plan_is_empty() {
    let scratch = Scratch::new();
    let said = |arguments: &[&str]| {
        let output = filtered::coldstart(scratch.0.path(), WITHOUT_OTHERS_MEMORY, arguments);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for arguments in [
        &["prefetch", "record", "-o", "plan", "--", "/bin/true"][..],
        &["index", "make", "-o", "plan", "--", "/usr/bin/perl", "-e", "1"],
    ] {
        let (code, stderr) = said(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(
            stderr.contains("cannot read the names of the files") && stderr.contains("coldstart doctor"),
            "{stderr}"
        );
        assert!(!scratch.path("plan").exists());
    }
    let (code, stderr) = said(&["measure", "--state", "hot", "--runs", "2", "--no-history", "--", "/bin/true"]);
    assert_eq!(code, Some(0), "{stderr}");
    let (code, stderr) = said(&["trace", "-o", "trace", "--", "/bin/true"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("Names of files are not recorded"), "{stderr}");
}
