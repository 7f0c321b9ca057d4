//! Programs that run with their owner's rights, started by somebody else: the row of the table, and what is refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::scene::{PRINTED, Tree, names, permit, plain, skip, succeed};
use super::table::{MODES, holds};

/// A folder in which set-user-ID counts, and which others than root cannot write to.
fn place() -> Option<TempDir> {
    if !rustix::process::geteuid().is_root() {
        skip("only root makes programs that others run as root");
        return None;
    }
    for folder in ["/opt", "/usr/local/lib", "/var/lib"] {
        let options = Command::new("findmnt").args(["-no", "OPTIONS", "-T", folder]).output();
        let options = options.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let Ok(metadata) = std::fs::metadata(folder) else { continue };
        if options.contains("nosuid") || metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
            continue;
        }
        if let Ok(place) = TempDir::with_prefix_in("coldstart-test", folder) {
            permit(place.path(), 0o755);
            return Some(place);
        }
    }
    skip("no folder in which set-user-ID counts");
    None
}

/// A tree whose program runs as root, and searches by absolute paths, as such a program must.
fn tree() -> Option<Tree> {
    let place = place()?;
    let root = place.path().canonicalize().unwrap().join("tree");
    let search: Vec<String> =
        ["zero", "one", "two", "three"].iter().map(|folder| root.join(folder).display().to_string()).collect();
    let tree = Tree::built(place, &search.join(":"), &[]);
    permit(&tree.app(), 0o4755);
    Some(tree)
}

/// What it prints for an ordinary user, and what it tried in vain.
fn started(tree: &Tree) -> (String, usize) {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(tree.app());
    let printed = succeed(&mut command);
    // Root may watch: strace -u runs it as that user, with the rights that it gains.
    let mut strace = Command::new("strace");
    strace.args(["-u", "nobody", "-e", "trace=openat,geteuid", "-o", "/dev/stderr"]).arg(tree.app());
    let calls = String::from_utf8_lossy(&strace.output().unwrap().stderr).into_owned();
    let failed =
        calls.lines().filter(|line| line.contains("ENOENT") && line.contains(".so") && !line.contains("preload"));
    (printed, failed.count())
}

#[test]
fn set_user_id_program_started_by_an_ordinary_user() {
    let Some(tree) = tree() else { return };
    let unbound = started(&tree);
    assert!(unbound.0 == PRINTED && unbound.1 > 0, "{unbound:?}");
    let original = super::scene::bytes(&tree.app());
    let seen = MODES.map(|mode| {
        let bind = ["bind", "--in-place", "bin/app", "--mode", mode];
        let (exit, report) = tree.json(&[&bind[..], &["--json"]].concat());
        let refusal = report["programs"][0]["refusal"].clone();
        assert_eq!(exit, 1, "{report}");
        if refusal["code"] == "secure-mode" {
            // It does not help to allow it.
            assert_eq!(tree.said(&[&bind[..], &["--allow-setuid"]].concat()).0, 1);
            return "refused".to_owned();
        }
        assert_eq!(refusal["code"], "secure", "{report}");
        assert!(refusal["hint"].as_str().unwrap().contains("--allow-setuid"), "{report}");
        tree.bind(&["--mode", mode, "--allow-setuid"]);
        let mode_of = std::fs::metadata(tree.app()).unwrap().mode();
        assert_eq!(mode_of & 0o7777, 0o4755);
        assert_eq!(started(&tree), (PRINTED.to_owned(), 0), "{mode}");
        assert_eq!(tree.said(&["verify", "bin/app"]).0, 0, "{mode}: {:?}", tree.said(&["verify", "bin/app"]));
        assert_eq!(tree.said(&["status", "bin/app"]).0, 0, "{mode}: {:?}", tree.said(&["status", "bin/app"]));
        let (exit, _, said) = tree.said(&["unbind", "--in-place", "bin/app"]);
        assert_eq!(exit, 0, "{said}");
        assert!(super::scene::bytes(&tree.app()) == original && names(&tree.at("bin")) == ["app"]);
        "with --allow-setuid".to_owned()
    });
    holds("set-user-ID program started by an ordinary user", [&seen[0], &seen[1], &seen[2], &seen[3]]);
}

#[test]
fn links_that_others_can_change_are_refused() {
    let Some(tree) = tree() else { return };
    std::fs::create_dir(tree.at("open")).unwrap();
    permit(&tree.at("open"), 0o777);
    let bind = ["bind", "--in-place", "bin/app", "--allow-setuid", "--farm", "open/farm"];
    let said = tree.refuses("farm-not-safe", &bind);
    assert!(said.contains("/tree/open`"), "{said}");
    assert!(
        tree.refuses("secure-mode", &["bind", "--in-place", "bin/app", "--allow-setuid", "--farm-text", "origin"])
            .contains("$ORIGIN")
    );
}

#[test]
fn an_ordinary_user_without_rights_changes_nothing() {
    let Some(tree) = tree() else { return };
    permit(&tree.app(), 0o755);
    let before = super::scene::files_below(&tree.root);
    let coldstart = tree.root.join("coldstart");
    coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), &coldstart);
    permit(&coldstart, 0o755);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).current_dir(&tree.root);
    command.arg(&coldstart).args(["bind", "--in-place", "bin/app"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("ermission denied") && said.contains("hint: "), "{said}");
    std::fs::remove_file(&coldstart).unwrap();
    assert!(super::scene::files_below(&tree.root) == before);
    // Into a folder of one's own it can be bound all the same.
    let own = TempDir::new().unwrap();
    permit(own.path(), 0o777);
    let (exit, _, stderr) = said_as_nobody(own.path(), &tree.app());
    assert_eq!(exit, 0, "{stderr}");
    assert_eq!(succeed(&mut plain(&own.path().join("app"))), PRINTED);
}

fn said_as_nobody(directory: &Path, program: &Path) -> (i32, String, String) {
    let coldstart = directory.join("coldstart");
    coldstart_testing::copy_program(env!("CARGO_BIN_EXE_coldstart"), &coldstart);
    permit(&coldstart, 0o755);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).current_dir(directory).arg(coldstart);
    let output = command.args(["bind", "-o", "app"]).arg(program).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}
