//! `verify` and `unpack` on files that do not fit.

use std::process::Command;

use super::scene::{POINTERS, bytes, done, json, library, said, scratch, succeed};

#[test]
fn what_differs_is_said() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    library(&directory.path().join("other.so"), POINTERS + 1);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    let (code, stdout, stderr) = said(directory.path(), &["verify", "b.so", "--against", "other.so"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    assert!(stdout.starts_with("`b.so` is not equivalent to `other.so` for a loader"), "{stdout}");
    let (code, report) = json(directory.path(), &["verify", "b.so", "--against", "other.so", "--json"]);
    assert_eq!((code, &report["same"]), (1, &false.into()));
    assert!(report["difference"]["what"].is_string(), "{report}");
    let (code, _, stderr) = said(directory.path(), &["verify", "a.so"]);
    assert!(code == 1 && stderr.contains("--against FILE"), "{stderr}");
}

#[test]
fn what_was_changed_after_packing_does_not_come_back() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    succeed(Command::new("strip").arg(directory.path().join("b.so")));
    let stripped = bytes(&directory.path().join("b.so"));
    for arguments in
        [&["unpack", "b.so", "--in-place"][..], &["unpack", "b.so", "-o", "c.so"], &["unpack", "a.so", "-o", "c.so"]]
    {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.starts_with("error: cannot unpack `"), "{stderr}");
    }
    assert_eq!(bytes(&directory.path().join("b.so")), stripped);
    assert!(!directory.path().join("c.so").exists());
    succeed(
        Command::new("gcc")
            .args(["-shared", "-o"])
            .arg(directory.path().join("no-note.so"))
            .arg("-xc")
            .arg("/dev/null"),
    );
    assert_eq!(said(directory.path(), &["unpack", "no-note.so", "--in-place"]).0, 1);
}

#[test]
fn without_a_note_nothing_comes_back() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    let text = done(directory.path(), &["pack", "a.so", "-o", "b.so", "--no-undo"]);
    assert!(text.contains("cannot be unpacked"), "{text}");
    assert_eq!(said(directory.path(), &["unpack", "b.so", "--in-place"]).0, 1);
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
}
