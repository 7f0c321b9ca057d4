//! Files that are no saved page cache, and places where none can be written.

use std::process::Command;

use super::scene::{Runs, coldstart, conversation, json, scratch, skip, tree, undisturbed};
use crate::cached::file_with;

#[test]
fn files_that_cannot_be_used_are_refused() {
    let _undisturbed = undisturbed();
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
    hint: create one with `coldstart pagecache save FILE`
    "#);
    write(&[&bytes[..8], &7u32.to_le_bytes(), &bytes[12..]].concat());
    insta::assert_snapshot!(restore(), @r"
    $ coldstart pagecache restore --add bad
    exit: 2
    --- stdout
    --- stderr
    error: cannot use `bad` as a saved page cache: it has format version 7; this coldstart reads versions up to 1
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
    error: cannot write `/dev/null`: it is not a regular file
    hint: the first argument, FILE, is the output; name the trees to save after it
    hint: name a regular file; this one was not changed
    ");
    insta::assert_snapshot!(conversation(coldstart(path, &["save", "new", "none"])), @r"
    $ coldstart pagecache save new none
    exit: 2
    --- stdout
    --- stderr
    error: cannot save the cached pages of `none`: No such file or directory (os error 2)
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
