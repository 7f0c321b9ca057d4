//! What a user without any rights can do.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

use super::scene::{conversation, resident, skip, undisturbed};
use crate::cached::file_with;
use crate::cold::make_cold;

#[test]
fn an_ordinary_user_saves_and_adds_own_files_and_drops_nothing() {
    let _undisturbed = undisturbed();
    if !rustix::process::geteuid().is_root() {
        return skip("only root can become somebody else");
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path();
    std::fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    let program = path.join("coldstart");
    coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), &program);
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
    note: hidden from this user: 2 files that cannot be opened, or have pages that Linux shows only to the owner
    hint: run as root to see all
    note: cannot read the directory `[HERE]/tree/closed`: Permission denied (os error 13)
    ");
    insta::assert_snapshot!(nobody(&["restore", "state"]), @r"
    $ coldstart pagecache restore state
    exit: 2
    --- stdout
    --- stderr
    error: this user may not drop the page cache
    hint: run as root, or add the saved pages to the current ones: `coldstart pagecache restore --add`
    ");
    drop(held);
    make_cold(&path.join("tree/own"));
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
    note: the pages of 2 files were hidden when it was saved
    ");
}
