//! `coldstart pagecache save` and `restore` as their users meet them. One test drops the page cache of the whole machine;
//! all others add to what is there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_sys::held_pages::HeldPages;
use rustix::fs::{Advice, fadvise};
use serde_json::Value;
use tempfile::TempDir;

/// Says why a test does nothing; where skipping is forbidden, fails.
fn skip(reason: &str) {
    assert!(std::env::var_os("COLDSTART_NO_SKIP").is_none_or(|value| value != "1"), "must not be skipped: {reason}");
    eprintln!("skipped: {reason}");
}

/// A directory on the disk that holds the build; /tmp may live in memory.
fn scratch() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs of pages: first page and number.
type Runs = Vec<(u64, u64)>;

/// A file of `pages` pages, written to disk, with exactly the pages of `resident` in the page cache, as long as the
/// result is kept: kernels that reclaim unused pages at once exist, and spare those that somebody has mapped.
fn file_with(path: &Path, pages: u64, resident: &[(u64, u64)]) -> Vec<HeldPages> {
    std::fs::write(path, vec![0x5a; pages as usize * 4096]).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    fadvise(&file, 0, None, Advice::Random).unwrap();
    let mut held = Vec::new();
    for &(first, count) in resident {
        (first..first + count).for_each(|page| assert_eq!(file.read_at(&mut [0; 4096], page * 4096).unwrap(), 4096));
        held.push(HeldPages::hold(&file, first * 4096, count as usize * 4096).unwrap());
    }
    held
}

fn evict(path: &Path) {
    fadvise(File::open(path).unwrap(), 0, None, Advice::DontNeed).unwrap();
}

/// Asks `mincore` through Python, without any code of ours.
const MINCORE: &str = r#"
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
size = os.path.getsize(sys.argv[1])
fd = os.open(sys.argv[1], os.O_RDONLY)
place = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
pages = ctypes.create_string_buffer((size + 4095) // 4096)
assert libc.mincore(place, size, pages) == 0
print("".join(str(page & 1) for page in pages.raw[: (size + 4095) // 4096]))
"#;

fn resident(path: &Path) -> Runs {
    let output = Command::new("python3").args(["-c", MINCORE]).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let pages = String::from_utf8(output.stdout).unwrap();
    let mut runs = Runs::new();
    for (page, _) in (0u64..).zip(pages.trim().chars()).filter(|(_, resident)| *resident == '1') {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == page => *count += 1,
            _ => runs.push((page, 1)),
        }
    }
    runs
}

/// The whole conversation with a command. What depends on the machine is taken out: whether block devices may be opened,
/// how deep the scratch directory lies.
fn conversation(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).env("NO_COLOR", "1").output().unwrap();
    let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
    let arguments = arguments.iter().skip_while(|argument| *argument != "pagecache").cloned().collect::<Vec<_>>();
    let stable = |text: &[u8]| {
        let lines = String::from_utf8_lossy(text).lines().filter_map(stable_line).collect::<Vec<_>>();
        lines.into_iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    format!(
        "$ coldstart {}\nexit: {}\n--- stdout\n{}--- stderr\n{}",
        arguments.join(" "),
        output.status.code().map_or("killed".to_owned(), |code| code.to_string()),
        stable(&output.stdout),
        stable(&output.stderr)
    )
}

fn stable_line(line: &str) -> Option<String> {
    if line.starts_with("note: metadata pages of") || line.starts_with("and ") {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["pages", "of", "block", "devices", ..] => Some("pages of block devices [N]".to_owned()),
        ["directories", ..] => Some("directories [N]".to_owned()),
        // Numbers of the line above may have widened the columns.
        ["pages", ..] | ["symbolic", ..] | ["asked", ..] => Some(words.join(" ")),
        ["with", _, "directories", rest @ ..] => Some(format!("with [N] directories {}", rest.join(" "))),
        _ => Some(line.to_owned()),
    }
}

fn coldstart(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).arg("pagecache").args(arguments);
    command
}

fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = coldstart(directory, arguments).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

/// Name, pages, and which of them are in memory.
type Pattern = (&'static str, u64, &'static [(u64, u64)]);

const PATTERNS: [Pattern; 4] = [
    ("every third", 10, &[(0, 1), (3, 1), (6, 1), (9, 1)]),
    ("half", 40, &[(0, 20)]),
    ("hot", 10, &[(0, 10)]),
    ("wide", 3000, &[(5, 2), (1000, 60), (2998, 2)]),
];

/// All pages of the patterns.
const PAGES: u64 = 4 + 20 + 10 + 64;

fn tree() -> (TempDir, Vec<HeldPages>) {
    let directory = scratch();
    let tree = directory.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    let mut held = Vec::new();
    for (name, pages, resident) in PATTERNS {
        held.extend(file_with(&tree.join(name), pages, resident));
    }
    file_with(&tree.join("cold"), 100, &[]);
    std::os::unix::fs::symlink("hot", tree.join("link")).unwrap();
    (directory, held)
}

/// Restores until every file has its pages, as Python sees them: a kernel that reclaims unused pages may be faster.
fn restored_exactly(directory: &Path, restore: &[&str]) -> Value {
    let pages = || PATTERNS.map(|(name, ..)| resident(&directory.join("tree").join(name)));
    for _ in 0..5 {
        let (_, restored) = json(directory, restore);
        if pages() == PATTERNS.map(|(_, _, runs)| runs.to_vec()) {
            return restored;
        }
    }
    panic!("{:?}", pages());
}

#[test]
fn a_tree_is_saved_and_added_again() {
    let (directory, held) = tree();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "state", "tree"])), @r"
    $ coldstart pagecache save state tree
    exit: 0
    --- stdout
    saved 98 pages (401 kB) of 4 files to `state`
    with [N] directories and 1 symbolic link on the way to them
    --- stderr
    ");
    drop(held);
    for (name, ..) in PATTERNS {
        evict(&directory.path().join("tree").join(name));
    }
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--add", "state"])), @r"
    $ coldstart pagecache restore --add state
    exit: 0
    --- stdout
    asked back missing extra
    pages of files 98 98 0 0
    pages of block devices [N]
    directories [N]
    symbolic links 1 1 0 -
    --- stderr
    ");
    restored_exactly(directory.path(), &["restore", "--add", "--json", "state"]);
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing but the tree and the state: {left:?}");
}

