//! `coldstart pagecache` as its users meet it: exit code, stdout and stderr, with and without privileges.

use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use coldstart_sys::cachestat;
use coldstart_sys::held_pages::HeldPages;
use coldstart_testing::copy_program;
use coldstart_testing::{scratch, skip};
use serde_json::Value;
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

use crate::cached::file_with;
use crate::filtered::{self, WITHOUT_CACHESTAT};

/// The whole conversation with a command: what it was, its exit code, what it said.
fn conversation(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).env("NO_COLOR", "1").output().unwrap();
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    format!(
        "$ coldstart {}\nexit: {}\n--- stdout\n{}--- stderr\n{}",
        arguments.join(" "),
        output.status.code().map_or("killed".to_owned(), |code| code.to_string()),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn coldstart(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).args(arguments);
    command
}

fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = coldstart(directory, arguments).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

/// cold: 0 of 100 pages; half: the front half of 40; hot: all 10; empty; and things that are passed over.
fn tree() -> (TempDir, Vec<HeldPages>) {
    let directory = scratch();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    file_with(&tree.join("cold"), 100, &[]);
    let mut held = file_with(&tree.join("half"), 40, &[(0, 20)]);
    held.extend(file_with(&tree.join("hot"), 10, &[(0, 10)]));
    File::create(tree.join("empty")).unwrap();
    std::os::unix::fs::symlink("cold", tree.join("link")).unwrap();
    std::fs::hard_link(tree.join("hot"), tree.join("hot too")).unwrap();
    (directory, held)
}

#[test]
fn show_tells_how_much_and_where() {
    let (directory, _held) = tree();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["pagecache", "show", "tree"])), @r"
    $ coldstart pagecache show tree
    exit: 0
    --- stdout
       size  pages  resident    bytes  share  where in the file     file
     410 kB    100         0      0 B    0 %  ····················  tree/cold
        0 B      0         0      0 B      -                        tree/empty
     164 kB     40        20  81.9 kB   50 %  ██████████··········  tree/half
    41.0 kB     10        10  41.0 kB  100 %  ████████████████████  tree/hot
     614 kB    150        30   123 kB   20 %                        total of 4 files
    --- stderr
    note: skipped 1 symbolic link, 1 further name of a known file
    ");
    insta::assert_snapshot!(
        conversation(coldstart(directory.path(), &["pagecache", "show", "--ranges", "--sort", "resident", "--limit", "2", "tree"])),
        @r"
        $ coldstart pagecache show --ranges --sort resident --limit 2 tree
        exit: 0
        --- stdout
           size  pages  resident    bytes  share  where in the file     file
         164 kB     40        20  81.9 kB   50 %  ██████████··········  tree/half
        41.0 kB     10        10  41.0 kB  100 %  ████████████████████  tree/hot
         614 kB    150        30   123 kB   20 %                        total of 4 files, 2 listed

        resident in tree/half
          pages 0-19, 81.9 kB from offset 0x0

        resident in tree/hot
          pages 0-9, 41.0 kB from offset 0x0
        --- stderr
        note: skipped 1 symbolic link, 1 further name of a known file
        "
    );
}

#[test]
fn show_in_json() {
    let (directory, _held) = tree();
    let (code, shown) = json(directory.path(), &["pagecache", "show", "--json", "--ranges", "--sort", "size", "tree"]);
    assert_eq!(code, 0);
    assert_eq!(shown["schema"], "coldstart.pagecache.show/1");
    let paths: Vec<_> = shown["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["tree/cold", "tree/half", "tree/hot", "tree/empty"]);
    assert_eq!(shown["files"][1]["ranges"], serde_json::json!([[0, 20]]));
    assert_eq!(shown["files"][1]["resident_bytes"], 20 * 4096);
    assert_eq!(shown["files"][3]["method"], "empty");
    assert_eq!(shown["total"]["resident_pages"], 30);
    assert_eq!(shown["passed_over"]["symbolic_links"], 1);
    assert_eq!(shown["passed_over"]["seen_before"], 1);

    let (_, shown) = json(directory.path(), &["pagecache", "show", "--json", "--limit", "1", "tree"]);
    assert_eq!((shown["files"].as_array().unwrap().len(), &shown["files_omitted"]), (1, &Value::from(3)));
    assert_eq!(shown["files"][0].get("ranges"), None, "not asked for");
    assert_eq!(shown["total"]["files"], 4, "totals cover all");
}

#[test]
fn what_cannot_be_shown_does_not_hide_the_rest() {
    let (directory, _held) = tree();
    insta::assert_snapshot!(
        conversation(coldstart(directory.path(), &["pagecache", "show", "nope", "tree/hot", "/dev/null", "tree/cold/below"])),
        @r"
        $ coldstart pagecache show nope tree/hot /dev/null tree/cold/below
        exit: 2
        --- stdout
           size  pages  resident    bytes  share  where in the file     file
        41.0 kB     10        10  41.0 kB  100 %  ████████████████████  tree/hot
        41.0 kB     10        10  41.0 kB  100 %                        total of 1 file
        --- stderr
        error: cannot open `nope`: No such file or directory (os error 2)
        error: `/dev/null` is a character device, and only regular files and block devices have pages
        error: cannot open `tree/cold/below`: Not a directory (os error 20)
        "
    );
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["pagecache", "show", "nope"])), @r"
    $ coldstart pagecache show nope
    exit: 2
    --- stdout
    --- stderr
    error: cannot open `nope`: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["pagecache", "show"])), @r"
    $ coldstart pagecache show
    exit: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <PATH>...

    Usage: coldstart pagecache show <PATH>...

    For more information, try '--help'.
    ");
}

