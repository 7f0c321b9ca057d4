//! Files that are signed, or that give rights to whoever runs them: refused, and packed when that is allowed.
//!
//! The attributes are written as they are, so that no tool for them is needed; root may.

use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::scene::{POINTERS, bytes, done, files_below, is_packed, json, library, said, scratch, skip};

/// `CAP_NET_RAW` permitted and effective, as `security.capability` says it (`struct vfs_cap_data`, version 2).
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// A hash of 256 bits (`IMA_XATTR_DIGEST_NG`, `HASH_ALGO_SHA256`), of no file.
const HASH: [u8; 34] = {
    let mut hash = [0x5a; 34];
    hash[0] = 4;
    hash[1] = 4;
    hash
};

/// A library with an attribute; nothing, and a word why, where it cannot be set.
fn library_with(directory: &Path, attribute: &str, value: &[u8]) -> Option<PathBuf> {
    let path = library(&directory.join("a.so"), POINTERS);
    match setxattr(&path, attribute, value, XattrFlags::empty()) {
        Ok(()) => Some(path),
        Err(errno) => {
            skip(&format!("{attribute} cannot be set here: {errno}"));
            None
        }
    }
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 64];
    let length = getxattr(path, name, &mut value[..]).ok()?;
    Some(value[..length].to_vec())
}

/// Holds that it is refused in every way, with this code and a hint at `option`, and that nothing is written.
fn is_refused(directory: &Path, code: &str, option: &str) {
    let before = bytes(&directory.join("a.so"));
    for arguments in
        [&["pack", "a.so", "-o", "b.so"][..], &["pack", "--in-place", "a.so"], &["pack", "--dry-run", "a.so"]]
    {
        let (exit, stdout, stderr) = said(directory, arguments);
        assert_eq!((exit, stdout.as_str()), (1, ""), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with("error: cannot pack `a.so`: ") && stderr.contains(option), "{stderr}");
        let (exit, report) = json(directory, &[arguments, &["--json"]].concat());
        let refusal = &report["files"][0]["refusal"];
        assert_eq!((exit, refusal["code"].as_str()), (1, Some(code)), "{report}");
        assert!(refusal["hint"].as_str().unwrap().contains(option), "{report}");
    }
    assert!(bytes(&directory.join("a.so")) == before);
    assert_eq!(files_below(directory), ["a.so"]);
}

#[test]
fn what_is_signed_is_packed_without_its_signature_if_that_is_allowed() {
    let directory = scratch();
    let Some(path) = library_with(directory.path(), "security.ima", &HASH) else { return };
    is_refused(directory.path(), "signed", "--allow-signed");
    // Other rights are another matter.
    assert_eq!(said(directory.path(), &["pack", "a.so", "-o", "b.so", "--allow-setuid"]).0, 1);
    let before = bytes(&path);
    let (code, _, stderr) = said(directory.path(), &["pack", "a.so", "-o", "b.so", "--allow-signed"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stderr.starts_with("note: ") && stderr.contains("security.ima was not copied; sign the file again"),
        "{stderr}"
    );
    let packed = directory.path().join("b.so");
    assert!(is_packed(&packed) && attribute(&packed, "security.ima").as_deref() != Some(&HASH));
    assert_eq!((bytes(&path) == before, attribute(&path, "security.ima").as_deref()), (true, Some(&HASH[..])));
    let (code, report) = json(directory.path(), &["pack", "--in-place", "a.so", "--allow-signed", "--json"]);
    assert_eq!((code, &report["files"][0]["outcome"]), (0, &"packed".into()), "{report}");
    assert!(report["files"][0]["warnings"][0].as_str().unwrap().contains("security.ima"), "{report}");
    assert!(is_packed(&path) && attribute(&path, "security.ima").as_deref() != Some(&HASH));
    // What is restored is what was signed; the signature does not come back by itself.
    done(directory.path(), &["unpack", "--in-place", "a.so"]);
    assert!(bytes(&path) == before);
}

#[test]
fn capabilities_come_along_if_that_is_allowed() {
    let directory = scratch();
    let Some(path) = library_with(directory.path(), "security.capability", &CAPABILITY) else { return };
    is_refused(directory.path(), "capabilities", "--allow-setuid");
    assert_eq!(said(directory.path(), &["pack", "a.so", "-o", "b.so", "--allow-signed"]).0, 1);
    let before = bytes(&path);
    done(directory.path(), &["pack", "a.so", "-o", "b.so", "--allow-setuid"]);
    done(directory.path(), &["pack", "--in-place", "a.so", "--allow-setuid"]);
    for packed in [&path, &directory.path().join("b.so")] {
        assert!(is_packed(packed));
        assert_eq!(attribute(packed, "security.capability").as_deref(), Some(&CAPABILITY[..]), "{}", packed.display());
    }
    done(directory.path(), &["unpack", "--in-place", "a.so"]);
    assert!(bytes(&path) == before);
    assert_eq!(attribute(&path, "security.capability").as_deref(), Some(&CAPABILITY[..]));
}
