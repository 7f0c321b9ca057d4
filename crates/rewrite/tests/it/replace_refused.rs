//! Files that are not replaced: the reason, what would help, and nothing that changed.

use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::replace_scene::{
    CAPABILITY, Mark, Mount, as_user, file, in_memory, is_root, names, output_at, replace, replace_at, replace_opened,
    scratch, script, set_attribute, skip, stat,
};
use coldstart_prove::Source;
use coldstart_rewrite::{
    Allowed, FileRefusal, OriginalFile, Piece, ReplaceError, Signature, Target, WriteError, write_proven,
};

const OLD: &[u8] = b"the old content";
const NEW: &[u8] = b"the new content";

/// All that a failure must leave as it was.
fn state(path: &Path) -> (Vec<String>, String, Vec<u8>) {
    (names(path.parent().unwrap()), stat(path, "%i %h %a %u:%g %y %z %s"), std::fs::read(path).unwrap())
}

#[test]
fn a_proof_that_fails_leaves_nothing() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    let before = state(&path);
    let original = OriginalFile::open(&path).unwrap();
    let script = script(vec![Piece::Bytes(NEW.to_vec())]);
    for target in [Target::InPlace, output_at(&directory.path().join("elsewhere")).unwrap()] {
        let keep = directory.path().join("kept");
        let failed = write_proven(&original, Source::in_memory(OLD), &script, &target, Some(&keep), |new| {
            assert_eq!((new.bytes, names(directory.path())), (NEW, vec!["library".to_owned()]));
            Err::<(), _>(io::Error::other("entry 7 differs"))
        });
        let error = failed.unwrap_err();
        assert!(matches!(error, WriteError::NotProven(_)) && error.to_string() == "entry 7 differs", "{error:?}");
        assert_eq!(state(&path), before);
    }
}

/// What somebody else does to a file.
type Change = fn(&Path);

#[test]
fn an_original_that_somebody_changes_meanwhile_is_left_to_them() {
    let changes: [(&str, Change); 4] = [
        ("written to", |path| {
            std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all(b"THEIRS!").unwrap()
        }),
        ("replaced", |path| {
            std::fs::write(path.with_extension("new"), OLD).unwrap();
            std::fs::rename(path.with_extension("new"), path).unwrap();
        }),
        ("given another mode", |path| std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap()),
        ("removed", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (what, change) in changes {
        let directory = scratch();
        let path = file(directory.path(), "library", OLD);
        let original = OriginalFile::open(&path).unwrap();
        // Times are as fine as the kernel's tick.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let script = script(vec![Piece::Bytes(NEW.to_vec())]);
        let mut theirs = None;
        let failed = write_proven(&original, Source::in_memory(OLD), &script, &Target::InPlace, None, |_| {
            change(&path);
            theirs = Some(path.exists().then(|| state(&path)));
            Ok::<_, io::Error>(())
        });
        let error = failed.unwrap_err();
        assert!(matches!(error, WriteError::NotWritten(ReplaceError::Changed { .. })), "{what}: {error:?}");
        assert!(error.to_string().contains(path.to_str().unwrap()) && error.hint().is_some(), "{error}");
        assert_eq!(path.exists().then(|| state(&path)), theirs.unwrap(), "{what}");
    }
}

#[test]
fn the_output_is_never_the_input_by_another_name() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    let at = |name: &str| directory.path().join(name);
    std::fs::hard_link(&path, at("hard")).unwrap();
    symlink("library", at("soft")).unwrap();
    symlink(".", at("here")).unwrap();
    let before = state(&path);
    for other in [path.clone(), at("hard"), at("soft"), at("here").join("library"), at("here/here/./soft")] {
        let error = replace_at(&path, NEW, &other, None).unwrap_err();
        assert!(matches!(error, WriteError::NotWritten(ReplaceError::SameFile { .. })), "{error:?}");
        assert!(error.to_string().contains(other.to_str().unwrap()), "{error}");
        assert!(error.hint().unwrap().contains("--in-place"));
        // Nor when the input was named by the link.
        assert!(replace_at(&at("soft"), NEW, &other, None).is_err());
        assert_eq!(state(&path), before);
    }
}

#[test]
fn the_output_is_no_directory_device_or_pipe() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("directory")).unwrap();
    symlink("directory", at("link")).unwrap();
    symlink("/dev/null", at("null")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let before = state(&path);
    for name in ["directory", "link", "new/", "."] {
        let error = replace_at(&path, NEW, &at(name), None).unwrap_err();
        assert!(matches!(error, WriteError::NotWritten(ReplaceError::Output(_))), "{name}: {error:?}");
        assert!(error.hint().unwrap().contains("name a file"));
    }
    for name in ["null", "pipe", "/dev/null"] {
        let error = replace_at(&path, NEW, &at(name), None).unwrap_err();
        assert!(matches!(error, WriteError::NotWritten(ReplaceError::Output(_))), "{name}: {error:?}");
    }
    let error = replace_at(&path, NEW, &at("missing/library"), None).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    assert_eq!(state(&path), before);
    // The input neither, and nobody waits for who would write to it.
    for (name, kind) in [("pipe", "a FIFO"), ("null", "a character device"), ("directory", "a directory")] {
        let ReplaceError::Open { path, source } = OriginalFile::open(&at(name)).unwrap_err() else { panic!("{name}") };
        assert_eq!((path, source.to_string()), (at(name), format!("it is {kind}, not a regular file")));
    }
    assert!(OriginalFile::open(&at("missing")).unwrap_err().to_string().contains("missing"));
}

