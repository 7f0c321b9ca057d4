//! Which files of an image may take the place of their originals, and so are worth a place in its hot range.
//!
//! A file that a mount lies over can be neither replaced nor removed by the program itself (`EBUSY`), and is read-only for it. So what programs keep
//! for their users (settings, profiles, documents) is left alone: outside the directories of the system only files next to programs are taken.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_image::{Entry, EntryKind, HotOrder};

use crate::reading;

/// Directories of programs and what belongs to them.
const SYSTEM: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap"];
/// Directories in which, or right below which, everything may be kept.
const SHARED: [&str; 6] = ["/", "/root", "/tmp", "/var/tmp", "/srv", "/run"];
const SET_ID: u32 = 0o6000;

/// Leaves only pages of files that may be covered in the order, and where files were not asked for by their trees, only such files in the image: a
/// copy of somebody's settings is of no use in it. Trees are taken at their word.
pub(super) fn keep_coverable(order: &mut HotOrder, entries: &mut Vec<Entry>, has_trees: bool) {
    let paths: HashSet<&Path> = order.runs.iter().map(|run| &*run.path).collect();
    let programs: HashSet<PathBuf> =
        paths.iter().filter(|path| !is_of_system(path) && is_elf(path)).map(|path| path.to_path_buf()).collect();
    let homes: HashSet<&Path> =
        programs.iter().filter_map(|path| path.parent()).filter(|directory| !is_shared(directory)).collect();
    let belongs = |path: &Path| {
        has_trees
            || is_of_system(path)
            || programs.contains(path)
            || path.ancestors().any(|above| homes.contains(above))
    };
    if !has_trees {
        entries.retain(|entry| {
            !matches!(entry.kind, EntryKind::Regular(_) | EntryKind::HardLink(_)) || belongs(&entry.path)
        });
        let left: HashSet<PathBuf> = entries.iter().map(|entry| entry.path.clone()).collect();
        entries.retain(|entry| !matches!(&entry.kind, EntryKind::HardLink(first) if !left.contains(first)));
    }
    let linked: HashSet<&Path> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            // Two names of one file would become two files.
            EntryKind::HardLink(path) => Some(path.as_path()),
            _ => None,
        })
        .collect();
    let allowed: HashSet<&Path> = entries
        .iter()
        .filter(|entry| gives_no_rights(entry) && !linked.contains(entry.path.as_path()) && belongs(&entry.path))
        .map(|entry| entry.path.as_path())
        .collect();
    // What lies outside the trees is reported by the plan.
    let present: HashSet<&Path> = entries.iter().map(|entry| entry.path.as_path()).collect();
    order.runs.retain(|run| allowed.contains(&*run.path) || has_trees && !present.contains(&*run.path));
}

/// Files with rights of their own keep them only as originals: the image's mount gives none.
fn gives_no_rights(entry: &Entry) -> bool {
    let has_capability = entry.attributes.xattrs.iter().any(|xattr| xattr.name == b"security.capability");
    matches!(entry.kind, EntryKind::Regular(_)) && entry.attributes.mode & SET_ID == 0 && !has_capability
}

/// Whether a file belongs to the system's programs. Files right in `/etc` are replaced by many tools, also by programs that a program starts.
fn is_of_system(path: &Path) -> bool {
    let below = |directory: &&str| path.starts_with(directory);
    let is_setting = path.starts_with("/etc") && path.parent() != Some(Path::new("/etc"));
    SYSTEM.iter().any(below) && !path.starts_with("/usr/local/etc") || is_setting
}

/// Whether a directory has more than a program in it: those of the system, and people's own.
fn is_shared(directory: &Path) -> bool {
    let is_home = directory.parent() == Some(Path::new("/home"))
        || std::env::var_os("HOME").is_some_and(|home| directory == Path::new(&home));
    is_home || SHARED.iter().any(|shared| directory == Path::new(shared))
}

fn is_elf(path: &Path) -> bool {
    let is_hidden = path.file_name().map(OsStr::as_bytes).is_some_and(|name| name.starts_with(b"."));
    !is_hidden && reading::map(path).is_ok_and(|view| view.bytes().starts_with(b"\x7fELF"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use coldstart_image::HotRun;
    use coldstart_image::tree::Collector;
    use coldstart_profile::PageRange;
    use coldstart_testing::scratch;

    use super::*;

    #[test]
    fn settings_are_left_alone_and_programs_with_what_is_beside_them_are_taken() {
        let directory = scratch();
        let root = directory.path().canonicalize().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, bytes).unwrap();
            path
        };
        let program = write("app/program", b"\x7fELF and more");
        let beside = write("app/share/data", b"data");
        let linked = write("app/linked", b"two names");
        fs::hard_link(&linked, root.join("app/other")).unwrap();
        let set_id = write("app/set-id", b"\x7fELF");
        fs::set_permissions(&set_id, std::os::unix::fs::PermissionsExt::from_mode(0o4755)).unwrap();
        let settings = write("settings/file", b"settings");
        let mut collector = Collector::new(Path::new("/")).unwrap();
        collector.add_tree(&root).unwrap();
        let (mut entries, _) = collector.finish();
        let run = |path: &Path| HotRun { path: path.into(), pages: PageRange::new(0, 1).unwrap(), programs: 1 };
        let all = [&program, &beside, &linked, &set_id, &settings];
        let mut order = HotOrder {
            programs: vec!["x".into()],
            runs: all.iter().map(|path| run(path)).collect(),
            ..HotOrder::default()
        };
        keep_coverable(&mut order, &mut entries, false);
        let kept: Vec<&Path> = order.runs.iter().map(|run| &*run.path).collect();
        assert_eq!(kept, [&program, &beside]);
        assert!(entries.iter().any(|entry| entry.path == set_id));
        assert!(!entries.iter().any(|entry| entry.path == settings));
    }

    #[test]
    fn paths_of_the_system() {
        for (path, expected) in [
            ("/usr/bin/x", true),
            ("/lib64/ld.so", true),
            ("/etc/passwd", false),
            ("/etc/fonts/fonts.conf", true),
            ("/root/.config/x", false),
            ("/var/lib/x", false),
        ] {
            assert_eq!(is_of_system(Path::new(path)), expected, "{path}");
        }
    }
}
