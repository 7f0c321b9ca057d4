//! What is not done, and what is said then.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use serde_json::Value;

use super::scene::{
    POINTERS, compile, conversation, done, files_below, is_packed, json, library, said, scratch, succeed,
};

#[test]
fn where_the_result_goes_must_be_said() {
    let directory = scratch();
    library(&directory.path().join("a.so"), 10);
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so"]), @r"
    $ coldstart pack a.so
    exit: two
    --- stdout
    --- stderr
    error: no output given
    hint: `pack` does not rewrite in place by default: use -o OUT or --in-place; --dry-run only prints the plan
    ");
    insta::assert_snapshot!(conversation(directory.path(), &["unpack", "a.so"]), @r"
    $ coldstart unpack a.so
    exit: two
    --- stdout
    --- stderr
    error: no output given
    hint: `unpack` does not rewrite in place by default: use -o OUT or --in-place
    ");
    for arguments in [
        &["pack", "a.so", "-o", "b.so", "--in-place"][..],
        &["pack", "a.so", "-o", "b.so", "--dry-run"],
        &["pack", "a.so", "--in-place", "--dry-run"],
        &["pack", "a.so", "-o", "b.so", "--keep-original", "c.so"],
        &["pack", "a.so", "--in-place", "--min-libc", "newlib-4"],
        &["pack"],
        &["unpack", "a.so", "-o", "b.so", "--in-place"],
        &["verify"],
    ] {
        assert_eq!(said(directory.path(), arguments).0, 2, "{arguments:?}");
    }
    assert_eq!(files_below(directory.path()), ["a.so"]);
}

#[test]
fn what_cannot_be_packed_is_refused_with_the_reason() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    compile(&at("static"), "int main(void) { return 0; }", &["-static"]);
    compile(&at("object.o"), "int x;", &["-c"]);
    std::fs::write(at("text"), "GROUP ( libfoo.so )\n").unwrap();
    std::fs::write(at("empty"), "").unwrap();
    let set_id = library(&at("setuid.so"), POINTERS);
    std::fs::set_permissions(&set_id, Permissions::from_mode(0o4755)).unwrap();
    library(&at("old.so"), POINTERS);
    for (file, code) in [
        ("static", None),
        ("object.o", None),
        ("text", Some("unreadable")),
        ("empty", Some("unreadable")),
        ("setuid.so", Some("set-id")),
    ] {
        let (exit, report) = json(directory.path(), &["pack", file, "-o", "out.so", "--json"]);
        let found = &report["files"][0];
        assert_eq!((exit, found["outcome"].as_str()), (1, Some("refused")), "{found}");
        assert!(code.is_none_or(|code| found["refusal"]["code"] == code), "{found}");
        let (exit, stdout, stderr) = said(directory.path(), &["pack", file, "-o", "out.so"]);
        assert_eq!((exit, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.starts_with(&format!("error: cannot pack `{file}`: ")), "{stderr}");
        assert_eq!(said(directory.path(), &["pack", file, "--in-place"]).0, 1);
    }
    let (exit, report) = json(directory.path(), &["pack", "old.so", "--dry-run", "--min-libc", "2.35", "--json"]);
    assert_eq!((exit, &report["files"][0]["refusal"]["code"]), (1, &Value::from("loader-too-old")));
    assert!(!at("out.so").exists());
    done(directory.path(), &["pack", "setuid.so", "-o", "out.so", "--allow-setuid"]);
    assert_eq!(at("out.so").metadata().unwrap().mode() & 0o7777, 0o4755);
}

#[test]
fn what_cannot_be_read_or_written_is_an_error() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    library(&at("a.so"), POINTERS);
    succeed(Command::new("mkfifo").arg(at("pipe")));
    std::fs::create_dir(at("folder")).unwrap();
    symlink("a.so", at("link.so")).unwrap();
    for (arguments, expected) in [
        (&["pack", "missing.so", "-o", "b.so"][..], "cannot open `missing.so`"),
        (&["pack", "pipe", "-o", "b.so"], "cannot open `pipe`: it is a FIFO, not a regular file"),
        (&["pack", "a.so", "-o", "a.so"], "the result would replace its original `a.so`"),
        (&["pack", "a.so", "-o", "folder/../a.so"], "the result would replace its original `a.so`"),
        (&["pack", "a.so", "-o", "link.so"], "the result would replace its original `a.so`"),
        (&["pack", "a.so", "-o", "pipe"], "cannot write `pipe`: it is not a regular file"),
        (&["pack", "a.so", "-o", &format!("{}/coldstart.so", coldstart_host::process::ALL)], "/proc"),
        (&["pack", "a.so", "-o", "no/such/folder/b.so"], "no/such/folder"),
        (&["pack", "a.so", "folder", "-o", "link.so"], "`link.so` is not a directory"),
        (&["pack", "folder", "-o", "folder"], "the output directory `folder` is also an input"),
        (&["pack", "a.so", "./a.so", "-o", "folder"], "would both be `folder/a.so`"),
        (&["verify", "missing.so"], "cannot read `missing.so`"),
        (&["verify", "a.so", "--against", "pipe"], "cannot read `pipe`"),
        (&["unpack", "missing.so", "--in-place"], "cannot open `missing.so`"),
    ] {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert!(
            code == 2 && stdout.is_empty() && stderr.starts_with("error: "),
            "{arguments:?}: {code} {stdout}{stderr}"
        );
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
    assert_eq!(files_below(directory.path()), ["a.so", "link.so", "pipe"]);
    done(directory.path(), &["pack", "a.so", "-o", "folder"]);
    assert!(is_packed(&at("folder/a.so")));
}

#[test]
fn names_are_shown_without_doing_harm() {
    let directory = scratch();
    let name = "a\u{1b}[31m\nb.so";
    std::fs::rename(library(&directory.path().join("a.so"), POINTERS), directory.path().join(name)).unwrap();
    for arguments in
        [&["pack", name, "-o", "out.so"][..], &["pack", name, "-o", name], &["pack", "x\u{1b}[31m", "-o", "c"]]
    {
        let (_, stdout, stderr) = said(directory.path(), arguments);
        assert!(!(stdout + &stderr).contains('\u{1b}'), "{arguments:?}");
    }
}
