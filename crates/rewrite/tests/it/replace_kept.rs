//! The original that is kept under another name.

use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::replace_scene::{
    Mount, attribute, file, in_memory, is_root, names, replace, replace_at, scratch, set_attribute, skip, stat,
};
use coldstart_rewrite::{ReplaceError, Target, WriteError};

const OLD: &[u8] = b"the old content";
const NEW: &[u8] = b"the new content";

/// Asserts that keeping is refused with these words, and that nothing has changed.
fn is_refused(path: &Path, keep: &Path, words: &str) {
    let before = (names(path.parent().unwrap()), std::fs::metadata(path).unwrap().ino());
    let error = replace(path, NEW, &Target::InPlace, Some(keep)).unwrap_err();
    assert!(matches!(error, WriteError::NotWritten(ReplaceError::Keep { .. })), "{error:?}");
    let message = error.to_string();
    assert!(message.contains(words) && message.contains(keep.to_str().unwrap()), "{message}");
    assert!(error.hint().is_some());
    assert_eq!((names(path.parent().unwrap()), std::fs::metadata(path).unwrap().ino()), before);
    assert_eq!(std::fs::read(path).unwrap(), OLD);
}

#[test]
fn in_the_same_file_system_it_is_the_file_itself() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    let kept = directory.path().join("library.original");
    let before = stat(&path, "%i %a %y");
    let replaced = replace(&path, NEW, &Target::InPlace, Some(&kept)).unwrap();
    assert_eq!(stat(&kept, "%i %a %y"), before);
    assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&kept).unwrap()), (NEW.to_vec(), OLD.to_vec()));
    assert_eq!((replaced.kept_original.as_deref(), replaced.other_links), (Some(kept.as_path()), 0));
    // Doing it again with the file put back changes no more than before.
    std::fs::copy(&kept, &path).unwrap();
    replace(&path, NEW, &Target::InPlace, Some(&kept)).unwrap();
    assert_eq!(stat(&kept, "%i %a %y"), before);
    assert_eq!(names(directory.path()), ["library", "library.original"]);
}

#[test]
fn on_another_file_system_it_is_a_copy_with_all_that_belongs_to_it() {
    let (directory, memory) = (scratch(), in_memory());
    let content = [&vec![7; 100_000][..], &vec![0; 1 << 20], b"end"].concat();
    let path = file(directory.path(), "library", &content);
    let kept = memory.path().join("library");
    std::fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(1234), Some(1235)).unwrap();
        set_attribute(&path, "trusted.note", b"kept").unwrap();
    }
    let (before, note) = (stat(&path, "%a %u:%g %x %y %s"), attribute(&path, "trusted.note"));
    replace(&path, NEW, &Target::InPlace, Some(&kept)).unwrap();
    assert_eq!((stat(&kept, "%a %u:%g %x %y %s"), attribute(&kept, "trusted.note")), (before, note));
    assert!(std::fs::read(&kept).unwrap() == content);
    assert!(std::fs::metadata(&kept).unwrap().blocks() * 512 < 300_000, "zeros take room");
    assert_eq!(names(memory.path()), ["library"]);
}

#[test]
fn nothing_that_exists_is_overwritten() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    for (name, content) in [("longer", &b"something that is longer"[..]), ("as long", b"THE OLD CONTENT")] {
        let other = file(directory.path(), name, content);
        is_refused(&path, &other, "a different file exists");
        assert_eq!(std::fs::read(&other).unwrap(), content);
    }
    let directory_there = directory.path().join("directory");
    std::fs::create_dir(&directory_there).unwrap();
    is_refused(&path, &directory_there, "a different file exists");
    // It would lead to the new file.
    let link = directory.path().join("link");
    symlink("library", &link).unwrap();
    is_refused(&path, &link, "a different file exists");
    let dangling = directory.path().join("dangling");
    symlink("nowhere", &dangling).unwrap();
    is_refused(&path, &dangling, "a different file exists");
}

#[test]
fn the_original_is_not_kept_where_the_new_file_will_stand() {
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    is_refused(&path, &path, "it is the path of the new file");
    let alias = directory.path().join("alias");
    symlink(".", &alias).unwrap();
    is_refused(&path, &alias.join("library"), "it is the path of the new file");
    // A target elsewhere, too.
    let target = directory.path().join("target");
    let error = replace_at(&path, NEW, &target, Some(&target)).unwrap_err();
    assert!(error.to_string().contains("it is the path of the new file"), "{error}");
    assert_eq!(names(directory.path()), ["alias", "library"]);
}

#[test]
fn one_name_seen_twice_is_not_taken_for_two() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    let seen_again = directory.path().join("mounted");
    std::fs::write(&seen_again, b"").unwrap();
    let mounted = match Mount::new(&seen_again, &["--bind", path.to_str().unwrap()]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    is_refused(&path, &seen_again, "only name");
    drop(mounted);
    let whole = directory.path().join("whole");
    std::fs::create_dir(&whole).unwrap();
    let sub = directory.path().join("sub");
    std::fs::create_dir(&sub).unwrap();
    let path = file(&sub, "library", OLD);
    std::fs::hard_link(&path, sub.join("another")).unwrap();
    let _mounted = Mount::new(&whole, &["--bind", sub.to_str().unwrap()]).unwrap();
    is_refused(&path, &whole.join("library"), "it is the path of the new file");
    // Another name of it, seen through the mount, is as good as any.
    replace(&path, NEW, &Target::InPlace, Some(&whole.join("another"))).unwrap();
    assert_eq!(std::fs::read(sub.join("another")).unwrap(), OLD);
}

#[test]
fn a_name_that_was_made_goes_away_with_the_failure() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    // What is mounted on a name cannot be replaced, which only the last step finds out.
    let mounted = match Mount::new(&path, &["--bind", path.to_str().unwrap()]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let memory = in_memory();
    for kept in [directory.path().join("kept"), memory.path().join("kept")] {
        let error = replace(&path, NEW, &Target::InPlace, Some(&kept)).unwrap_err();
        assert!(error.hint().unwrap().contains("mount point"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), OLD);
        assert_eq!((names(directory.path()), names(memory.path()).len()), (vec!["library".to_owned()], 0));
    }
    drop(mounted);
}