#[test]
fn what_is_gone_or_changed_is_named() {
    let (directory, _held) = tree();
    let tree = directory.path().join("tree");
    assert_eq!(json(directory.path(), &["save", "--json", "state", "tree"]).0, 0);
    std::fs::remove_file(tree.join("half")).unwrap();
    std::fs::write(tree.join("hot"), "other").unwrap();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--add", "state"]))
        .replace(&format!("{}/", tree.canonicalize().unwrap().display()), "[TREE]/"), @r"
    $ coldstart pagecache restore --add state
    exit: 1
    --- stdout
    asked back missing extra
    pages of files 98 68 30 0
    pages of block devices [N]
    directories [N]
    symbolic links 1 1 0 -

    missing
      20 pages of [TREE]/half: it is gone
      10 pages of [TREE]/hot: it has changed
    --- stderr
    ");
    let (code, restored) = json(directory.path(), &["restore", "--add", "--json", "state"]);
    assert_eq!((code, &restored["schema"]), (1, &Value::from("coldstart.pagecache.restore/1")));
    let reasons: Vec<_> = restored["missing"].as_array().unwrap().iter().map(|missing| &missing["reason"]).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.contains(&&Value::from("gone")) && reasons.contains(&&Value::from("changed")), "{restored}");
}

#[test]
fn a_dropped_cache_comes_back_page_by_page() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root may drop the page cache");
    }
    let (directory, held) = tree();
    let (code, saved) = json(directory.path(), &["save", "--json", "state", "tree"]);
    assert_eq!((code, &saved["pages"], &saved["files"]), (0, &Value::from(PAGES), &Value::from(4)), "{saved}");
    drop(held);
    // Must go: it was not saved.
    drop(file_with(&directory.path().join("tree/cold"), 100, &[(7, 3)]));
    let restored = restored_exactly(directory.path(), &["restore", "--json", "state"]);
    assert_eq!((&restored["dropped"], &restored["files"]["asked"]), (&Value::from(true), &Value::from(PAGES)));
    assert_eq!(restored["files"]["extra"], 0, "{restored}");
    assert_eq!(resident(&directory.path().join("tree/cold")), []);
    assert_eq!(restored["saved"]["this_boot"], true);
}

