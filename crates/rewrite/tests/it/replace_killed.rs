//! Writers that are killed at any instant: the old or the new file stands there, whole.
//!
//! The test program is started anew as the writer, hundreds of times, and killed.

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use coldstart_output::remove_leftovers;
use coldstart_rewrite::Target;

use crate::replace_scene::{in_memory, is_root, names, replace, run, scratch, skip, stat};

/// The file that this process, started anew by a test, is to replace until it is killed.
const PATH: &str = "COLDSTART_TEST_REPLACE_FOREVER";
/// The file's size in bytes.
const SIZE: &str = "COLDSTART_TEST_REPLACE_SIZE";

/// The two contents that follow each other. They differ in every byte, so that a mixture is neither.
fn contents(size: usize) -> [Vec<u8>; 2] {
    let content: Vec<u8> = (0..size).map(|number| (number % 251) as u8).collect();
    let other = content.iter().map(|byte| !byte).collect();
    [content, other]
}

/// Not a test of its own: what the other tests start, and kill.
#[test]
fn replace_forever() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let size = std::env::var(SIZE).unwrap().parse().unwrap();
    let contents = contents(size);
    println!("ready");
    for content in contents.iter().cycle() {
        replace(&path, content, &Target::InPlace, None).unwrap();
    }
}

/// How a writer is started.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// As it is.
    Plain,
    /// Where nothing is mounted on `/proc`, without which a file that has no name cannot get one.
    WithoutProc,
}

/// Starts and kills writers after up to `longest`; checks each time. Returns how many left a name behind.
fn kill_writers(directory: &Path, size: usize, kills: usize, longest: Duration, way: Way) -> usize {
    let path = directory.join("library");
    let contents = contents(size);
    std::fs::write(&path, &contents[0]).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    let belongings = stat(&path, "%a %u:%g %y");
    let hashes = contents.each_ref().map(|content| blake3::hash(content));
    let mut random = Random::new();
    let (mut left, mut seen) = (0, [0; 2]);
    for _ in 0..kills {
        let mut writer = command(way).env(PATH, &path).env(SIZE, size.to_string()).spawn().unwrap();
        let mut output = BufReader::new(writer.stdout.take().unwrap()).lines();
        assert!(output.any(|line| line.unwrap().contains("ready")), "the writer did not begin");
        std::thread::sleep(longest.mul_f64(random.fraction()));
        assert!(writer.try_wait().unwrap().is_none(), "the writer ended by itself");
        writer.kill().unwrap();
        writer.wait().unwrap();

        let hash = blake3::hash(&std::fs::read(&path).unwrap());
        let found = hashes.iter().position(|known| *known == hash);
        seen[found.expect("neither the old nor the new content")] += 1;
        assert_eq!(stat(&path, "%a %u:%g %y"), belongings);
        let before = names(directory);
        assert!(before.len() <= 2, "{before:?}");
        left += before.len() - 1;
        remove_leftovers(directory).unwrap();
        remove_unmarked(directory);
        assert_eq!(names(directory), ["library"]);
    }
    println!("{kills} kills: {left} left a name behind; contents {seen:?}");
    left
}

/// Removes what a writer leaves if the kill hits between the making of a name and the mark on it: an empty file, which nobody
/// may remove, because without a mark it may be a user's. Anything with content must carry the mark, and be gone already.
fn remove_unmarked(directory: &Path) {
    for name in names(directory).iter().filter(|name| *name != "library") {
        let path = directory.join(name);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "{name} has content and was not cleared away");
        std::fs::remove_file(path).unwrap();
    }
}

fn command(way: Way) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = match way {
        Way::Plain => Command::new(this),
        Way::WithoutProc => {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-c", r#"mount -t tmpfs tmpfs /proc && exec "$@""#, "sh"]).arg(this);
            command
        }
    };
    command.args(["--exact", "replace_killed::replace_forever", "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Random enough for moments (xorshift, Marsaglia 2003), other ones each time.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1;
        println!("seed {seed}");
        Self(seed)
    }

    /// Between 0 and 1.
    fn fraction(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn a_large_file_on_disk_stays_whole() {
    kill_writers(scratch().path(), 40_000_000, 60, Duration::from_millis(400), Way::Plain);
}

/// Without a disk to wait for, more kills hit the instant between name and rename.
#[test]
fn a_small_file_in_memory_stays_whole() {
    kill_writers(in_memory().path(), 5000, 300, Duration::from_millis(3), Way::Plain);
}

#[test]
fn with_temporary_names_files_stay_whole_and_the_names_go_away() {
    if !is_root() {
        return;
    }
    if let Err(reason) = run("unshare", &["--mount", "sh", "-c", "mount -t tmpfs tmpfs /proc"]) {
        return skip(&reason);
    }
    let left = kill_writers(in_memory().path(), 40_000_000, 60, Duration::from_millis(100), Way::WithoutProc);
    assert!(left > 0, "not one of 60 kills hit the time when the name is seen: was the other way taken?");
}
