//! Paths in a sysroot, by both ways of resolving them: nothing leads out, and both ways answer alike.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;

/// A directory with a sysroot `root` and a file `secret` beside it.
struct Scene {
    directory: TempDir,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("root/usr/lib")).unwrap();
        fs::write(at("secret"), "outside").unwrap();
        fs::write(at("root/usr/lib/a.so.1"), "inside").unwrap();
        for (target, link) in [
            // As Debian has it, and with an absolute link.
            ("usr/lib", "lib"),
            ("/usr/lib", "lib64"),
            ("a.so.1", "usr/lib/a.so"),
            ("../../../../usr/lib/a.so.1", "usr/lib/up.so"),
            // These would lead out.
            ("../secret", "relative"),
            ("../../../../../../../../../../../../etc/passwd", "far"),
            ("circle", "circle"),
            ("two", "one"),
            ("one", "two"),
            ("nowhere", "dangling"),
            ("..", "usr/above"),
            ("/", "usr/top"),
        ] {
            symlink(target, directory.path().join("root").join(link)).unwrap();
        }
        symlink(at("secret"), at("root/absolute")).unwrap();
        Self { directory }
    }

    /// The same sysroot by each way that this kernel has.
    fn roots(&self) -> Vec<Root> {
        let path = self.directory.path().join("root");
        let usual = Root::open(Some(&path)).unwrap();
        let stepwise = Root::open_by(Some(&path), Some(Lookup::Stepwise)).unwrap();
        assert_eq!(stepwise.lookup(), Some(Lookup::Stepwise));
        vec![usual, stepwise]
    }
}

fn read(root: &Root, path: &str) -> Option<String> {
    let mut text = String::new();
    root.open_regular(Path::new(path)).ok()?.0.read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn links_stay_inside_the_root() {
    let scene = Scene::new();
    for root in scene.roots() {
        let real = |path: &str| root.real_path(Path::new(path)).ok();
        for path in ["/lib/a.so", "/lib64/a.so", "/../../lib/./a.so", "usr/above/lib//a.so", "/usr/top/usr/lib/up.so"] {
            assert_eq!(read(&root, path).as_deref(), Some("inside"), "{path} by {:?}", root.lookup());
            assert_eq!(real(path).as_deref(), Some(Path::new("/usr/lib/a.so.1")), "{path}");
        }
        for path in ["/relative", "/absolute", "/far", "/../secret", "/usr/above/../../secret", "/usr/top/../secret"] {
            assert_eq!(read(&root, path), None, "{path} by {:?}", root.lookup());
            assert_eq!(real(path), None, "{path}");
        }
        assert_eq!(real("/.."), Some(PathBuf::from("/")));
        assert_eq!(real("/nowhere/../lib"), None);
        let loops = root.find(Path::new("/circle/x")).unwrap_err();
        assert_eq!(Errno::from_io_error(&loops), Some(Errno::LOOP));
    }
}

#[test]
fn a_root_that_is_moved_stays_the_root() {
    let scene = Scene::new();
    for root in scene.roots() {
        let at = |name: &str| scene.directory.path().join(name);
        fs::rename(at("root"), at("moved")).unwrap();
        assert_eq!(read(&root, "/lib/a.so").as_deref(), Some("inside"));
        assert_eq!(root.real_path(Path::new("/lib")).unwrap(), Path::new("/usr/lib"));
        fs::rename(at("moved"), at("root")).unwrap();
    }
}

/// All paths of up to three of these parts.
fn paths() -> Vec<String> {
    let parts = ["usr", "lib", "lib64", "a.so", "above", "top", "one", "dangling", "absolute", "..", ".", ""];
    let mut paths = vec![String::new()];
    let mut longest = paths.clone();
    for _ in 0..3 {
        longest = longest.iter().flat_map(|path| parts.map(|part| format!("{path}/{part}"))).collect();
        paths.extend(longest.iter().cloned());
    }
    paths
}

#[test]
fn both_ways_answer_alike() {
    let scene = Scene::new();
    let [usual, stepwise] = scene.roots().try_into().unwrap();
    if usual.lookup() == Some(Lookup::Stepwise) {
        coldstart_testing::skip("this kernel has no openat2, or forbids it");
        return;
    }
    let answer = |root: &Root, path: &Path| match root.find(path) {
        Ok(found) => Ok(identity(found.stat())),
        Err(error) => Err(Errno::from_io_error(&error)),
    };
    for path in paths() {
        let path = Path::new(&path);
        assert_eq!(answer(&usual, path), answer(&stepwise, path), "{path:?}");
        assert_eq!(usual.is_directory(path), stepwise.is_directory(path), "{path:?}");
    }
    let long = format!("/{}", "usr/../".repeat(700));
    assert_eq!(answer(&usual, Path::new(&long)), answer(&stepwise, Path::new(&long)));
}

#[test]
fn directories_are_listed_and_libraries_read_inside() {
    let scene = Scene::new();
    for root in scene.roots() {
        let mut names = root.list_directory(Path::new("/lib64")).unwrap();
        names.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [("a.so", Listed::Link), ("a.so.1", Listed::File), ("up.so", Listed::Link)];
        assert_eq!(names, expected.map(|(name, listed)| (name.as_bytes().to_vec(), listed)));
        assert!(root.list_directory(Path::new("/lib/a.so")).is_err());
        assert_eq!(root.directory_identity(b"/lib"), root.identity(Path::new("/usr/lib")).ok());
        assert_eq!((root.directory_identity(b"/lib/a.so"), root.directory_identity(b"/nowhere")), (None, None));
        assert_eq!(root.library(b"/lib/a.so"), Err(NoLibrary::NotElf));
        assert_eq!(root.library(b"/circle"), Err(NoLibrary::Missing));
        assert_eq!(root.library(b"/absolute"), Err(NoLibrary::Missing));
        assert_eq!(root.read(Path::new("/lib/a.so"), 6).unwrap(), b"inside");
        assert!(root.read(Path::new("/lib/a.so"), 5).is_err());
        let error = root.check_directory(Path::new("/lib/a.so")).unwrap_err();
        assert_eq!(error.to_string(), "it is a regular file, not a directory");
    }
}

#[test]
fn paths_of_the_host_are_seen_from_inside() {
    let scene = Scene::new();
    symlink("root", scene.directory.path().join("link")).unwrap();
    let given = scene.directory.path().join("link");
    let root = Root::open(Some(&given)).unwrap();
    let real = scene.directory.path().canonicalize().unwrap().join("root");
    assert_eq!((root.given_sysroot(), root.sysroot()), (Some(given.as_path()), Some(real.as_path())));
    assert_eq!(root.inside(&real.join("usr/lib")).as_deref(), Some(Path::new("/usr/lib")));
    assert_eq!(root.inside(Path::new("/etc")), None);
    assert_eq!(root.absolute(Path::new("usr")).unwrap(), Path::new("/usr"));
    assert_eq!(Root::host().inside(Path::new("/etc")).as_deref(), Some(Path::new("/etc")));
}

#[test]
fn what_is_no_directory_is_refused() {
    let scene = Scene::new();
    let error = Root::open(Some(&scene.directory.path().join("secret"))).unwrap_err();
    assert_eq!(error.source.to_string(), "it is a regular file, not a directory");
    assert_eq!(Root::open(Some(Path::new("/nowhere/x"))).unwrap_err().source.kind(), io::ErrorKind::NotFound);
}