#[test]
fn evict_says_before_and_after() {
    let mut attempts = (0..5).map(|_| {
        let (directory, held) = tree();
        drop(held);
        (conversation(coldstart(directory.path(), &["pagecache", "evict", "tree"])), directory)
    });
    // What is held cannot be evicted, and of what is not the kernel may take back a page before us, but hardly each time.
    let (said, directory) =
        attempts.find(|(said, _)| said.contains("30      0     0 B  total")).expect("all 30 pages before");
    insta::assert_snapshot!(said, @r"
    $ coldstart pagecache evict tree
    exit: 0
    --- stdout
       size  pages before  after  stayed  file
     410 kB             0      0     0 B  tree/cold
        0 B             0      0     0 B  tree/empty
     164 kB            20      0     0 B  tree/half
    41.0 kB            10      0     0 B  tree/hot
     614 kB            30      0     0 B  total of 4 files
    --- stderr
    note: skipped 1 symbolic link, 1 further name of a known file
    ");
    let (code, shown) = json(directory.path(), &["pagecache", "show", "--json", "tree"]);
    assert_eq!((code, &shown["total"]["resident_pages"]), (0, &Value::from(0)));
}

#[test]
fn evict_answers_no_when_pages_are_not_yet_written() {
    let directory = scratch();
    let path = directory.path().join("dirty");
    let contents = vec![7; 50 * 4096];
    std::fs::write(&path, &contents).unwrap();
    // By somebody who goes on writing: eviction begins to write dirty pages, and a fast disk has some of them at once.
    let (is_over, file) = (AtomicBool::new(false), File::options().write(true).open(&path).unwrap());
    let (code, evicted) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                file.write_all_at(&contents, 0).unwrap();
            }
        });
        let mut answers = (0..20).map(|_| json(directory.path(), &["pagecache", "evict", "--json", "dirty"]));
        let answer = answers.find(|(code, _)| *code != 0);
        is_over.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        answer.expect("dirty pages never stayed")
    });
    let file = &evicted["files"][0];
    assert_eq!((code, &file["gone"]), (1, &Value::from(false)), "{evicted}");
    // Before Linux 6.5 (`cachestat`) the kernel does not tell which pages are dirty.
    let reason = if file["after"]["dirty_pages"].is_null() { "unwritten-or-in-use" } else { "unwritten" };
    assert_eq!(file["stayed"][0]["reason"], reason, "{evicted}");
    let (code, evicted) = json(directory.path(), &["pagecache", "evict", "--json", "--sync", "dirty"]);
    assert_eq!((code, &evicted["files"][0]["gone"]), (0, &Value::from(true)), "{evicted}");
}

#[test]
fn evict_takes_what_belongs_to_files_without_being_in_them() {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to drop directory entries");
    }
    let (directory, held) = tree();
    drop(held);
    let (code, evicted) = json(directory.path(), &["pagecache", "evict", "--json", "--sync", "--metadata", "tree"]);
    let ways = evicted["metadata"].as_array().unwrap();
    let entries = ways.iter().find(|way| way["way"] == "entries").unwrap();
    assert!(entries["before"].as_u64() >= entries["after"].as_u64(), "{entries}");
    // Of some machines the device may not be opened, which is then the answer.
    let devices: Vec<_> = ways.iter().filter(|way| way["unit"] == "pages").collect();
    assert_eq!(devices.len(), 1, "{ways:?}");
    assert_eq!(code, i32::from(!devices[0]["refused"].is_null()), "{evicted}");
    let (_, plain) = json(directory.path(), &["pagecache", "evict", "--json", "tree"]);
    assert!(plain.get("metadata").is_none(), "{plain}");
}

