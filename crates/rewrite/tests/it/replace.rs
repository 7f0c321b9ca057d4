//! Files that are replaced: what comes along, what stays, and who notices.

use std::fs::{File, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use coldstart_rewrite::{OriginalFile, Piece, Target};

use crate::replace_scene::{
    CAPABILITY, Mount, access_list, as_user, attribute, content_of, copy, file, in_memory, is_root, names, replace,
    replace_at, replace_opened, run, scratch, script, set_attribute, skip, start, stat, status_of,
};

const OLD: &[u8] = b"the old content";
const NEW: &[u8] = b"the new content, which is longer";

/// Gives a file an owner, capabilities, attributes, an access list and times in the past.
fn adorn(path: &Path) {
    std::os::unix::fs::chown(path, Some(1234), Some(1235)).unwrap();
    set_attribute(path, "user.origin", b"built by hand").unwrap();
    set_attribute(path, "user.empty", b"").unwrap();
    set_attribute(path, "trusted.note", &[0, 1, 2, 255]).unwrap();
    set_attribute(path, "security.capability", &CAPABILITY).unwrap();
    set_attribute(path, "system.posix_acl_access", &access_list(0)).unwrap();
    run("touch", &["-a", "-d", "2001-02-03 04:05:06.123456789", path.to_str().unwrap()]).unwrap();
    run("touch", &["-m", "-d", "2010-11-12 13:14:15.987654321", path.to_str().unwrap()]).unwrap();
}

/// What `stat` says of all that must stay.
fn adornments(path: &Path) -> (String, Vec<Option<Vec<u8>>>) {
    let names =
        ["user.origin", "user.empty", "trusted.note", "security.capability", "system.posix_acl_access", "user.none"];
    // The access time first, before anything can read.
    (stat(path, "%x %y %a %u:%g"), names.iter().map(|name| attribute(path, name)).collect())
}

#[test]
fn owner_mode_capabilities_attributes_access_list_and_times_come_along() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "program", OLD);
    adorn(&path);
    let before = adornments(&path);
    assert_eq!(before.1.iter().flatten().count(), 5);

    let replaced = replace(&path, NEW, &Target::InPlace, None).unwrap();
    assert_eq!(adornments(&path), before);
    assert_eq!(std::fs::read(&path).unwrap(), NEW);
    assert_eq!((replaced.proof, replaced.size, replaced.other_links), (NEW.len(), NEW.len() as u64, 0));
    assert_eq!(replaced.path, path.canonicalize().unwrap());
    assert_eq!(replaced.blocks_bytes, std::fs::metadata(&path).unwrap().blocks() * 512);
    assert_eq!((replaced.warnings, replaced.kept_original), (Vec::new(), None));
    assert_eq!(names(directory.path()), ["program"]);

    // The same elsewhere; root may give files away.
    let elsewhere = directory.path().join("elsewhere");
    run("touch", &["-a", "-d", "2001-02-03 04:05:06.123456789", path.to_str().unwrap()]).unwrap();
    replace_at(&path, OLD, &elsewhere, None).unwrap();
    assert_eq!(adornments(&elsewhere), before);
    assert_eq!((std::fs::read(&elsewhere).unwrap(), std::fs::read(&path).unwrap()), (OLD.to_vec(), NEW.to_vec()));
}

#[test]
fn set_id_bits_come_along_with_their_owner() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "program", OLD);
    std::os::unix::fs::chown(&path, Some(1234), Some(1235)).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
    replace(&path, NEW, &Target::InPlace, None).unwrap();
    assert_eq!(stat(&path, "%a %u:%g"), "6755 1234:1235");
}

/// Where others make a program of root's their own, it must not run with their rights.
#[test]
fn set_id_bits_stay_behind_without_their_owner() {
    if !is_root() {
        return;
    }
    let directory = in_memory();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    let path = file(directory.path(), "program", OLD);
    std::fs::set_permissions(&path, Permissions::from_mode(0o6755)).unwrap();
    let copy = directory.path().join("copy");
    let replaced = as_user(4321, || replace_at(&path, NEW, &copy, None).unwrap());
    assert_eq!(stat(&copy, "%a %u:%g"), "755 4321:4321");
    assert!(replaced.warnings[0].contains("set-ID bits were cleared"), "{:?}", replaced.warnings);
}

#[test]
fn what_a_directory_gives_to_new_files_does_not_stick() {
    if !is_root() {
        return;
    }
    let directory = scratch();
    let path = file(directory.path(), "library", OLD);
    std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::chown(directory.path(), None, Some(1236)).unwrap();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o2755)).unwrap();
    set_attribute(directory.path(), "system.posix_acl_default", &access_list(7)).unwrap();
    replace(&path, NEW, &Target::InPlace, None).unwrap();
    assert_eq!(stat(&path, "%a %u:%g"), "640 0:0");
    assert_eq!(attribute(&path, "system.posix_acl_access"), None);
}

