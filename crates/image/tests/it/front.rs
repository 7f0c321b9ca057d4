//! What a start reads of an image: the same index as a whole reader finds, and no damage that makes it panic.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use coldstart_image::read::Image;
use coldstart_image::start::{Front, FrontError, open_if_image};

use crate::scene::{Scene, hot, noise};

const BLOCK: u64 = 4096;

/// A scene with an image, open for changes.
fn scene() -> (Scene, File) {
    let scene = Scene::new();
    for name in ["a", "b"] {
        fs::write(scene.tree().join(name), noise(1, 20_000)).unwrap();
    }
    let (path, _) = scene.image("image", &hot(&[("/b", 1), ("/a", 0), ("/b", 4)]));
    let file = File::options().read(true).write(true).open(path).unwrap();
    (scene, file)
}

#[test]
fn the_front_is_the_index_without_its_originals() {
    let (scene, file) = scene();
    let front = Front::read(&file).unwrap();
    let mut whole = Image::open(file).unwrap().index().unwrap().unwrap();
    whole.originals.clear();
    assert_eq!(front.index, whole);
    assert_eq!(front.index.files.len(), 2);
    let is_image = |path: std::path::PathBuf| open_if_image(&path).is_some();
    assert!(
        is_image(scene.path("image")) && !is_image(scene.tree().join("a")) && !is_image(scene.tree().to_path_buf())
    );
}

#[test]
fn each_cut_is_refused() {
    let (_scene, file) = scene();
    let length = file.metadata().unwrap().len();
    for length in (0..length).rev().filter(|at| at % 97 == 0 || at % BLOCK <= 1 || at % BLOCK == BLOCK - 1) {
        file.set_len(length).unwrap();
        let found = Front::read(&file);
        match length < BLOCK {
            true => assert!(matches!(found, Err(FrontError::Index(_))), "{length}: {found:?}"),
            false => assert!(matches!(found, Err(FrontError::Short { .. })), "{length}: {found:?}"),
        }
    }
}

#[test]
fn a_flipped_bit_of_the_front_is_refused_and_none_does_harm() {
    let (_scene, file) = scene();
    let index = Front::read(&file).unwrap().index;
    let front = index.hot.start..index.hot.start + index.front_length();
    for at in (0..BLOCK).chain(front.clone()) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        for bit in 0..8 {
            file.write_all_at(&[byte[0] ^ 1 << bit], at).unwrap();
            let found = Front::read(&file);
            // Of the first block, a start needs little; the kernel checks the rest.
            if front.contains(&at) {
                assert!(found.is_err(), "bit {bit} of byte {at:#x}");
            } else if let Ok(found) = found {
                assert_eq!(found.index, index, "bit {bit} of byte {at:#x}");
            }
        }
        file.write_all_at(&byte, at).unwrap();
    }
    assert_eq!(Front::read(&file).unwrap().index, index);
}
