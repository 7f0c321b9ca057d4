//! Compressed hot files: the same contents, in the same order, in fewer bytes.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_image::HotOrder;
use coldstart_image::read::{Image, Packed};
use coldstart_testing::{Random, is_there, skip};

use crate::scene::{Scene, compared, fill_with_everything, hot, noise, sound};

/// Bytes that zstd makes smaller: words of a small set.
fn words(seed: usize, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed as u64 + 1);
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < length {
        bytes.extend_from_slice([&b"inode "[..], b"page", b" block", b" of "][random.below(4)]);
    }
    bytes.truncate(length);
    bytes
}

#[test]
fn an_image_of_everything_is_the_same_when_it_is_compressed() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    fs::write(scene.tree().join("words"), words(1, 700_001)).unwrap();
    let mut order =
        vec![("/sparse", 122), ("/sparse", 3), ("/huge", (1 << 30) / 4096), ("/file-1", 0), ("/all hole", 0)];
    // Noise, which is stored as it is; a long run of several units; the last page of a file.
    order.extend([("/file-3000000", 700), ("/file-3000000", 701), ("/attributes", 0), ("/file-4097", 1)]);
    order.extend((20..100).map(|page| ("/words", page)));
    order.extend([("/words", 170), ("/words", 0), ("/file-3000000", 3)]);
    let (path, written) = scene.compressed_image("image", &hot(&order));
    scene.judge(&path);
    let (plain, as_it_is) = scene.image("plain", &hot(&order));
    scene.judge(&plain);
    assert!(written.size.hot < as_it_is.size.hot && written.size.total < as_it_is.size.total);
    assert_eq!(compared(&path, &scene.tree()), compared(&plain, &scene.tree()));
    // The same input gives the same bytes.
    let (again, _) = scene.compressed_image("again", &hot(&order));
    assert!(fs::read(path).unwrap() == fs::read(again).unwrap());
}

#[test]
fn units_lie_in_the_order_of_the_start_and_zstd_unpacks_them() {
    let scene = Scene::new();
    let (a, b) = (words(1, 100_000), words(2, 50_001));
    fs::write(scene.tree().join("a"), &a).unwrap();
    fs::write(scene.tree().join("b"), &b).unwrap();
    fs::write(scene.tree().join("noise"), noise(3, 8192)).unwrap();
    let order = [("/a", 20), ("/b", 12), ("/a", 3), ("/a", 4), ("/noise", 1), ("/b", 0)];
    let (path, written) = scene.compressed_image("image", &hot(&order));
    scene.judge(&path);
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    let index = image.index().unwrap().unwrap();
    assert_eq!(index.hot, written.size.metadata..written.size.metadata + written.size.hot);
    // The index's front part has one page; all units fit in the next two, with the noise among them.
    assert_eq!(written.size.hot, 3 * 4096);
    let mut next = index.hot.start + 4096;
    for (name, page, content) in
        [("/a", 20, &a[20 * 4096..21 * 4096]), ("/b", 12, &b[12 * 4096..]), ("/a", 3, &a[3 * 4096..5 * 4096])]
    {
        let inode = image.find(Path::new(name)).unwrap().unwrap();
        let mut pieces = image.pieces(&inode);
        let piece = pieces.find(|piece| piece.as_ref().unwrap().offset == page * 4096).unwrap().unwrap();
        let packed = piece.packed.unwrap();
        let expected = Packed { start: page * 4096, length: content.len() as u64, place: next, stored: packed.stored };
        assert_eq!(packed, expected);
        let mut frame = vec![0; packed.stored as usize];
        File::open(&path).unwrap().read_exact_at(&mut frame, next).unwrap();
        assert!(unpacked_by_zstd(&frame).is_none_or(|unpacked| unpacked == content));
        next += packed.stored;
    }
    let inode = image.find(Path::new("/noise")).unwrap().unwrap();
    let places: Vec<(Option<u64>, bool)> =
        image.pieces(&inode).map(|piece| piece.unwrap()).map(|piece| (piece.place, piece.packed.is_some())).collect();
    assert_eq!(places[1], (Some(next), false), "what zstd does not make smaller is stored as it is");
}