#[test]
fn a_full_disk_is_found_out_and_nothing_is_left_on_it() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let mount = match Mount::new(&directory.path().join("small"), &["-t", "tmpfs", "-o", "size=1m", "tmpfs"]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let small = directory.path().join("small");
    let path = file(&small, "library", &vec![1; 700 << 10]);
    let (before, free) = (state(&path), free_blocks(&small));
    let original = OriginalFile::open(&path).unwrap();
    let large = vec![2; 600 << 10];
    // Found out before anything is written, and where there are holes while writing.
    for (pieces, needed) in [
        (vec![Piece::Bytes(large.clone())], 600 << 10),
        (vec![Piece::Hole(1 << 20), Piece::Bytes(large)], (1 << 20) + (600 << 10)),
    ] {
        for target in [Target::InPlace, output_at(&small.join("new")).unwrap()] {
            let error = replace_opened(&original, script(pieces.clone()), &target, None, b"").unwrap_err();
            assert!(matches!(error, WriteError::NotWritten(ReplaceError::NoRoom { .. })), "{error:?}");
            let hint = format!("{needed} bytes are needed in {}; nothing was changed", small.display());
            assert_eq!(error.hint().unwrap(), hint);
            assert_eq!((state(&path), free_blocks(&small)), (before.clone(), free));
        }
    }
    // No room for the copy that is to be kept.
    let elsewhere = file(directory.path(), "library", &vec![1; 700 << 10]);
    let error = replace(&elsewhere, NEW, &Target::InPlace, Some(&small.join("kept"))).unwrap_err();
    assert!(matches!(error, WriteError::NotWritten(ReplaceError::NoRoom { .. })), "{error:?}");
    assert_eq!((state(&path), std::fs::metadata(&elsewhere).unwrap().len()), (before, 700 << 10));
    drop(mount);
}

fn free_blocks(place: &Path) -> u64 {
    rustix::fs::statvfs(place).unwrap().f_bfree
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    if !is_root() {
        return;
    }
    let directory = in_memory();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let path = file(directory.path(), "library", OLD);
    let before = state(&path);
    let error = as_user(4321, || replace(&path, NEW, &Target::InPlace, None).unwrap_err());
    let hint = format!("{} cannot be written; give `-o PATH` elsewhere", directory.path().display());
    assert_eq!(error.hint().unwrap(), hint, "{error}");
    assert_eq!(state(&path), before);

    // Somebody else's file in a directory of one's own could be replaced, but not with its owner.
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let path = file(&open, "library", OLD);
    let before = state(&path);
    let error = as_user(4321, || replace(&path, NEW, &Target::InPlace, None).unwrap_err());
    assert!(error.to_string().contains("the original's owner"), "{error}");
    assert!(error.hint().unwrap().contains("root"));
    assert_eq!(state(&path), before);

    let read_only = directory.path().join("read-only");
    let mount = Mount::new(&read_only, &["--bind", open.to_str().unwrap()]);
    if let Err(reason) = mount
        .and_then(|mount| {
            crate::replace_scene::run("mount", &["-o", "remount,bind,ro", read_only.to_str().unwrap()]).map(|_| mount)
        })
        .map(|_mount| {
            let path = read_only.join("library");
            let error = replace(&path, NEW, &Target::InPlace, None).unwrap_err();
            let hint = format!("{} cannot be written; give `-o PATH` elsewhere", read_only.display());
            assert_eq!(error.hint().unwrap(), hint, "{error:?}");
            assert_eq!(std::fs::read(&path).unwrap(), OLD);
        })
    {
        skip(&reason);
    }
}

