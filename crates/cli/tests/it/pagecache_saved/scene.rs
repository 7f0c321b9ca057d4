//! Trees with known pages in memory, what Python sees of them, and conversations about them.

use std::path::Path;
use std::process::{Command, Stdio};

use coldstart_sys::held_pages::HeldPages;
use coldstart_testing::Turn;
pub(crate) use coldstart_testing::{scratch, skip};
use serde_json::Value;
use tempfile::TempDir;

use crate::cached::file_with;

/// One test drops the page cache of the whole machine. Tests that count pages do not run beside it.
pub(crate) fn undisturbed() -> Turn {
    Turn::shared("page-cache")
}

pub(crate) fn alone() -> Turn {
    Turn::alone("page-cache")
}

/// Runs of pages: first page and number.
pub(crate) type Runs = Vec<(u64, u64)>;

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

pub(crate) fn resident(path: &Path) -> Runs {
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
pub(crate) fn conversation(mut command: Command) -> String {
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
    let is_of_this_machine = line.starts_with("note: metadata pages of") || line.starts_with("and ");
    // Some kernels take unused pages back at once (DAMON), and the command reads them again.
    if is_of_this_machine || line.contains("were evicted again before the check") {
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

pub(crate) fn coldstart(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).arg("pagecache").args(arguments);
    command
}

pub(crate) fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = coldstart(directory, arguments).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

/// Name, pages, and which of them are in memory.
pub(crate) type Pattern = (&'static str, u64, &'static [(u64, u64)]);

pub(crate) const PATTERNS: [Pattern; 4] = [
    ("every third", 10, &[(0, 1), (3, 1), (6, 1), (9, 1)]),
    ("half", 40, &[(0, 20)]),
    ("hot", 10, &[(0, 10)]),
    ("wide", 3000, &[(5, 2), (1000, 60), (2998, 2)]),
];

/// All pages of the patterns.
pub(crate) const PAGES: u64 = 4 + 20 + 10 + 64;

pub(crate) fn tree() -> (TempDir, Vec<HeldPages>) {
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
pub(crate) fn restored_exactly(directory: &Path, restore: &[&str]) -> Value {
    let pages = || PATTERNS.map(|(name, ..)| resident(&directory.join("tree").join(name)));
    for _ in 0..5 {
        let (_, restored) = json(directory, restore);
        if pages() == PATTERNS.map(|(_, _, runs)| runs.to_vec()) {
            return restored;
        }
    }
    panic!("{:?}", pages());
}