/// By the program zstd.
fn unpacked_by_zstd(frame: &[u8]) -> Option<Vec<u8>> {
    if !is_there("zstd") {
        skip("needs zstd");
        return None;
    }
    let mut child = std::process::Command::new("zstd")
        .args(["-dc"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(frame).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

#[test]
fn each_flipped_bit_of_a_compressed_image_is_found() {
    let scene = Scene::new();
    fs::write(scene.tree().join("a"), words(1, 30_000)).unwrap();
    fs::write(scene.tree().join("b"), noise(2, 5000)).unwrap();
    fs::write(scene.tree().join("cold"), words(3, 5000)).unwrap();
    let (path, _) = scene.compressed_image("image", &hot(&[("/a", 2), ("/b", 0), ("/a", 0)]));
    let mut image = fs::read(&path).unwrap();
    let is_sound = |bytes: &[u8]| {
        let found = Image::open(bytes).and_then(|image| coldstart_image::verify::check(&image));
        found.is_ok_and(|soundness| soundness.flaws.is_empty() && soundness.index.is_some())
    };
    assert!(is_sound(&image));
    let hot = sound(&path).index.unwrap().hot;
    let mut random = Random::new(3);
    // All bytes of the hot range, and some of what is as in other images.
    for at in (0..image.len()).filter(|at| hot.contains(&(*at as u64)) || at % 5 == 0) {
        let bit = random.below(8);
        image[at] ^= 1 << bit;
        assert!(!is_sound(&image), "bit {bit} of byte {at:#x} was flipped, and nothing noticed");
        image[at] ^= 1 << bit;
    }
}

/// Without the digests: whatever the bytes, the reader comes to an end.
#[test]
fn any_damage_to_a_compressed_image_is_survived() {
    let scene = Scene::new();
    fs::write(scene.tree().join("a"), words(1, 300_000)).unwrap();
    fs::write(scene.tree().join("b"), noise(2, 5000)).unwrap();
    let (path, _) = scene.compressed_image("image", &hot(&[("/a", 2), ("/b", 0), ("/a", 0), ("/a", 50)]));
    let image = fs::read(&path).unwrap();
    let end = sound(&path).index.unwrap().hot.end as usize;
    let mut random = Random::new(5);
    let (mut refused, mut read) = (0, 0);
    for _ in 0..2000 {
        let mut damaged = image.clone();
        // No checksum, so that the damage is met further on.
        damaged[1024 + 8] &= !1;
        for _ in 0..=random.below(3) {
            let at = 1152 + random.below(end - 1152);
            damaged[at] = [damaged[at] ^ (1 << random.below(8)), random.below(256) as u8, 0xff][random.below(3)];
        }
        let opened = Image::open(damaged.as_slice()).unwrap();
        let content = |name: &str| {
            let inode = opened.find(Path::new(name)).ok()??;
            let mut bytes = vec![0; inode.size.min(1 << 20) as usize];
            opened.read_at(&inode, 0, &mut bytes).ok()
        };
        if content("/a").is_some() && content("/b").is_some() { read += 1 } else { refused += 1 }
    }
    assert!(refused > 100 && read > 100, "{refused} refused, {read} read");
}

#[test]
fn a_compressed_image_without_hot_pages_has_nothing_compressed() {
    let scene = Scene::new();
    fs::write(scene.tree().join("a"), words(1, 30_000)).unwrap();
    let (path, written) = scene.compressed_image("image", &HotOrder::default());
    scene.judge(&path);
    assert_eq!((written.size.hot, sound(&path).index.unwrap().runs.len()), (4096, 0));
}
