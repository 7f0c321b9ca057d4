//! Files that are cut, bent or lie: an answer each, never a crash, and nothing written that is not proven.

use super::scene::{PRINTED, Tree, bytes, is_there, names, readelf};

/// Binds it into another file; whatever comes out is proven by `verify`.
fn treat(tree: &Tree, content: &[u8], what: &str) -> i32 {
    let path = tree.at("bin/bent");
    std::fs::write(&path, content).unwrap();
    let _ = std::fs::remove_dir_all(tree.at("out"));
    std::fs::create_dir(tree.at("out")).unwrap();
    let (exit, stdout, stderr) = tree.said(&["bind", "bin/bent", "-o", "out/bent", "--anyway"]);
    assert!((0..=2).contains(&exit), "{what}: {stdout}{stderr}");
    if exit == 0 {
        let (exit, stdout, stderr) = tree.said(&["verify", "out/bent", "--against", "bin/bent"]);
        assert_eq!(exit, 0, "{what}: {stdout}{stderr}");
    } else {
        assert_eq!(names(&tree.at("out")), Vec::<String>::new(), "{what}: {stderr}");
        assert!(stderr.starts_with("error: "), "{what}: {stderr}");
    }
    assert!(bytes(&path) == content, "{what}");
    exit
}

#[test]
fn a_program_cut_anywhere_is_refused_or_bound_well() {
    let tree = Tree::new();
    let whole = bytes(&tree.app());
    for part in 0..24 {
        let length = whole.len() * part / 24;
        let exit = treat(&tree, &whole[..length], &format!("cut at {length}"));
        assert_ne!(exit, 0, "cut at {length}");
    }
}

#[test]
fn bent_bytes_are_an_answer() {
    let tree = Tree::new();
    let whole = bytes(&tree.app());
    let text = readelf("-S", &tree.app());
    let dynamic = text.lines().find(|line| line.contains(" .dynamic ")).unwrap();
    let columns: Vec<&str> = dynamic.split(" .dynamic ").nth(1).unwrap().split_whitespace().collect();
    let offset = usize::from_str_radix(columns[2], 16).unwrap();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..150 {
        let mut bent = whole.clone();
        for _ in 0..=number % 3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (state >> 33) as usize;
            // Headers and the dynamic table are where it hurts.
            let place = match number % 3 {
                0 => random % (64 + 56 * 13),
                1 => offset + random % 480,
                _ => random % bent.len(),
            };
            bent[place] = [0, 0xff, 0x80, (state >> 20) as u8][random % 4];
        }
        treat(&tree, &bent, &format!("number {number}"));
    }
}

#[test]
fn a_bound_program_that_was_bent_or_cut_is_an_answer_too() {
    let tree = Tree::new();
    tree.bind(&[]);
    let whole = bytes(&tree.app());
    let farm = names(&tree.at("bin/.app.libs"));
    let mut state = 1_u64;
    for number in 0..60 {
        let mut bent = whole.clone();
        if number < 12 {
            bent.truncate(whole.len() * number / 12);
        } else {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // The last third holds our tables and the note.
            let place = whole.len() - 1 - (state >> 33) as usize % (whole.len() / 3);
            bent[place] ^= 1 << (number % 8);
        }
        std::fs::write(tree.at("bin/bent"), &bent).unwrap();
        for arguments in [&["status", "bin/bent"][..], &["verify", "bin/bent"], &["unbind", "bin/bent", "-o", "out"]] {
            let (exit, stdout, stderr) = tree.said(arguments);
            assert!((0..=2).contains(&exit), "number {number} {arguments:?}: {stdout}{stderr}");
        }
        assert_eq!(names(&tree.at("bin/.app.libs")), farm);
    }
    assert_eq!(tree.start(&[]), PRINTED);
}

#[test]
fn a_note_that_lies_removes_no_folder_that_is_not_ours() {
    if !is_there("objcopy") {
        return;
    }
    let tree = Tree::new();
    tree.bind(&[]);
    // The folder's name in the note is another one of the same length: a folder that is precious.
    std::fs::create_dir(tree.at("bin/.app.mine")).unwrap();
    std::fs::write(tree.at("bin/.app.mine/file"), "precious").unwrap();
    let mut content = bytes(&tree.app());
    let (from, to) = (b"$ORIGIN/.app.libs", b"$ORIGIN/.app.mine");
    for place in 0..content.len() - from.len() {
        if &content[place..place + from.len()] == from {
            content[place..place + from.len()].copy_from_slice(to);
        }
    }
    std::fs::write(tree.app(), content).unwrap();
    let (_, stdout, stderr) = tree.said(&["unbind", "--in-place", "bin/app"]);
    assert!(tree.at("bin/.app.mine/file").exists(), "{stdout}{stderr}");
}
