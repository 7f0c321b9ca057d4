//! Archives that libraries read, each in a process of its own.

use std::fs;
use std::process::Command;

use coldstart_testing::succeed;

use crate::Scene;

/// An RPM package of a few bytes, one of whose entries has as many numbers as 32 GiB hold.
fn with_too_many_numbers() -> Vec<u8> {
    let mut lead = [0xed, 0xab, 0xee, 0xdb, 3].to_vec();
    lead.resize(78, 0);
    lead[7] = 1;
    lead[10] = b'x';
    lead.extend([0, 5]);
    lead.resize(96, 0);
    let header = |tag: u32, kind: u32, count: u32| {
        let numbers = [1, 16, tag, kind, 0, count].map(u32::to_be_bytes);
        [&[0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0], numbers.as_flattened(), &[0; 16]].concat()
    };
    // 7 are bytes, 5 are numbers of 64 bits (rpm's `docs/manual/format_header.md`).
    [lead, header(62, 7, 16), header(1000, 5, u32::MAX), vec![0; 64]].concat()
}

#[test]
fn an_archive_that_ends_its_reader_is_a_problem_and_no_more() {
    let scene = Scene::new(10);
    fs::write(scene.path("tree/huge.rpm"), with_too_many_numbers()).unwrap();
    let outcome = scene.json(&["tree", "-o", "out"]);
    assert_eq!((&outcome["objects"], &outcome["problems"]), (&1.into(), &1.into()), "{outcome}");
}

#[test]
fn a_squashfs_image_has_the_tree_s_objects() {
    let scene = Scene::new(30);
    succeed(
        Command::new("mksquashfs").args([scene.path("tree"), scene.path("image")]).args(["-quiet", "-no-progress"]),
    );
    let outcome = scene.json(&["image", "-o", "out"]);
    assert_eq!((&outcome["objects"], &outcome["problems"]), (&3.into(), &0.into()), "{outcome}");
    // Behind a runtime, which is an object of its own.
    let mut app = fs::read(scene.path("lib.so")).unwrap();
    app[8..11].copy_from_slice(b"AI\x02");
    app.extend(fs::read(scene.path("image")).unwrap());
    fs::write(scene.path("app"), app).unwrap();
    let outcome = scene.json(&["app", "-o", "of-app"]);
    assert_eq!((&outcome["objects"], &outcome["problems"]), (&3.into(), &0.into()), "{outcome}");
}

#[test]
fn reading_an_archive_by_hand_needs_all_arguments() {
    let output = Command::new(env!("CARGO_BIN_EXE_coldstart-survey")).arg("--read-archive").output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(1), Vec::new()));
}
