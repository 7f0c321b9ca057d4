//! Killed at any moment: the old program or the new one, whole, with whole links; nothing stays behind for good.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::scene::{PRINTED, Tree, bytes, names, plain, seen};

#[test]
fn killed_at_any_moment_old_or_new_stands_there_whole() {
    let tree = Tree::new();
    let old = bytes(&tree.app());
    let begun = std::time::Instant::now();
    tree.bind(&[]);
    let took = begun.elapsed();
    let new = bytes(&tree.app());
    tree.done(&["unbind", "--in-place", "bin/app"]);
    let (mut olds, mut news) = (0, 0);
    for number in 0..100_u32 {
        // Moments spread over the whole run; forth and back in turn.
        let arguments = if bytes(&tree.app()) == old {
            ["bind", "--in-place", "bin/app"]
        } else {
            ["unbind", "--in-place", "bin/app"]
        };
        let mut child = Command::new(env!("CARGO_BIN_EXE_coldstart"))
            .args(arguments)
            .current_dir(&tree.root)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_nanos((took.as_nanos() as u64 / 83).saturating_mul(u64::from(number % 100))));
        let _ = child.kill();
        child.wait().unwrap();
        let now = bytes(&tree.app());
        assert!(now == old || now == new, "number {number}: neither the old nor the new program");
        if now == old {
            olds += 1
        } else {
            news += 1
        }
        if now == new {
            assert!(is_whole(&tree.at("bin/.app.libs")), "number {number}: a bound program without its links");
        }
        let start = seen(&mut plain(&tree.app()));
        assert_eq!(start.printed, PRINTED, "number {number}: {}", start.said);
    }
    println!("{olds} times the old program, {news} times the new one");
    // The next run cleans up; 1 where nothing is left to be done.
    let (exit, _, stderr) = tree.said(&["unbind", "--in-place", "bin/app"]);
    assert!(exit < 2, "{stderr}");
    remove_unmarked(&tree.at("bin"));
    assert_eq!(names(&tree.at("bin")), ["app"]);
    tree.bind(&[]);
    remove_unmarked(&tree.at("bin"));
    assert_eq!(names(&tree.at("bin")), [".app.libs", "app"]);
    tree.done(&["verify", "bin/app"]);
    tree.done(&["unbind", "--in-place", "bin/app"]);
    assert_eq!(names(&tree.at("bin")), ["app"]);
    assert!(bytes(&tree.app()) == old);
}

/// Removes what a kill leaves between the making of a directory and its marker, or between the marker's removal and the
/// directory's: nobody may remove it, because without a marker it may be a user's. Nothing is in it.
fn remove_unmarked(directory: &Path) {
    for name in names(directory).iter().filter(|name| name.starts_with("..app.libs.coldstart-links.")) {
        let left = directory.join(name);
        let marker = left.join(".coldstart-farm");
        if marker.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            std::fs::remove_file(marker).unwrap();
        }
        // Fails unless it is empty.
        std::fs::remove_dir(left).unwrap();
    }
}

/// Whether all links are there and lead to files.
fn is_whole(farm: &Path) -> bool {
    ["libfirst.so", "libsecond.so", "libthird.so", "libc.so.6"].iter().all(|name| farm.join(name).exists())
        && farm.join(".coldstart-farm").exists()
}
