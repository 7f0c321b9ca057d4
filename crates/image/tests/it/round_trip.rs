//! What is written is read: by us, by fsck.erofs, by the kernel.

use std::fs::{self, File};
use std::path::Path;

use coldstart_image::read::Image;
use coldstart_image::tree::Collector;
use coldstart_image::verify::{Aspect, Difference, Scope, compare};
use coldstart_image::{HotOrder, Plan, is_start_image, write_image};

use crate::scene::{Scene, compared, fill_with_everything, go_on, hot, noise, set_time};

#[test]
fn one_of_everything_comes_back() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    let (path, written) = scene.image("image", &HotOrder::default());
    scene.judge(&path);
    assert!(is_start_image(&File::open(&path).unwrap()).unwrap());
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    assert_eq!((image.superblock().uuid, image.superblock().inodes), (written.uuid, written.size.inodes));
    // More than 1 GiB of hole takes no room.
    assert!(written.size.total < 20 << 20, "{:?}", written.size);
}

#[test]
fn with_hot_pages_everything_comes_back_too() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    let pages = [
        ("/file-3000000", 700),
        ("/sparse", 122),
        ("/file-3000000", 0),
        ("/file-1", 0),
        ("/directory/c", 0),
        ("/many/-", 0),
        ("/huge", 1 << 18),
        ("/file-100000", 24),
        ("/sparse", 0),
    ];
    let (path, written) = scene.image("image", &hot(&pages));
    scene.judge(&path);
    // All but the page of a hole, and one for the index.
    assert_eq!(written.size.hot, 9 * 4096);
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    let order = hot(&[("/file-3000000", 3), ("/file-100000", 1)]);
    let (one, first) = scene.image("one", &order);
    let (other, second) = scene.image("other", &order);
    assert_eq!(first.uuid, second.uuid);
    assert!(fs::read(one).unwrap() == fs::read(other).unwrap());
    // Of a copy as well, whose directories have another order on the disk.
    let copy = Scene::new();
    fs::remove_dir(copy.tree()).unwrap();
    coldstart_testing::succeed(std::process::Command::new("cp").arg("-a").arg(scene.tree()).arg(copy.tree()));
    assert_eq!(copy.image("image", &order).1.uuid, first.uuid);
    // Another content, another time, another order: another UUID.
    set_time(&scene.tree().join("file-0"), 5, 5);
    let (_, third) = scene.image("third", &order);
    let (_, fourth) = scene.image("fourth", &hot(&[("/file-100000", 1), ("/file-3000000", 3)]));
    assert!(third.uuid != first.uuid && fourth.uuid != third.uuid);
}

#[test]
fn an_empty_tree_is_an_image() {
    let scene = Scene::new();
    let (path, written) = scene.image("image", &HotOrder::default());
    scene.judge(&path);
    assert_eq!(written.size.total, 2 * 4096, "metadata and the index");
}

#[test]
fn a_directory_of_many_blocks_is_found_in() {
    let scene = Scene::new();
    fs::create_dir(scene.tree().join("d")).unwrap();
    for number in 0..20_000 {
        fs::write(scene.tree().join(format!("d/{number}")), []).unwrap();
    }
    let (path, _) = scene.image("image", &HotOrder::default());
    scene.judge(&path);
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    assert!(image.find(Path::new("/d/19999")).unwrap().is_some());
    assert!(image.find(Path::new("/d/20000")).unwrap().is_none());
}

#[test]
fn every_difference_is_named() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    let (path, _) = scene.image("image", &hot(&[("/file-100000", 3)]));
    let at = |name: &str| scene.tree().join(name);
    let mut bytes = fs::read(at("file-100000")).unwrap();
    bytes[70_001] ^= 1;
    let modified = fs::metadata(at("file-100000")).unwrap().modified().unwrap();
    fs::write(at("file-100000"), bytes).unwrap();
    File::options().write(true).open(at("file-100000")).unwrap().set_modified(modified).unwrap();
    let modified = fs::metadata(scene.tree()).unwrap().modified().unwrap();
    fs::remove_file(at("file-0")).unwrap();
    fs::write(at("new"), "new").unwrap();
    fs::remove_file(at("file-4095")).unwrap();
    fs::create_dir(at("file-4095")).unwrap();
    File::open(scene.tree()).unwrap().set_modified(modified).unwrap();
    rustix::fs::lsetxattr(at("attributes"), "user.other", b"3", rustix::fs::XattrFlags::empty()).unwrap();
    let differences = compared(&path, &scene.tree()).differences;
    let named = |path: &str, aspect| Difference { path: path.into(), aspect };
    let expected = [
        named("/attributes", Aspect::Xattr("user.other".into())),
        named("/file-0", Aspect::OnlyInImage),
        named("/file-100000", Aspect::Content(70_001)),
        named("/file-4095", Aspect::Kind("a regular file", "a directory")),
        named("/new", Aspect::OnlyInTree),
    ];
    assert_eq!(differences, expected);
    assert_eq!(differences[2].to_string(), "`/file-100000`: other content from offset 0x11171 on");
}

#[test]
fn a_file_is_taken_with_all_that_leads_to_it_and_nothing_else() {
    let scene = Scene::new();
    let at = |name: &str| scene.tree().join(name);
    fs::create_dir_all(at("usr/lib/real")).unwrap();
    fs::write(at("usr/lib/real/library"), noise(1, 9000)).unwrap();
    fs::write(at("usr/lib/other"), "other").unwrap();
    std::os::unix::fs::symlink("usr/lib", at("lib")).unwrap();
    std::os::unix::fs::symlink("../lib/real/library", at("usr/lib/library.so")).unwrap();
    let mut collector = Collector::new(&scene.tree()).unwrap();
    assert_eq!(collector.add_path(Path::new("/lib/library.so")).unwrap(), Path::new("/usr/lib/real/library"));
    assert!(collector.add_path(Path::new("/lib/missing")).is_err());
    let (entries, trees) = collector.finish();
    let paths: Vec<&str> = entries.iter().map(|entry| entry.path.to_str().unwrap()).collect();
    assert_eq!(
        paths,
        ["/", "/lib", "/usr", "/usr/lib", "/usr/lib/library.so", "/usr/lib/real", "/usr/lib/real/library"]
    );
    let plan = Plan::new(entries, trees.clone(), &HotOrder::default()).unwrap();
    let file = File::create_new(scene.path("image")).unwrap();
    write_image(&file, &plan, &mut go_on).unwrap();
    let image = Image::open(File::open(scene.path("image")).unwrap()).unwrap();
    // Nothing was taken whole, so nothing is missing.
    assert_eq!(compare(&image, &scene.tree(), &Scope::Trees(trees)).unwrap().differences, []);
    assert_ne!(compare(&image, &scene.tree(), &Scope::Whole).unwrap().differences, []);
}
