//! Disks without room.

use std::process::Command;

use super::scene::{PRINTED, Tree, copy, files_below, said, scratch, skip, succeed};

#[test]
fn a_full_disk_leaves_what_was_there() {
    let tree = Tree::new();
    let scratch = scratch();
    let disk = scratch.path().canonicalize().unwrap().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(&disk);
    if !mount.output().is_ok_and(|output| output.status.success()) {
        return skip("nothing can be mounted here");
    }
    copy(&tree.root, &disk);
    let root = disk.join("tree");
    // Fill it, but for ever more pages, until it is enough.
    let mut outcomes = Vec::new();
    for pages in 0..40 {
        let _ = std::fs::remove_file(disk.join("filler"));
        let free = rustix::fs::statvfs(&disk).unwrap().f_bfree;
        std::fs::write(disk.join("filler"), vec![1; 4096 * (free.saturating_sub(pages)) as usize]).unwrap();
        let before = files_below(&root);
        let (exit, stdout, stderr) = said(&root, &["bind", "--in-place", "bin/app"]);
        if exit == 0 {
            outcomes.push((0, true, stdout));
            break;
        }
        outcomes.push((exit, files_below(&root) == before, stderr));
    }
    let printed = Command::new(root.join("bin/app")).output().unwrap();
    let verified = said(&root, &["verify", "bin/app"]);
    succeed(Command::new("umount").arg(&disk));
    let (last, failures) = outcomes.split_last().unwrap();
    assert_eq!(last.0, 0, "{last:?}");
    assert!(!failures.is_empty());
    for (exit, unchanged, said) in failures {
        assert!(*exit == 2 && *unchanged && said.contains("o space") && said.contains("hint: "), "{said}");
    }
    assert_eq!(String::from_utf8_lossy(&printed.stdout), PRINTED);
    assert_eq!(verified.0, 0, "{verified:?}");
}