#[test]
fn nothing_saved_is_nothing_to_restore() {
    let directory = scratch();
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "state", "empty"])), @r"
    $ coldstart pagecache save state empty
    exit: 0
    --- stdout
    saved 0 pages (0 B) of 0 files to `state`
    with [N] directories and 0 symbolic links on the way to them
    --- stderr
    ");
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--add", "state"])), @r"
    $ coldstart pagecache restore --add state
    exit: 0
    --- stdout
    asked back missing extra
    pages of files 0 0 0 0
    pages of block devices [N]
    directories [N]
    symbolic links 0 0 0 -
    --- stderr
    note: the saved page cache holds no pages
    ");
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let (directory, _held) = tree();
    let path = directory.path();
    assert_eq!(json(path, &["save", "--json", "state", "tree"]).0, 0);
    let bytes = std::fs::read(path.join("state")).unwrap();
    let write = |bytes: &[u8]| std::fs::write(path.join("bad"), bytes).unwrap();
    let restore = || conversation(coldstart(path, &["restore", "--add", "bad"]));
    write(b"something else");
    insta::assert_snapshot!(restore(), @r#"
    $ coldstart pagecache restore --add bad
    exit: 2
    --- stdout
    --- stderr
    error: cannot use `bad` as a saved page cache: not a saved page cache: the first 8 bytes are not "coldpage"
    hint: `coldstart pagecache save FILE` writes one
    "#);
    write(&[&bytes[..8], &7u32.to_le_bytes(), &bytes[12..]].concat());
    insta::assert_snapshot!(restore(), @r"
    $ coldstart pagecache restore --add bad
    exit: 2
    --- stdout
    --- stderr
    error: cannot use `bad` as a saved page cache: it has version 7; this coldstart reads up to version 1
    hint: use a newer coldstart, or save the state again with this one
    ");
    write(&bytes[..200]);
    assert!(restore().contains("bytes long but is 200\nhint: save the state again"), "{}", restore());
    let mut damaged = bytes;
    damaged[300] ^= 1;
    write(&damaged);
    assert!(restore().contains("it is damaged: its checksum is"), "{}", restore());
    insta::assert_snapshot!(conversation(coldstart(path, &["restore", "none"])), @r"
    $ coldstart pagecache restore none
    exit: 2
    --- stdout
    --- stderr
    error: cannot read the saved page cache `none`: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(conversation(coldstart(path, &["save", "/dev/null", "tree"])), @r"
    $ coldstart pagecache save /dev/null tree
    exit: 2
    --- stdout
    --- stderr
    error: cannot write `/dev/null`: it is there and no regular file
    hint: FILE, the first argument, is what is written; trees to save come behind it
    ");
    insta::assert_snapshot!(conversation(coldstart(path, &["save", "new", "none"])), @r"
    $ coldstart pagecache save new none
    exit: 2
    --- stdout
    --- stderr
    error: cannot save what is cached of `none`: No such file or directory (os error 2)
    ");
    assert!(!path.join("new").exists());
}

#[test]
fn a_full_disk_leaves_no_half_file() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root may mount");
    }
    let directory = scratch();
    let small = directory.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let alternating: Runs = (0..4000).map(|page| (page * 2, 1)).collect();
    let _held = file_with(&directory.path().join("file"), 8000, &alternating);
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(&small).status();
    if !mounted.is_ok_and(|status| status.success()) {
        return skip("nothing can be mounted here");
    }
    let text = conversation(coldstart(directory.path(), &["save", "small/state", "file"]));
    let left = std::fs::read_dir(&small).unwrap().count();
    assert!(Command::new("umount").arg(&small).status().unwrap().success());
    assert!(text.contains("error: cannot write `small/state`: No space left on device (os error 28)"), "{text}");
    assert_eq!(left, 0);
}

#[test]
fn an_ordinary_user_saves_and_adds_own_files_and_drops_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become somebody else");
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    let program = path.join("coldstart");
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_coldstart")).arg(&program).status().unwrap().success());
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir_all(path.join("tree/closed")).unwrap();
    std::fs::set_permissions(path.join("tree/closed"), Permissions::from_mode(0o700)).unwrap();
    let mut held = Vec::new();
    for (name, mode, owner) in [("foreign", 0o644, 0), ("secret", 0o600, 0), ("own", 0o600, 65534)] {
        let file = path.join("tree").join(name);
        held.extend(file_with(&file, 8, &[(1, 2)]));
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&file, Some(owner), Some(owner)).unwrap();
    }
    if resident(&path.join("tree/own")) != [(1, 2)] {
        return skip("/tmp lives in memory");
    }
    let nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program).arg("pagecache");
        command.args(arguments).current_dir(path);
        conversation(command).replace(&path.canonicalize().unwrap().display().to_string(), "[HERE]")
    };
    insta::assert_snapshot!(nobody(&["save", "state", "tree"]), @r"
    $ coldstart pagecache save state tree
    exit: 0
    --- stdout
    saved 2 pages (8.2 kB) of 1 file to `state`
    with [N] directories and 0 symbolic links on the way to them
    --- stderr
    note: hidden from this user: 2 files, which may not be opened, or whose pages Linux shows only to the owner
    hint: run as root to see all
    note: cannot read the directory `[HERE]/tree/closed`: Permission denied (os error 13)
    ");
    insta::assert_snapshot!(nobody(&["restore", "state"]), @r"
    $ coldstart pagecache restore state
    exit: 2
    --- stdout
    --- stderr
    error: the page cache may not be dropped by this user
    hint: run as root, or add the saved pages to what is in memory now: `coldstart pagecache restore --add`
    ");
    drop(held);
    evict(&path.join("tree/own"));
    insta::assert_snapshot!(nobody(&["restore", "--add", "state"]), @r"
    $ coldstart pagecache restore --add state
    exit: 0
    --- stdout
    asked back missing extra
    pages of files 2 2 0 0
    pages of block devices [N]
    directories [N]
    symbolic links 0 0 0 -
    --- stderr
    note: when it was saved, the pages of 2 files could not be seen
    ");
}

#[test]
fn help_says_what_is_done() {
    let directory = scratch();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "--help"])), @r"
    $ coldstart pagecache save --help
    exit: 0
    --- stdout
    Save what the page cache holds, of the whole system or of trees

    Usage: coldstart pagecache save [OPTIONS] <FILE> [PATH]...

    Arguments:
      <FILE>
              File to write; one that is there is replaced once the new one is whole

      [PATH]...
              Files or directories to walk [default: every file system on storage, each once]

    Options:
          --color <WHEN>
              When to colour the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

      -x, --one-file-system
              Leave out what is mounted below the named directories

          --json
              Print one JSON object instead of a sentence

      -h, --help
              Print help (see a summary with '-h')

    Saved are the resident pages of files, the pages of block devices where the kernel lets us see them
    (file systems'
    metadata), and the directories and symbolic links on the way to those files. Without PATH, network
    file systems are
    left out, and so is what lives in memory. Deleted files that are still open cannot be reached by
    anybody.

    Linux keeps pages of other people's files secret: without root, they are counted as hidden.

    Exit codes: 0 saved; 2 something broke, and no file was written.

    Examples:
      coldstart pagecache save after-boot.pagecache
      coldstart pagecache save firefox.pagecache /usr/lib/firefox ~/.mozilla
    --- stderr
    ");
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--help"])), @r"
    $ coldstart pagecache restore --help
    exit: 0
    --- stdout
    Drop the page cache and bring a saved state back

    Usage: coldstart pagecache restore [OPTIONS] <FILE>

    Arguments:
      <FILE>
              File that `pagecache save` wrote

    Options:
          --add
              Drop nothing: add the saved pages to what is in memory; needs no root

          --color <WHEN>
              When to colour the output

              Possible values:
              - auto:   On a terminal, unless NO_COLOR is set
              - always: Always
              - never:  Never
              
              [default: auto]

          --json
              Print one JSON object instead of a table

      -h, --help
              Print help (see a summary with '-h')

    Everything is dropped from the page cache, for the whole machine, and exactly the saved pages are
    read again. No data is
    lost. Files that are gone or have changed are left out and named. Pages that running programs have
    mapped cannot be
    dropped; where they were not saved, they count as extra.

    Exit codes: 0 at least 99 % of the pages are back; 1 fewer are, or something is gone or has changed;
    2 something broke.

    Examples:
      sudo coldstart pagecache restore after-boot.pagecache
      coldstart pagecache restore --add firefox.pagecache
    --- stderr
    ");
}
