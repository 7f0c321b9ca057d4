//! What an image cannot hold is refused by name.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use coldstart_image::tree::Collector;
use coldstart_image::{
    Attributes, Content, DeviceNumber, Entry, EntryKind, HotOrder, Plan, PlanProblem, Source, Timestamp, WriteError,
    Xattr, write_image,
};

use crate::scene::{Scene, go_on};

fn entry(path: &str, kind: EntryKind) -> Entry {
    Entry { path: path.into(), attributes: Attributes { mode: 0o755, ..Attributes::default() }, kind }
}

fn regular(size: u64) -> EntryKind {
    EntryKind::Regular(Content { size, holes: Vec::new(), source: Source::File("/nowhere".into()), origin: None })
}

#[track_caller]
fn refused(entries: Vec<Entry>) -> (String, PlanProblem) {
    let entries = [vec![entry("/", EntryKind::Directory)], entries].concat();
    let error = Plan::new(entries, Vec::new(), &HotOrder::default()).unwrap_err();
    (error.to_string(), error.problem)
}

#[test]
fn each_reason_has_a_name() {
    let with_xattr = |name: &[u8], size| Entry {
        attributes: Attributes {
            xattrs: Arc::from([Xattr { name: name.to_vec(), value: vec![0; size] }]),
            ..Attributes::default()
        },
        ..entry("/x", EntryKind::Fifo)
    };
    let device = |major, minor| entry("/x", EntryKind::CharacterDevice(DeviceNumber { major, minor }));
    let content = |size, holes: &[std::ops::Range<u64>], source| {
        entry("/x", EntryKind::Regular(Content { size, holes: holes.to_vec(), source, origin: None }))
    };
    let bytes = || Source::Bytes(Arc::from([1, 2, 3]));
    let cases = [
        (vec![entry("x", EntryKind::Fifo)], PlanProblem::Path),
        (vec![entry("/a/../x", EntryKind::Fifo)], PlanProblem::Path),
        (vec![entry("/a//x", EntryKind::Fifo)], PlanProblem::Path),
        (vec![entry(&format!("/{}", "x".repeat(256)), EntryKind::Fifo)], PlanProblem::NameTooLong { length: 256 }),
        (vec![entry(&"/x".repeat(2048), EntryKind::Fifo)], PlanProblem::PathTooLong { length: 4096 }),
        (vec![entry("/x", EntryKind::Fifo), entry("/x", EntryKind::Fifo)], PlanProblem::Twice),
        (vec![entry("/a/x", EntryKind::Fifo)], PlanProblem::NoDirectory),
        (vec![entry("/a", EntryKind::Fifo), entry("/a/x", EntryKind::Fifo)], PlanProblem::ThroughFile),
        (vec![entry("/.coldstart", EntryKind::Directory)], PlanProblem::Reserved),
        (vec![entry("/x", EntryKind::HardLink("/y".into()))], PlanProblem::LinkTarget("/y".into())),
        (vec![entry("/x", EntryKind::HardLink("/".into()))], PlanProblem::LinkTarget("/".into())),
        (vec![entry("/x", EntryKind::Symlink("".into()))], PlanProblem::SymlinkTarget(0)),
        (vec![entry("/x", EntryKind::Symlink("y".repeat(4096).into()))], PlanProblem::SymlinkTarget(4096)),
        (vec![with_xattr(b"system.nfs4_acl", 1)], PlanProblem::XattrName("system.nfs4_acl".into())),
        (vec![with_xattr(b"user.", 1)], PlanProblem::XattrName("user.".into())),
        (vec![with_xattr(b"user.x", 65536)], PlanProblem::XattrSize { name: "user.x".into(), size: 65536 }),
        (vec![device(4096, 0)], PlanProblem::Device { major: 4096, minor: 0 }),
        (vec![device(0, 1 << 20)], PlanProblem::Device { major: 0, minor: 1 << 20 }),
        (vec![content(2, &[], bytes())], PlanProblem::Content),
        (vec![content(3, &[1..9], bytes())], PlanProblem::Content),
        (vec![content(3, &[1..2, 2..3], bytes())], PlanProblem::Content),
        (vec![entry("/x", regular(1 << 44))], PlanProblem::TooLarge),
        // Each fits, both do not.
        (vec![entry("/x", regular(9 << 40)), entry("/y", regular(9 << 40))], PlanProblem::TooLarge),
    ];
    for (entries, problem) in cases {
        let (text, found) = refused(entries);
        assert_eq!(found, problem, "{text}");
    }
    let late = Attributes { modified: Timestamp { seconds: 0, nanoseconds: 1_000_000_000 }, ..Attributes::default() };
    let (_, problem) = refused(vec![Entry { attributes: late, ..entry("/x", EntryKind::Fifo) }]);
    assert_eq!(problem, PlanProblem::Time(1_000_000_000));
    let (text, _) = refused(vec![with_xattr(b"system.nfs4_acl", 1)]);
    assert_eq!(text, "cannot put `/x` into an image: EROFS cannot hold the extended attribute `system.nfs4_acl`");
    let nothing = Plan::new(Vec::new(), Vec::new(), &HotOrder::default()).unwrap_err();
    assert_eq!(nothing.problem, PlanProblem::NoDirectory);
    let programs = HotOrder { programs: vec!["p".into(); 65], runs: Vec::new(), ..HotOrder::default() };
    let many = Plan::new(vec![entry("/", EntryKind::Directory)], Vec::new(), &programs).unwrap_err();
    assert_eq!(many.problem, PlanProblem::TooManyPrograms(65));
}

#[test]
fn a_file_that_changes_meanwhile_is_noticed() {
    let scene = Scene::new();
    let path = scene.tree().join("file");
    let attempt = |change: &dyn Fn()| {
        fs::write(&path, "before").unwrap();
        let plan = scene.plan(&HotOrder::default());
        change();
        let file = fs::File::create(scene.path("image")).unwrap();
        write_image(&file, &plan, &mut go_on).unwrap_err()
    };
    for error in
        [attempt(&|| fs::write(&path, "longer than before").unwrap()), attempt(&|| crate::scene::set_time(&path, 5, 5))]
    {
        assert!(error.to_string().ends_with("it has changed since the image was begun"), "{error}");
        assert!(error.hint().is_some());
    }
    let gone = attempt(&|| fs::remove_file(&path).unwrap());
    assert!(matches!(gone, WriteError::Source { .. }), "{gone}");
    let replaced = attempt(&|| {
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    });
    assert!(matches!(replaced, WriteError::Source { .. }), "{replaced}");
}

#[test]
fn a_mount_inside_a_tree_is_refused() {
    if !coldstart_testing::is_root() {
        return;
    }
    let scene = Scene::new();
    let inside = scene.tree().join("mounted");
    let _mount = coldstart_testing::Mount::new(&inside, &["-t", "tmpfs", "none"]).unwrap();
    let mut collector = Collector::new(&scene.tree()).unwrap();
    let error = collector.add_tree(Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("another file system is mounted there"), "{error}");
    assert!(error.path.ends_with("mounted"));
}