/// Attributes need the right to write, which a mode of 0444 takes away even from the owner.
#[test]
fn a_user_replaces_a_file_of_theirs_that_is_read_only() {
    if !is_root() {
        return;
    }
    let directory = scratch_for_all();
    let path = file(directory.path(), "library", OLD);
    set_attribute(&path, "user.origin", b"built by hand").unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    std::os::unix::fs::chown(&path, Some(4321), Some(4321)).unwrap();
    let replaced = as_user(4321, || replace(&path, NEW, &Target::InPlace, None).unwrap());
    assert_eq!(stat(&path, "%a %u:%g"), "444 4321:4321");
    assert_eq!(attribute(&path, "user.origin").unwrap(), b"built by hand");
    assert_eq!((std::fs::read(&path).unwrap(), replaced.warnings), (NEW.to_vec(), Vec::new()));
}

/// In memory, because others need not be able to reach the build's directory.
fn scratch_for_all() -> tempfile::TempDir {
    let directory = in_memory();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

#[test]
fn symbolic_links_stay_and_lead_to_the_new_file() {
    let directory = scratch();
    let real = file(directory.path(), "libfoo.so.1.2", OLD);
    let middle = directory.path().join("libfoo.so.1");
    let link = directory.path().join("libfoo.so");
    symlink("libfoo.so.1.2", &middle).unwrap();
    symlink("libfoo.so.1", &link).unwrap();
    let original = OriginalFile::open(&link).unwrap();
    assert!(original.facts().is_symlink && !OriginalFile::open(&real).unwrap().facts().is_symlink);
    assert_eq!((original.path(), original.real_path()), (link.as_path(), real.canonicalize().unwrap().as_path()));
    replace(&link, NEW, &Target::InPlace, None).unwrap();
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("libfoo.so.1"));
    assert_eq!(std::fs::read_link(&middle).unwrap(), Path::new("libfoo.so.1.2"));
    assert!(real.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read(&link).unwrap(), NEW);
}

#[test]
fn other_names_keep_the_old_content_and_are_told() {
    let directory = scratch();
    let path = file(directory.path(), "gcc", OLD);
    for name in ["cc", "c99"] {
        std::fs::hard_link(&path, directory.path().join(name)).unwrap();
    }
    assert_eq!(OriginalFile::open(&path).unwrap().facts().links, 3);
    assert_eq!(replace(&path, NEW, &Target::InPlace, None).unwrap().other_links, 2);
    assert_eq!(std::fs::read(directory.path().join("cc")).unwrap(), OLD);
    // The name under which the original is kept is not one that was forgotten.
    let (cc, c99) = (directory.path().join("cc"), directory.path().join("c99"));
    assert_eq!(replace(&cc, NEW, &Target::InPlace, Some(&c99)).unwrap().other_links, 0);
    // Nor is the one that we make.
    let kept = directory.path().join("kept");
    assert_eq!(replace(&c99, NEW, &Target::InPlace, Some(&kept)).unwrap().other_links, 0);
    // Elsewhere it is the file that is replaced whose names count.
    std::fs::hard_link(&path, directory.path().join("another")).unwrap();
    assert_eq!(replace_at(&kept, OLD, &path, None).unwrap().other_links, 1);
}

#[test]
fn the_result_goes_elsewhere_new_or_in_place_of_what_stands_there() {
    let (directory, memory) = (scratch(), in_memory());
    let path = file(directory.path(), "library", OLD);
    for target in [directory.path().join("other"), memory.path().join("other")] {
        for content in [NEW, b"again"] {
            let replaced = replace_at(&path, content, &target, None).unwrap();
            assert_eq!((std::fs::read(&target).unwrap().as_slice(), replaced.other_links), (content, 0));
            assert_eq!(stat(&target, "%a %Y"), stat(&path, "%a %Y"));
        }
    }
    // A link is replaced itself: what it leads to is none of our business.
    let link = directory.path().join("link");
    symlink(memory.path().join("other"), &link).unwrap();
    replace_at(&path, NEW, &link, None).unwrap();
    assert!(link.symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read(memory.path().join("other")).unwrap(), b"again");
    assert_eq!(names(memory.path()), ["other"]);
    assert_eq!(names(directory.path()), ["library", "link", "other"]);
    assert_eq!(std::fs::read(&path).unwrap(), OLD);
}

