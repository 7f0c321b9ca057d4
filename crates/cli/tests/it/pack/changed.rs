//! Files that were changed after packing: `unpack` loses nothing, `status` and `verify` say what changed.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::scene::{POINTERS, bytes, done, json, library, said, scratch, succeed};

fn append(path: &Path, more: &[u8]) {
    std::fs::OpenOptions::new().append(true).open(path).unwrap().write_all(more).unwrap();
}

#[test]
fn what_was_appended_is_not_lost() {
    let directory = scratch();
    let (original, packed) = (directory.path().join("original.so"), directory.path().join("a.so"));
    library(&original, POINTERS);
    std::fs::copy(&original, &packed).unwrap();
    done(directory.path(), &["pack", "--in-place", "a.so"]);
    assert!(done(directory.path(), &["status", "a.so"]).contains("unchanged since coldstart wrote it"));
    append(&packed, b"PAYLOAD");
    let appended = bytes(&packed);
    for arguments in [&["unpack", "--in-place", "a.so"][..], &["unpack", "a.so", "-o", "out.so"]] {
        let (code, stdout, stderr) = said(directory.path(), arguments);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.contains("7 bytes were appended") && stderr.contains("--keep-payload"), "{stderr}");
    }
    assert!(bytes(&packed) == appended && !directory.path().join("out.so").exists());
    let (code, stdout, _) = said(directory.path(), &["status", "a.so"]);
    assert!(code == 1 && stdout.contains("7 bytes were appended"), "{stdout}");
    let (code, report) = json(directory.path(), &["status", "a.so", "--json"]);
    assert_eq!((code, &report["files"][0]["identity"]["change"]["kind"]), (1, &"appended".into()));
    let (code, _, stderr) = said(directory.path(), &["verify", "a.so"]);
    assert!(code == 1 && stderr.contains("7 bytes were appended"), "{stderr}");
    let (code, report) = json(directory.path(), &["unpack", "a.so", "-o", "out.so", "--json"]);
    assert_eq!((code, &report["files"][0]["refusal"]["code"]), (1, &"changed-since".into()));

    let text = done(directory.path(), &["unpack", "a.so", "-o", "without.so", "--discard-changes"]);
    assert!(!text.contains("payload") && bytes(&directory.path().join("without.so")) == bytes(&original), "{text}");
    let text = done(directory.path(), &["unpack", "--in-place", "--keep-payload", "a.so"]);
    assert!(text.contains("7 appended bytes at file offset"), "{text}");
    assert!(bytes(&packed) == [bytes(&original), b"PAYLOAD".to_vec()].concat());
    // The order that the refusal of a payload advises.
    let (code, _, stderr) = said(directory.path(), &["pack", "--in-place", "a.so"]);
    assert!(code == 1 && stderr.contains("unpack --keep-payload"), "{stderr}");
}

#[test]
fn a_payload_that_must_not_move_stays_where_it_is() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "--in-place", "a.so"]);
    let path = directory.path().join("a.so");
    let place = bytes(&path).len() as u64;
    append(&path, &[&b"data"[..], &place.to_le_bytes()].concat());
    let before = bytes(&path);
    let (code, _, stderr) = said(directory.path(), &["unpack", "--in-place", "--keep-payload", "a.so"]);
    assert!(code == 1 && stderr.contains("the file offset at which they begin"), "{stderr}");
    assert!(bytes(&path) == before);
}

#[test]
fn a_damaged_note_is_seen_with_and_without_the_original() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    let whole = bytes(&directory.path().join("b.so"));
    let word = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
    // Our section's header is the last one.
    let header = whole.len() - 64;
    let (content, size) = (word(header + 24), word(header + 32));
    let places = [header + 4, header + 8, header + 16, header + 24, header + 32, header + 40, header + 48, header + 56];
    for at in places.into_iter().chain((content..content + size).step_by(7)) {
        let mut damaged = whole.clone();
        damaged[at] ^= 2;
        std::fs::write(directory.path().join("c.so"), &damaged).unwrap();
        for arguments in [&["verify", "c.so"][..], &["verify", "c.so", "--against", "a.so"], &["status", "c.so"]] {
            let (code, stdout, stderr) = said(directory.path(), arguments);
            // 2: where another flag or size makes a file that cannot be read.
            assert!(code == 1 || (code == 2 && at >= header), "{at:#x}: {arguments:?}: {code}: {stdout}{stderr}");
        }
    }
}

#[test]
fn what_was_stripped_is_told() {
    let directory = scratch();
    library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    for file in ["a.so", "b.so"] {
        succeed(Command::new("strip").arg(directory.path().join(file)));
    }
    let (code, _, stderr) = said(directory.path(), &["verify", "b.so", "--against", "a.so"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("changed after coldstart wrote it") && stderr.contains("removed sections"), "{stderr}");
    let (code, report) = json(directory.path(), &["verify", "b.so", "--against", "a.so", "--json"]);
    assert_eq!((code, &report["identity"]["state"]), (1, &"changed".into()), "{report}");
    let (code, stdout, _) = said(directory.path(), &["status", "b.so"]);
    assert!(code == 1 && stdout.contains("removed sections"), "{stdout}");
}

#[test]
fn changed_files_of_a_tree_are_left_and_counted() {
    let directory = scratch();
    for name in ["tree/a.so", "tree/b.so"] {
        library(&directory.path().join(name), POINTERS);
    }
    done(directory.path(), &["pack", "--in-place", "tree"]);
    append(&directory.path().join("tree/a.so"), b"x");
    let before = bytes(&directory.path().join("tree/a.so"));
    let text = done(directory.path(), &["unpack", "--in-place", "tree"]);
    assert!(text.contains("restored 1 file") && text.contains("changed-since: 1 file"), "{text}");
    assert!(bytes(&directory.path().join("tree/a.so")) == before);
}
