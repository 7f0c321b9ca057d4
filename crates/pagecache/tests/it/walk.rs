//! Walking: each file once, nothing that is no file, nothing behind a link, nothing of another file system if so asked.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{Walk, WalkOptions, WalkSkips};

use crate::common::{Mount, scratch, skip};

fn walk(roots: &[&Path], options: WalkOptions) -> (Vec<PathBuf>, WalkSkips) {
    let mut walk = Walk::new(roots.iter().map(|root| root.to_path_buf()), options);
    let found = walk.by_ref().map(|found| found.unwrap().path).collect();
    (found, walk.skips())
}

#[test]
fn each_file_once_and_links_only_where_named() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    std::fs::create_dir_all(path("tree/sub")).unwrap();
    std::fs::write(path("tree/b"), "b").unwrap();
    std::fs::write(path("tree/sub/a"), "a").unwrap();
    std::fs::write(path("outside"), "o").unwrap();
    std::fs::hard_link(path("tree/b"), path("tree/sub/b again")).unwrap();
    symlink("../outside", path("tree/link")).unwrap();
    symlink("..", path("tree/sub/loop")).unwrap();
    symlink("tree", path("named link")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, path("tree/pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();

    let (found, skips) = walk(&[&path("tree")], WalkOptions::default());
    assert_eq!(found, [path("tree/b"), path("tree/sub/a")]);
    assert_eq!(skips, WalkSkips { seen_before: 1, symbolic_links: 2, special_files: 1, ..WalkSkips::default() });

    let (found, _) = walk(&[&path("named link")], WalkOptions::default());
    assert_eq!(found, [path("named link/b"), path("named link/sub/a")]);

    let (found, skips) =
        walk(&[&path("tree/sub"), &path("tree"), &path("tree/link"), &path("tree/b")], WalkOptions::default());
    assert_eq!(found, [path("tree/sub/a"), path("tree/sub/b again"), path("tree/link")]);
    assert_eq!(skips.seen_before, 4, "a and b again in the tree, b there, b by name");
}

#[test]
fn what_the_user_named_must_be_there_and_what_vanishes_is_counted() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    std::fs::create_dir(path("tree")).unwrap();
    for name in ["tree/1", "tree/2", "tree/3"] {
        std::fs::write(path(name), "x").unwrap();
    }
    let mut missing = Walk::new([path("nope")], WalkOptions::default());
    assert!(missing.next().unwrap().unwrap_err().is_gone());
    assert!(missing.next().is_none());

    let mut walk = Walk::new([path("tree")], WalkOptions::default());
    let first = walk.next().unwrap().unwrap();
    std::fs::remove_file(path("tree/2")).unwrap();
    std::fs::remove_file(path("tree/1")).unwrap();
    assert!(first.has_vanished(&first.open().unwrap_err()), "vanished between the walk and the opening");
    let rest: Vec<_> = walk.by_ref().map(|found| found.unwrap().path).collect();
    assert_eq!(rest, [path("tree/3")]);
    assert_eq!(walk.skips().vanished, 1);

    // A link that takes a file's place is not followed.
    let mut walk = Walk::new([path("tree")], WalkOptions::default());
    let found = walk.next().unwrap().unwrap();
    std::fs::remove_file(path("tree/3")).unwrap();
    symlink("/etc/passwd", path("tree/3")).unwrap();
    let replaced = found.open().unwrap_err();
    assert!(
        matches!(
            replaced,
            coldstart_pagecache::Error::NotAFile { kind: coldstart_sys::named_file::InodeKind::SymbolicLink, .. }
        ),
        "{replaced:?}"
    );
    assert!(found.has_vanished(&replaced));
}

#[test]
fn kernel_state_is_not_entered() {
    let (found, skips) = walk(&[Path::new("/proc")], WalkOptions::default());
    assert_eq!((found.len(), skips.kernel_state), (0, 1));
}

#[test]
fn other_file_systems_are_left_out_when_asked() {
    let directory = scratch();
    let inner = directory.path().join("inner");
    let _mount = match Mount::new(&inner, &["-t", "tmpfs", "coldstart-test"]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    std::fs::write(inner.join("inside"), "x").unwrap();
    std::fs::write(directory.path().join("outside"), "x").unwrap();
    let (all, _) = walk(&[directory.path()], WalkOptions::default());
    assert_eq!(all, [inner.join("inside"), directory.path().join("outside")]);
    let (one, _) = walk(&[directory.path()], WalkOptions { one_file_system: true });
    assert_eq!(one, [directory.path().join("outside")]);
}

#[test]
fn a_tree_of_kernel_state_does_not_end_the_walk() {
    let directory = scratch();
    let state = directory.path().join("in the middle");
    let _mount = match Mount::new(&state, &["-t", "proc", "coldstart-test"]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    for name in ["a", "z"] {
        std::fs::write(directory.path().join(name), "x").unwrap();
    }
    for one_file_system in [false, true] {
        let (found, skips) = walk(&[directory.path()], WalkOptions { one_file_system });
        assert_eq!(found, ["a", "z"].map(|name| directory.path().join(name)), "one file system: {one_file_system}");
        assert_eq!(skips.kernel_state, 1);
    }
}
