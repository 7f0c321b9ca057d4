//! One file: into another, in place, through links; what JSON says of it.

use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use serde_json::Value;

use super::scene::{POINTERS, bytes, conversation, done, files_below, is_packed, json, library, said, scratch, steady};

#[test]
fn one_file_is_packed_into_another_and_comes_back() {
    let directory = scratch();
    let original = library(&directory.path().join("a.so"), POINTERS);
    let before = bytes(&original);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so", "-o", "b.so"]), @r"
    $ coldstart pack a.so -o b.so
    exit: zero
    --- stdout
    packed `a.so` into `b.so`: [N], [N] less ([N])
      tables  [N] of relocation records become [N] of RELR and [N] of others; [N] relative ones packed
      room  a segment ends [N] earlier in the file; addresses are unchanged
      edits  DT_RELR, DT_RELRSZ and DT_RELRENT replace the count of relative relocations and spare entries in the dynamic table; a dependency on GLIBC_ABI_DT_RELR makes older loaders refuse it
      proof  [N] of memory with [N] relocated words at [N] addresses, [N] symbols, [N] other relocations, [N] sections, [N] note, [N] unwind entries: the same
      undo  `coldstart unpack b.so` restores the original
      time  [TIME]: plan [TIME], write [TIME], prove [TIME], flush [TIME], rename [TIME]
    --- stderr
    ")
    });
    let packed = directory.path().join("b.so");
    assert!(bytes(&packed).len() + 100_000 < before.len() && is_packed(&packed));
    assert_eq!(bytes(&original), before);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["verify", "b.so"]), @r"
    $ coldstart verify b.so
    exit: zero
    --- stdout
    `b.so` is equivalent to its restored original for a loader
      proof  [N] of memory with [N] relocated words at [N] addresses, [N] symbols, [N] other relocations, [N] sections, [N] note, [N] unwind entries: the same
    --- stderr
    ")
    });
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
    steady(|| {
        insta::assert_snapshot!(conversation(directory.path(), &["unpack", "b.so", "-o", "c.so"]), @r"
    $ coldstart unpack b.so -o c.so
    exit: zero
    --- stdout
    restored `b.so` into `c.so`: [N], packed by version [N].[N]
      digest  BLAKE3 [DIGEST], as before packing
    --- stderr
    ")
    });
    assert_eq!(bytes(&directory.path().join("c.so")), before);
    done(directory.path(), &["unpack", "--in-place", "b.so"]);
    assert_eq!(bytes(&packed), before);
}

#[test]
fn what_is_packed_already_is_left_or_copied() {
    let directory = scratch();
    let path = library(&directory.path().join("a.so"), POINTERS);
    done(directory.path(), &["pack", "--in-place", "a.so"]);
    let (packed, inode) = (bytes(&path), path.metadata().unwrap().ino());
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "--in-place", "a.so"]), @r"
    $ coldstart pack --in-place a.so
    exit: zero
    --- stdout
    nothing to pack in `a.so`: already packed by coldstart
    --- stderr
    ");
    assert_eq!((bytes(&path), path.metadata().unwrap().ino()), (packed.clone(), inode));
    insta::assert_snapshot!(conversation(directory.path(), &["pack", "a.so", "-o", "b.so"]), @r"
    $ coldstart pack a.so -o b.so
    exit: zero
    --- stdout
    nothing to pack in `a.so`: already packed by coldstart; copied unchanged into `b.so`
    --- stderr
    ");
    assert_eq!(bytes(&directory.path().join("b.so")), packed);
    // Several files: only packed ones are written.
    library(&directory.path().join("new.so"), POINTERS);
    done(directory.path(), &["pack", "a.so", "new.so", "-o", "out"]);
    assert_eq!(files_below(&directory.path().join("out")), ["new.so"]);
}

