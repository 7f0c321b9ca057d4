//! Damaged images: each change is found, and nothing in an image makes the reader panic or take long.

use std::fs;

use coldstart_image::read::Image;
use coldstart_image::verify::check;
use coldstart_testing::Random;

use crate::scene::{Scene, hot, noise};

fn small_image() -> Vec<u8> {
    let scene = Scene::new();
    let at = |name: &str| scene.tree().join(name);
    fs::create_dir(at("directory")).unwrap();
    for number in 0..50 {
        fs::write(at(&format!("directory/{}{number}", "a rather long name ".repeat(5))), []).unwrap();
    }
    fs::write(at("hot"), noise(1, 9000)).unwrap();
    fs::write(at("cold"), noise(2, 5000)).unwrap();
    std::os::unix::fs::symlink("hot", at("link")).unwrap();
    rustix::fs::lsetxattr(at("cold"), "user.attribute", b"value", rustix::fs::XattrFlags::empty()).unwrap();
    let (path, written) = scene.image("image", &hot(&[("/hot", 1), ("/hot", 0)]));
    assert!(written.size.metadata > 2 * 4096);
    fs::read(path).unwrap()
}

fn is_sound(bytes: &[u8]) -> bool {
    let found = Image::open(bytes).and_then(|image| check(&image));
    found.is_ok_and(|soundness| soundness.flaws.is_empty() && soundness.index.is_some())
}

#[test]
fn each_flipped_bit_is_found() {
    let mut image = small_image();
    assert!(is_sound(&image));
    let mut random = Random::new(3);
    for at in 0..image.len() {
        // One bit of each byte; all of the superblock's.
        let one = random.below(8);
        let bits = if (1024..1152).contains(&at) { 0..8 } else { one..one + 1 };
        for bit in bits {
            image[at] ^= 1 << bit;
            assert!(!is_sound(&image), "bit {bit} of byte {at:#x} was flipped, and nothing noticed");
            image[at] ^= 1 << bit;
        }
    }
    assert!(is_sound(&image));
}

#[test]
fn each_cut_is_found() {
    let image = small_image();
    for length in (0..image.len()).step_by(97) {
        assert!(!is_sound(&image[..length]), "cut to {length}");
    }
    // Bytes behind the image belong to nobody.
    let longer = [image, vec![1; 5000]].concat();
    assert!(is_sound(&longer));
}

/// Without the digests: whatever the bytes, the reader comes to an end.
#[test]
fn any_damage_is_survived() {
    let image = small_image();
    let mut random = Random::new(5);
    let metadata = Image::open(image.as_slice()).unwrap().index().unwrap().unwrap().metadata_length as usize;
    let (mut refused, mut read) = (0, 0);
    for _ in 0..3000 {
        let mut damaged = image.clone();
        // No checksum, so that the damage is met further on.
        damaged[1024 + 8] &= !1;
        for _ in 0..=random.below(4) {
            let at = 1152 + random.below(metadata - 1152);
            damaged[at] = match random.below(3) {
                0 => damaged[at] ^ (1 << random.below(8)),
                1 => random.below(256) as u8,
                _ => 0xff,
            };
        }
        let Ok(opened) = Image::open(damaged.as_slice()) else {
            refused += 1;
            continue;
        };
        let mut whole = true;
        for found in opened.walk() {
            let Ok(found) = found else {
                whole = false;
                break;
            };
            whole &= opened.xattrs(&found.inode).is_ok();
            let mut pieces = opened.pieces(&found.inode).take(1000);
            whole &= pieces.all(|piece| piece.is_ok());
        }
        if whole { read += 1 } else { refused += 1 }
    }
    assert!(refused > 300 && read > 300, "{refused} refused, {read} read");
}