#[test]
fn a_program_goes_on_while_it_is_replaced() {
    let directory = scratch();
    let path = directory.path().join("sleep");
    std::fs::copy("/bin/sleep", &path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    let mapped = File::open(&path).unwrap();
    let before = content_of(&mapped);
    let mut running = start(&path, &["1000"]);

    let original = OriginalFile::open(&path).unwrap();
    let longer = [&before[..], b"more"].concat();
    let longer_script = script(vec![copy(0..size), Piece::Bytes(b"more".to_vec())]);
    replace_opened(&original, longer_script, &Target::InPlace, None, &longer).unwrap();

    assert!(running.try_wait().unwrap().is_none(), "it has ended");
    assert_eq!(content_of(&mapped), before);
    let executable = coldstart_host::process::ProcessFiles::of(running.id()).program().unwrap();
    assert!(executable.to_str().unwrap().ends_with(" (deleted)"), "{}", executable.display());
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(std::fs::read(&path).unwrap() == longer);
    assert!(status_of(&path, &["0"]).success());
}

#[test]
fn holes_take_no_room() {
    let directory = scratch();
    let path = file(directory.path(), "library", &vec![b'x'; 3 << 20]);
    let expected = [vec![b'x'; 5000], vec![0; 2 << 20], vec![b'y'; 100], vec![0; 1 << 20]].concat();
    let pieces = vec![copy(0..5000), Piece::Hole(2 << 20), Piece::Bytes(vec![b'y'; 100]), Piece::Hole(1 << 20)];
    let original = OriginalFile::open(&path).unwrap();
    let replaced = replace_opened(&original, script(pieces), &Target::InPlace, None, &expected).unwrap();
    assert!(std::fs::read(&path).unwrap() == expected);
    assert_eq!(replaced.size, expected.len() as u64);
    assert!(replaced.blocks_bytes <= 64 << 10, "{} bytes on disk", replaced.blocks_bytes);
    assert_eq!(stat(&path, "%b").parse::<u64>().unwrap() * 512, replaced.blocks_bytes);
}

#[test]
fn what_had_holes_has_holes_again() {
    let directory = scratch();
    let path = directory.path().join("library");
    let content = [vec![b'x'; 5000], vec![0; 4 << 20], vec![b'y'; 9000], vec![0; 3 << 20]].concat();
    let sparse = std::fs::File::create(&path).unwrap();
    sparse.write_at(&content[..5000], 0).unwrap();
    sparse.write_at(&content[5000 + (4 << 20)..][..9000], 5000 + (4 << 20)).unwrap();
    sparse.set_len(content.len() as u64).unwrap();
    drop(sparse);
    let original = OriginalFile::open(&path).unwrap();
    // Ranges that begin anywhere, in pieces larger and smaller than a buffer.
    let pieces = vec![Piece::Bytes(vec![b'z'; 700]), copy(0..content.len() as u64), Piece::Bytes(vec![0; 10_000])];
    let expected = [vec![b'z'; 700], content.clone(), vec![0; 10_000]].concat();
    let replaced = replace_opened(&original, script(pieces), &Target::InPlace, None, &expected).unwrap();
    assert!(std::fs::read(&path).unwrap() == expected);
    assert!(replaced.blocks_bytes <= 64 << 10, "{} bytes on disk", replaced.blocks_bytes);
}

#[test]
fn large_and_empty_files_are_written_whole() {
    let directory = scratch();
    let large: Vec<u8> = (0..40_000_003_u32).map(|number| (number % 251) as u8).collect();
    let path = file(directory.path(), "library", &large);
    let original = OriginalFile::open(&path).unwrap();
    let mut expected = b"first".to_vec();
    expected.extend_from_slice(&large[7..]);
    let pieces = vec![Piece::Bytes(b"first".to_vec()), copy(7..large.len() as u64)];
    replace_opened(&original, script(pieces), &Target::InPlace, None, &expected).unwrap();
    assert!(std::fs::read(&path).unwrap() == expected);
    replace(&path, b"", &Target::InPlace, None).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"");
}

#[test]
fn names_may_be_as_long_as_the_file_system_allows_and_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let directory = scratch();
    for name in [vec![b'x'; 255], "ü".repeat(127).into_bytes(), vec![0xff; 255]] {
        let path = directory.path().join(std::ffi::OsStr::from_bytes(&name));
        std::fs::write(&path, OLD).unwrap();
        replace(&path, NEW, &Target::InPlace, None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), NEW);
    }
}

/// In a layered file system the first change of a file moves it to another layer.
#[test]
fn files_of_layers_are_replaced() {
    if !is_root() {
        return;
    }
    let directory = in_memory();
    let at = |name: &str| directory.path().join(name);
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(at(name)).unwrap();
    }
    let lower = file(&at("lower"), "library", OLD);
    set_attribute(&lower, "security.capability", &CAPABILITY).unwrap();
    let layers = format!("lowerdir={0}/lower,upperdir={0}/upper,workdir={0}/work", directory.path().display());
    let mount = match Mount::new(&at("merged"), &["-t", "overlay", "overlay", "-o", &layers]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let (path, kept) = (at("merged").join("library"), at("merged").join("kept"));
    let replaced = replace(&path, NEW, &Target::InPlace, Some(&kept)).unwrap();
    assert_eq!(replaced.warnings, Vec::<String>::new());
    assert_eq!((std::fs::read(&path).unwrap(), std::fs::read(&kept).unwrap()), (NEW.to_vec(), OLD.to_vec()));
    for path in [&path, &kept] {
        assert_eq!(attribute(path, "security.capability").unwrap(), CAPABILITY);
    }
    assert_eq!(std::fs::read(&lower).unwrap(), OLD);
    assert_eq!(names(&at("merged")), ["kept", "library"]);
    drop(mount);
}
