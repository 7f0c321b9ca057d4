//! Images that mkfs.erofs made.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use coldstart_image::is_start_image;
use coldstart_image::read::{Image, ReadError};
use coldstart_testing::{is_there, skip, succeed};

use crate::scene::{Scene, compared, fill_with_everything, noise, sound};

/// Makes an image of the scene's tree; `None` where mkfs.erofs is missing.
fn make(scene: &Scene, options: &[&str]) -> Option<std::path::PathBuf> {
    if !is_there("mkfs.erofs") {
        skip("needs mkfs.erofs (erofs-utils)");
        return None;
    }
    let path = scene.path(&format!("foreign{}", options.concat()));
    succeed(Command::new("mkfs.erofs").args(options).arg(&path).arg(scene.tree()));
    Some(path)
}

#[test]
fn images_of_mkfs_are_read_to_the_last_byte() {
    let scene = Scene::new();
    fill_with_everything(&scene.tree());
    // mkfs.erofs 1.5 has no room for the longest name, and stores a hole like data.
    fs::remove_file(scene.tree().join("many").join("x".repeat(255))).unwrap();
    fs::remove_file(scene.tree().join("huge")).unwrap();
    for options in
        [&["-x1"][..], &["-x2", "--ignore-mtime"], &["-x1", "--chunksize=4096"], &["-x1", "--chunksize=65536"]]
    {
        let Some(path) = make(&scene, options) else { return };
        let soundness = sound(&path);
        assert_eq!(soundness.flaws, []);
        assert!(soundness.index.is_none() && !is_start_image(&File::open(&path).unwrap()).unwrap());
        let mut differences = compared(&path, &scene.tree()).differences;
        if options.contains(&"--ignore-mtime") {
            // Compact inodes have one time for all.
            differences.retain(|found| !matches!(found.aspect, coldstart_image::verify::Aspect::Modified(..)));
        }
        assert_eq!(differences, [], "{options:?}");
    }
}

#[test]
fn what_we_do_not_read_is_refused_by_name() {
    let scene = Scene::new();
    fs::write(scene.tree().join("text"), "text ".repeat(100_000)).unwrap();
    let Some(path) = make(&scene, &["-zlz4"]) else { return };
    let opened = Image::open(File::open(&path).unwrap());
    let refused = opened.and_then(|image| image.walk().find_map(Result::err).map_or(Ok(()), Err));
    let error = refused.unwrap_err();
    assert!(matches!(error, ReadError::Unsupported { .. }), "{error}");
    assert!(error.hint().unwrap().contains("without compression"));
    let Err(error) = Image::open(noise(1, 10_000).as_slice()) else { panic!("noise is no image") };
    assert_eq!(error.to_string(), "not an EROFS image: no magic number at offset 1024");
}

#[test]
fn shared_attributes_are_found() {
    let scene = Scene::new();
    for number in 0..20 {
        let path = scene.tree().join(number.to_string());
        fs::write(&path, []).unwrap();
        rustix::fs::lsetxattr(&path, "user.same", noise(1, 500).as_slice(), rustix::fs::XattrFlags::empty()).unwrap();
    }
    let Some(path) = make(&scene, &["-x2"]) else { return };
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 20 * 500, "they are not shared");
    let inode = image.find(Path::new("/7")).unwrap().unwrap();
    assert_eq!(image.xattrs(&inode).unwrap()[0].value, noise(1, 500));
    assert_eq!(compared(&path, &scene.tree()).differences, []);
}