#[test]
fn evict_names_who_holds_a_file() {
    let directory = scratch();
    let program = directory.path().join("sleep");
    // Copied by another process: a child that another test starts meanwhile must not inherit a descriptor open for
    // writing, or the program is "busy".
    assert!(Command::new("cp").arg("/bin/sleep").arg(&program).status().unwrap().success());
    let mut child = Command::new(&program).arg("60").spawn().unwrap();
    let text = conversation(coldstart(directory.path(), &["pagecache", "evict", "--sync", "sleep"]));
    let (code, evicted) = json(directory.path(), &["pagecache", "evict", "--json", "--sync", "sleep"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(&format!("process {},", child.id()), "process [PID],");
    settings.add_filter(r"\d+(\.\d)? kB|\b\d+ +\d+ ", "[SIZE]");
    // Of how many digits the numbers are is no matter either: some of the pages may be gone before.
    settings.add_filter(r" +\[SIZE\]", " [SIZE]");
    settings.bind(|| {
        insta::assert_snapshot!(text, @r"
    $ coldstart pagecache evict --sync sleep
    exit: 1
    --- stdout
       size  pages before  after   stayed  file
    [SIZE] [SIZE] [SIZE]  sleep
    [SIZE] [SIZE] [SIZE]  total of 1 file

    stayed of sleep
      in use by sleep (process [PID], [SIZE])
    --- stderr
    ")
    });
    assert_eq!(code, 1);
    assert_eq!(evicted["files"][0]["stayed"][0]["reason"], "held");
    assert_eq!(evicted["files"][0]["stayed"][0]["processes"][0]["pid"], child.id());
}

#[test]
fn without_cachestat_the_large_holes_of_a_file_are_not_asked_for() {
    let directory = scratch();
    let file = File::options().read(true).write(true).create_new(true).open(directory.path().join("sparse")).unwrap();
    file.set_len(1 << 43).unwrap();
    let (last, in_hole) = ((1_u64 << 31) - 1, 1 << 30);
    let written = [0, 1 << 20, last];
    written.iter().for_each(|page| file.write_all_at(&[1; 4096], page * 4096).unwrap());
    file.sync_all().unwrap();
    // Read, a page of a hole is in the page cache, too.
    file.read_exact_at(&mut [0; 4096], in_hole * 4096).unwrap();
    let hold = |page: &u64| HeldPages::hold(&file, page * 4096, 4096).unwrap();
    let _held: Vec<_> = written.iter().chain([&in_hole]).map(hold).collect();
    let show = ["pagecache", "show", "--ranges", "--json", "sparse"];
    let output = filtered::coldstart(directory.path(), WITHOUT_CACHESTAT, &show);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let file = &shown["files"][0];
    assert_eq!(file["method"], "mincore", "{shown}");
    let pages = |file: &Value| -> Vec<u64> {
        let ranges = file["ranges"].as_array().unwrap().iter();
        let ranges = ranges.map(|range| (range[0].as_u64().unwrap(), range[1].as_u64().unwrap()));
        ranges.flat_map(|(first, count)| first..first + count).collect()
    };
    assert_eq!(pages(file), written, "{shown}");
    let (_, shown) = json(directory.path(), &show);
    if shown["files"][0]["method"] == "cachestat" {
        let all = pages(&shown["files"][0]);
        assert!(all.contains(&in_hole) && written.iter().all(|page| all.contains(page)), "{shown}");
    }
}

#[test]
fn memory_file_systems_cannot_be_evicted_and_the_widest_lines_fit() {
    let Ok(directory) = TempDir::new_in("/dev/shm") else { return skip("no /dev/shm") };
    if !cachestat::is_there() {
        return skip("only cachestat can look at a file of this size, and this kernel lacks it (Linux 6.5)");
    }
    let name = format!("{}\u{1b}[31m 日本語 {}", "long ".repeat(15), "name ".repeat(20));
    let file = File::create(directory.path().join(&name)).unwrap();
    file.set_len(i64::MAX as u64).unwrap();
    file.write_all_at(&[1; 2 * 4096], 1 << 40).unwrap();
    let text = conversation(coldstart(directory.path(), &["pagecache", "show", "--ranges", "."]));
    if !text.contains("in-memory file system") {
        return skip("/dev/shm is no tmpfs");
    }
    let stdout = text.split("--- ").find(|part| part.starts_with("stdout")).unwrap();
    for line in stdout.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
    assert!(stdout.contains("9.2 EB  2 251 799 813 685 248"), "{stdout}");
    assert!(stdout.contains("pages 268435456-268435457, 8.2 kB from offset 0x10000000000"), "{stdout}");
    assert!(!text.contains('\u{1b}'), "a name must not reach the terminal as it is");

    let (code, evicted) = json(directory.path(), &["pagecache", "evict", "--json", "."]);
    assert_eq!(code, 1);
    assert_eq!(evicted["files"][0]["stayed"][0]["reason"], "in-memory");
    let text = conversation(coldstart(directory.path(), &["pagecache", "evict", "."]));
    assert!(text.contains("has no backing store"), "{text}");
    for line in text.lines() {
        assert!(line.width() <= 100, "{} columns: {line}", line.width());
    }
}

#[test]
fn a_reader_who_leaves_is_no_error() {
    let (directory, _held) = tree();
    let mut command = coldstart(directory.path(), &["pagecache", "show", "tree"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

/// The command as a user without any privilege: the program is copied to where everybody can run it.
struct Nobody {
    directory: TempDir,
}

impl Nobody {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can become somebody else");
            return None;
        }
        let directory = TempDir::new().unwrap();
        std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let program = directory.path().join("coldstart");
        copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
        std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Some(Self { directory })
    }

    fn run(&self, arguments: &[&str]) -> String {
        let program = self.directory.path().join("coldstart");
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program).args(arguments);
        command.current_dir(self.directory.path());
        let text = conversation(command);
        // The command line is not what the test is about.
        text.split_once('\n').map(|(_, rest)| rest.to_owned()).unwrap()
    }
}

#[test]
fn other_peoples_files_are_unknown_and_never_guessed() {
    let Some(nobody) = Nobody::new() else { return };
    let path = nobody.directory.path().join("foreign");
    // The trap: no page of it is resident, and mincore would say that all are.
    file_with(&path, 10, &[]);
    insta::assert_snapshot!(nobody.run(&["pagecache", "show", "foreign"]), @r"
    exit: 1
    --- stdout
       size  pages  resident  bytes  share  where in the file     file
    41.0 kB     10   unknown      -      -                        foreign
    41.0 kB     10   unknown      -      -                        total of 1 file
    --- stderr
    note: unknown for 1 file: Linux shows it only to users who own the file or may write it
    hint: run as the file's owner or as root
    ");
    insta::assert_snapshot!(nobody.run(&["pagecache", "evict", "foreign"]), @r"
    exit: 1
    --- stdout
       size  pages before    after  stayed  file
    41.0 kB       unknown  unknown       -  foreign
    41.0 kB       unknown  unknown       -  total of 1 file
    --- stderr
    note: files marked unknown were evicted, but the result cannot be checked
    note: unknown for 1 file: Linux shows it only to users who own the file or may write it
    hint: run as the file's owner or as root
    ");

    // Whoever may write a file is told.
    std::fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    assert!(nobody.run(&["pagecache", "show", "foreign"]).starts_with("exit: 0\n"));
    // And so is the owner, even of a file that is read-only.
    std::os::unix::fs::chown(&path, Some(65534), Some(65534)).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    assert!(nobody.run(&["pagecache", "show", "foreign"]).starts_with("exit: 0\n"));
}

#[test]
fn what_may_not_be_read_is_named() {
    let Some(nobody) = Nobody::new() else { return };
    let tree = nobody.directory.path().join("tree");
    std::fs::create_dir_all(tree.join("closed")).unwrap();
    std::fs::write(tree.join("closed/hidden"), "x").unwrap();
    std::fs::write(tree.join("secret"), "x").unwrap();
    std::fs::set_permissions(tree.join("closed"), Permissions::from_mode(0o700)).unwrap();
    std::fs::set_permissions(tree.join("secret"), Permissions::from_mode(0o600)).unwrap();
    insta::assert_snapshot!(nobody.run(&["pagecache", "show", "tree"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the directory `tree/closed`: Permission denied (os error 13)
    error: cannot open `tree/secret`: Permission denied (os error 13)
    hint: this user lacks permission; root may have it
    ");
}
