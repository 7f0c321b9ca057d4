//! What the tests share: files on a real disk in a known cache state, and mounts that are undone.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use coldstart_sys::cachestat::cachestat;
use coldstart_sys::held_pages::HeldPages;
use coldstart_testing::attempt;
pub(crate) use coldstart_testing::{Mount, scratch, skip};
use rustix::fs::{Advice, fadvise};

/// A file of `pages` pages, written to disk, with exactly the pages of `resident` (first, number) in the page cache.
pub(crate) fn file_with(path: &Path, pages: u64, resident: &[(u64, u64)]) -> File {
    let file = File::options().create(true).truncate(true).read(true).write(true).open(path).unwrap();
    let megabyte = vec![0x5a; 1 << 20];
    let size = pages * 4096;
    for offset in (0..size).step_by(megabyte.len()) {
        let length = megabyte.len().min((size - offset) as usize);
        file.write_all_at(&megabyte[..length], offset).unwrap();
    }
    file.sync_all().unwrap();
    drop_pages(&file);
    read_pages(&file, resident);
    file
}

/// Whether so many of the pages that were brought in are still there. The kernel is free to take one back at any moment, and
/// was seen to on a machine with plenty of memory.
pub(crate) fn nearly_all(there: u64, brought: u64) -> bool {
    there <= brought && there * 100 >= brought * 99
}

/// Whether something is found in one of a few attempts: what nobody holds the kernel is free to take back before it is looked at, but
/// hardly each time.
pub(crate) fn comes_about(attempt: impl FnMut() -> bool) -> bool {
    std::iter::repeat_with(attempt).take(5).any(|found| found)
}

/// Keeps pages that are in memory there: a kernel that reclaims unused pages spares those that are mapped. They cannot be evicted
/// as long as the result is kept.
pub(crate) fn hold(file: &File, resident: &[(u64, u64)]) -> Vec<HeldPages> {
    let hold = |&(first, count): &(u64, u64)| HeldPages::hold(file, first * 4096, count as usize * 4096).unwrap();
    resident.iter().map(hold).collect()
}

/// Brings single pages in, without the kernel's readahead.
pub(crate) fn read_pages(file: &File, resident: &[(u64, u64)]) {
    fadvise(file, 0, None, Advice::Random).unwrap();
    for page in resident.iter().flat_map(|&(first, count)| first..first + count) {
        file.read_at(&mut [0; 4096], page * 4096).unwrap();
    }
    fadvise(file, 0, None, Advice::Normal).unwrap();
}

/// Drops an open file's pages, without the code under test. The kernel passes over folios that somebody else holds at that
/// moment, such as another test that drops the page cache; so it is asked again for a while. Some file systems keep pages.
pub(crate) fn drop_pages(file: &File) {
    for _ in 0..100 {
        fadvise(file, 0, None, Advice::DontNeed).unwrap();
        if cachestat(file, 0, i64::MAX as u64).map_or(true, |stat| stat.cached == 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command that has to succeed; the error is its stderr.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    attempt(Command::new(program).args(arguments))
}

/// What `fincore` (util-linux) says: resident pages of 4096 bytes.
pub(crate) fn fincore(paths: &[&Path]) -> Result<Vec<u64>, String> {
    let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
    let options = ["--bytes", "--noheadings", "--raw", "--output", "RES", "--"];
    let text = run("fincore", &[&options, names.as_slice()].concat())?;
    let bytes =
        text.lines().map(|line| line.trim().parse::<u64>().map_err(|error| format!("fincore: {line}: {error}")));
    bytes.map(|bytes| bytes.map(|bytes| bytes / 4096)).collect()
}