#[test]
fn json_has_all_that_was_done() {
    let directory = scratch();
    let before = bytes(&library(&directory.path().join("a.so"), POINTERS)).len();
    let (code, report) = json(directory.path(), &["pack", "a.so", "-o", "b.so", "--json"]);
    assert_eq!((code, &report["schema"]), (0, &Value::from("coldstart.pack/1")));
    let after = bytes(&directory.path().join("b.so")).len();
    let file = &report["files"][0];
    assert_eq!(file["path"], "a.so");
    assert_eq!(file["outcome"], "packed");
    assert_eq!(Path::new(file["output"].as_str().unwrap()).file_name().unwrap(), "b.so");
    assert!(file["summary"]["packed"].as_u64().unwrap() >= POINTERS as u64, "{file}");
    assert_eq!(file["summary"]["size_after"], after);
    assert!(file["proof"]["relr_relocations"].as_u64().unwrap() >= POINTERS as u64, "{file}");
    for step in ["plan", "write", "prove", "flush", "rename"] {
        assert!(file["seconds"][step].is_f64(), "{file}");
    }
    for absent in ["nothing", "refusal", "error", "kept_original"] {
        assert!(file[absent].is_null(), "{file}");
    }
    let total = &report["total"];
    assert_eq!((&total["files"], &total["packed"]), (&Value::from(1), &Value::from(1)));
    assert_eq!((&total["size_before"], &total["size_after"]), (&Value::from(before), &Value::from(after)));

    let (code, report) = json(directory.path(), &["pack", "b.so", "-o", "c.so", "--json"]);
    let file = &report["files"][0];
    assert_eq!((code, &file["outcome"], &file["nothing"]["reason"]), (0, &"nothing".into(), &"packed-by-us".into()));
    let (code, report) = json(directory.path(), &["verify", "b.so", "--json"]);
    assert_eq!((code, &report["same"], &report["against"]), (0, &Value::from(true), &Value::Null));
    assert_eq!(report["schema"], "coldstart.verify/1");
    let (code, report) = json(directory.path(), &["unpack", "b.so", "-o", "d.so", "--json"]);
    let file = &report["files"][0];
    assert_eq!((code, &file["outcome"], &file["size_after"]), (0, &"restored".into(), &before.into()));
    assert_eq!(file["digest"].as_str().unwrap().len(), 64);
    assert_eq!(report["schema"], "coldstart.unpack/1");
}

#[test]
fn links_lead_to_the_file_that_is_rewritten_and_other_names_keep_the_old_one() {
    let directory = scratch();
    let real = library(&directory.path().join("libx.so.1.2"), POINTERS);
    let before = bytes(&real);
    symlink("libx.so.1.2", directory.path().join("libx.so")).unwrap();
    std::fs::hard_link(&real, directory.path().join("other.so")).unwrap();
    let (code, _, stderr) = said(directory.path(), &["pack", "--in-place", "libx.so"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("`libx.so` is a symbolic link; its target `"), "{stderr}");
    assert!(stderr.contains("has 1 other name, which keeps the old content"), "{stderr}");
    assert!(directory.path().join("libx.so").is_symlink() && is_packed(&real));
    assert_eq!(bytes(&directory.path().join("other.so")), before);
    // The result of a link has the link's name, and is a file.
    std::fs::create_dir(directory.path().join("out")).unwrap();
    done(directory.path(), &["pack", "libx.so", "-o", "out"]);
    assert!(!directory.path().join("out/libx.so").is_symlink());
}

#[test]
fn the_original_is_kept_where_it_is_asked_for() {
    let directory = scratch();
    let path = library(&directory.path().join("a.so"), POINTERS);
    let before = bytes(&path);
    let text = done(directory.path(), &["pack", "--in-place", "a.so", "--keep-original", "a.so.orig"]);
    assert!(text.contains("the original is kept as `a.so.orig`"), "{text}");
    assert!(is_packed(&path) && bytes(&directory.path().join("a.so.orig")) == before);
    std::fs::write(directory.path().join("taken"), "x").unwrap();
    let other = library(&directory.path().join("b.so"), POINTERS);
    let before = bytes(&other);
    assert_eq!(said(directory.path(), &["pack", "--in-place", "b.so", "--keep-original", "taken"]).0, 2);
    assert_eq!(bytes(&other), before);
}
