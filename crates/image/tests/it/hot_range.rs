//! Where hot pages lie, and what the index says of them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_image::read::Image;
use coldstart_image::{FirstTouches, HotOrder, LeftOutReason, hot_order};
use coldstart_profile::{FileIdentity, PageRange};

use crate::scene::{Scene, hot, noise, sound};

#[test]
fn hot_pages_lie_in_the_order_of_the_start_right_behind_the_metadata() {
    let scene = Scene::new();
    let (a, b) = (noise(1, 100_000), noise(2, 50_001));
    fs::create_dir(scene.tree().join("bin")).unwrap();
    fs::write(scene.tree().join("bin/a"), &a).unwrap();
    fs::write(scene.tree().join("b"), &b).unwrap();
    fs::write(scene.tree().join("cold"), noise(3, 10_000)).unwrap();
    let order = [("/bin/a", 20), ("/b", 12), ("/bin/a", 3), ("/bin/a", 4), ("/b", 0), ("/bin/a", 3)];
    let (path, written) = scene.image("image", &hot(&order));
    scene.judge(&path);
    let file = File::open(&path).unwrap();
    let index = Image::open(File::open(&path).unwrap()).unwrap().index().unwrap().unwrap();
    assert_eq!(index.hot, written.size.metadata..written.size.metadata + written.size.hot);
    assert_eq!(index.programs, ["program --option"]);
    assert_eq!(index.trees, [Path::new("/")]);
    let runs: Vec<(u32, u32, u32)> = index.runs.iter().map(|run| (run.file, run.start, run.pages)).collect();
    assert_eq!(runs, [(0, 20, 1), (1, 12, 1), (0, 3, 2), (1, 0, 1)]);
    let paths: Vec<&Path> = index.files.iter().map(|file| file.path.as_path()).collect();
    assert_eq!(paths, [Path::new("/bin/a"), Path::new("/b")]);
    // The bytes, read without any knowledge of the format.
    let mut range = vec![0; 5 * 4096];
    file.read_exact_at(&mut range, index.hot.start + 4096).unwrap();
    let mut last = b[12 * 4096..].to_vec();
    last.resize(4096, 0);
    let expected = [&a[20 * 4096..21 * 4096], &last, &a[3 * 4096..5 * 4096], &b[..4096]].concat();
    assert!(range == expected);
    // The identities are those of the originals.
    for (name, content) in [("bin/a", &a), ("b", &b)] {
        let image = Image::open(File::open(&path).unwrap()).unwrap();
        let number = image.find(&Path::new("/").join(name)).unwrap().unwrap().number;
        let original = index.originals.iter().find(|original| original.number == number).unwrap();
        assert_eq!(original.digest, *blake3::hash(content).as_bytes());
        let metadata = fs::metadata(scene.tree().join(name)).unwrap();
        use std::os::unix::fs::MetadataExt;
        let identity = FileIdentity::from_stat(metadata.len() as i64, metadata.mtime(), metadata.mtime_nsec());
        assert_eq!(original.identity, identity);
    }
    assert_eq!(index.originals.len(), 3, "the index is not an original");
}

#[test]
fn pages_that_are_not_in_the_image_are_told() {
    let scene = Scene::new();
    fs::write(scene.tree().join("a"), noise(1, 5000)).unwrap();
    fs::create_dir(scene.tree().join("d")).unwrap();
    let plan = scene.plan(&hot(&[("/home/x", 7), ("/a", 1), ("/a", 2), ("/d", 0)]));
    let told: Vec<(&str, u64, LeftOutReason)> =
        plan.left_out().iter().map(|left| (left.path.to_str().unwrap(), left.pages.start.0, left.reason)).collect();
    assert_eq!(
        told,
        [
            ("/home/x", 7, LeftOutReason::NotInImage),
            ("/a", 2, LeftOutReason::PastEnd),
            ("/d", 0, LeftOutReason::NotInImage),
        ]
    );
    assert_eq!(plan.hot_pages(), 1);
}

#[test]
fn programs_have_areas_of_their_own() {
    let scene = Scene::new();
    for name in ["libc", "a", "b"] {
        fs::write(scene.tree().join(name), noise(1, 20 * 4096)).unwrap();
    }
    let start = |program: &str, pages: &[(&str, u64, u64)]| FirstTouches {
        program: program.into(),
        pages: pages.iter().map(|&(path, start, count)| (path.into(), PageRange::new(start, count).unwrap())).collect(),
    };
    let starts = [start("a", &[("/a", 0, 3), ("/libc", 2, 4)]), start("b", &[("/b", 5, 2), ("/libc", 0, 4)])];
    let (path, _) = scene.image("image", &hot_order(&starts).unwrap());
    scene.judge(&path);
    let index = sound(&path).index.unwrap();
    let runs: Vec<(u64, u32, u32, u32)> =
        index.runs.iter().map(|run| (run.programs, run.file, run.start, run.pages)).collect();
    assert_eq!(runs, [(3, 0, 2, 2), (1, 1, 0, 3), (1, 0, 4, 2), (2, 2, 5, 2), (2, 0, 0, 2)]);
}

#[test]
fn hot_pages_of_a_hundred_files_keep_their_order() {
    let scene = Scene::new();
    for number in 0..100 {
        fs::write(scene.tree().join(format!("{number}")), noise(number, 30_000)).unwrap();
    }
    let mut random = coldstart_testing::Random::new(7);
    let pages: Vec<(String, u64)> =
        (0..1000).map(|_| (format!("/{}", random.below(100)), random.below(8) as u64)).collect();
    let pages: Vec<(&str, u64)> = pages.iter().map(|(path, page)| (path.as_str(), *page)).collect();
    let (path, _) = scene.image("image", &hot(&pages));
    scene.judge(&path);
    let mut expected = Vec::new();
    for page in pages {
        if !expected.contains(&page) {
            expected.push(page);
        }
    }
    let index = sound(&path).index.unwrap();
    let found: Vec<(&str, u64)> = index
        .runs
        .iter()
        .flat_map(|run| {
            let path = index.files[run.file as usize].path.to_str().unwrap();
            (run.start..run.start + run.pages).map(move |page| (path, page.into()))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn an_image_without_hot_pages_has_an_index_all_the_same() {
    let scene = Scene::new();
    let (path, written) = scene.image("image", &HotOrder::default());
    assert_eq!((written.size.hot, sound(&path).index.unwrap().runs.len()), (4096, 0));
}