#[test]
fn capabilities_that_cannot_come_along_are_an_error() {
    if !is_root() {
        return;
    }
    let directory = in_memory();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let path = file(directory.path(), "program", OLD);
    set_attribute(&path, "security.capability", &CAPABILITY).unwrap();
    let target = output_at(&directory.path().join("copy")).unwrap();
    let error = as_user(4321, || replace(&path, NEW, &target, None).unwrap_err());
    assert!(error.to_string().contains("security.capability") && error.hint().is_some(), "{error}");
    assert_eq!(names(directory.path()), ["program"]);
}

#[test]
fn programs_with_rights_of_their_own_and_signed_files_are_asked_about() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "program", OLD);
    let refusal = |allowed: Allowed| OriginalFile::open(&path).unwrap().facts().refusal(&allowed);
    let (nothing, rights) = (Allowed::default(), Allowed { set_id: true, ..Allowed::default() });
    assert_eq!(refusal(nothing), None);

    for (mode, expected) in [
        (0o4755, Some(FileRefusal::SetId { whose: "owner" })),
        (0o2755, Some(FileRefusal::SetId { whose: "group" })),
        // Without the right to execute for the group the bit gives no rights.
        (0o2745, None),
        (0o1755, None),
    ] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert_eq!((refusal(nothing), refusal(rights)), (expected, None), "{mode:o}");
    }
    set_attribute(&path, "security.capability", &CAPABILITY).unwrap();
    assert_eq!((refusal(nothing), refusal(rights)), (Some(FileRefusal::Capabilities), None));
    assert_eq!(refusal(nothing).unwrap().code(), "capabilities");
    assert!(refusal(nothing).unwrap().hint().unwrap().contains("--allow-setuid"));

    // As a hash of SHA-256 (`IMA_XATTR_DIGEST_NG`).
    if let Err(errno) = set_attribute(&path, "security.ima", &[&[4, 4], &[0x5a; 32][..]].concat()) {
        return skip(&format!("security.ima cannot be set here: {errno}"));
    }
    let signed = FileRefusal::Signed { which: Signature::Ima };
    assert_eq!(refusal(rights), Some(signed));
    assert!(signed.hint().unwrap().contains("--allow-signed") && signed.to_string().contains("security.ima"));
    assert_eq!(refusal(Allowed { signed: true, ..rights }), None);
    // The old signature does not come along.
    let replaced = replace(&path, NEW, &Target::InPlace, None).unwrap();
    assert!(replaced.warnings[0].contains("security.ima"), "{:?}", replaced.warnings);
    let facts = OriginalFile::open(&path).unwrap().facts().clone();
    assert_eq!((facts.signature, facts.has_capabilities), (None, true));
}

#[test]
fn files_marked_as_immutable_are_refused_before_anything_is_written() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    for (letter, expected) in [('i', FileRefusal::Immutable), ('a', FileRefusal::AppendOnly)] {
        let path = file(directory.path(), "library", OLD);
        let mark = match Mark::set(&path, letter) {
            Ok(mark) => mark,
            Err(reason) => return skip(&reason),
        };
        let before = state(&path);
        let facts = OriginalFile::open(&path).unwrap().facts().clone();
        assert_eq!(facts.refusal(&Allowed::default()), Some(expected));
        assert_eq!(facts.refusal(&Allowed { frozen: true, ..Allowed::default() }), None);
        let other = file(directory.path(), "other", OLD);
        for (from, target) in [(&path, Target::InPlace), (&other, output_at(&path).unwrap())] {
            let error = replace(from, NEW, &target, None).unwrap_err();
            assert!(matches!(error, WriteError::NotWritten(ReplaceError::Refused { .. })), "{error:?}");
            assert!(error.hint().unwrap().contains(&format!("chattr -{letter}")));
        }
        // What is made from it stands elsewhere, and is not marked.
        replace_at(&path, NEW, &other, None).unwrap();
        std::fs::remove_file(&other).unwrap();
        assert_eq!(state(&path), before);
        drop(mark);
        replace(&path, NEW, &Target::InPlace, None).unwrap();
    }
}
