//! The same object, found in every kind of source.

use std::fs;
use std::process::Command;

use coldstart_testing::{is_root, is_there, skip, succeed};

use crate::scene::Scene;
use crate::tables::{column, rows};

const FIGURES: [&str; 9] = [
    "bytes",
    "build_id",
    "soname",
    "relocations",
    "packing_saves_bytes",
    "private_pages",
    "initialisers",
    "seeks",
    "read_bytes",
];

/// The figures of the object in the tree itself.
fn expected(scene: &Scene) -> Vec<Vec<String>> {
    let tree = scene.path("tree");
    assert_eq!(scene.survey(&[&tree], "of-tree").objects, 1);
    let expected = rows(&scene.path("of-tree"), "objects", &FIGURES);
    let relocations: u64 = expected[0][3].parse().unwrap();
    assert!(relocations > 500, "{expected:?}");
    expected
}

#[test]
fn a_debian_package_has_what_the_tree_has() {
    let scene = Scene::new();
    let expected = expected(&scene);
    for compression in ["xz", "gzip", "zstd", "none"] {
        let package = scene.deb(compression, compression);
        let output = format!("of-{compression}");
        let outcome = scene.survey(&[&package], &output);
        let survey = scene.path(&output);
        assert_eq!(
            (outcome.objects, outcome.problems),
            (1, 0),
            "{compression}: {:?}",
            column(&survey, "problems", "problem")
        );
        assert_eq!(rows(&survey, "objects", &FIGURES), expected, "{compression}");
        let place = rows(&survey, "objects", &["archive", "path", "package", "package_version"]);
        assert_eq!(place, [["-", "usr/lib/app/libtable.so", "app", "1.2-3"]]);
        assert_eq!(rows(&survey, "modules", &["path", "language"]), [["usr/lib/app/module.py", "python"]]);
        assert_eq!(column(&survey, "initialisers", "kind"), ["init", "init-array"]);
        assert!(column(&survey, "findings", "kind").contains(&"unpacked-relocations".to_owned()));
    }
}

#[test]
fn an_rpm_package_has_what_the_tree_has() {
    if !is_there("rpmbuild") {
        return skip("needs rpmbuild");
    }
    let scene = Scene::new();
    let expected = expected(&scene);
    let spec = format!(
        "Name: app\nVersion: 1.2\nRelease: 3\nSummary: x\nLicense: x\n%define __strip /bin/true\n%define debug_package %{{nil}}\n\
         %define __os_install_post %{{nil}}\n%define _build_id_links none\n%description\nx\n%install\nmkdir -p %{{buildroot}}\n\
         cp -a {}/usr %{{buildroot}}/\n%files\n/usr/lib/app\n",
        scene.path("tree").display()
    );
    fs::write(scene.path("app.spec"), spec).unwrap();
    for (payload, name) in [("w9.gzdio", "gzip"), ("w6.xzdio", "xz"), ("w3.zstdio", "zstd")] {
        let top = scene.path(&format!("rpm-{name}"));
        let mut command = Command::new("rpmbuild");
        command.args(["-bb", "--quiet", "--nodeps", "--define", &format!("_topdir {}", top.display())]);
        // No database of this machine is made or asked.
        command.args(["--dbpath", top.join("db").to_str().unwrap(), "--define", &format!("_binary_payload {payload}")]);
        succeed(command.arg(scene.path("app.spec")));
        let directory = top.join("RPMS");
        let output = format!("of-rpm-{name}");
        let outcome = scene.survey(&[&directory], &output);
        let survey = scene.path(&output);
        assert_eq!((outcome.objects, outcome.problems), (1, 0), "{name}: {:?}", column(&survey, "problems", "problem"));
        assert_eq!(rows(&survey, "objects", &FIGURES), expected, "{name}");
        let place = rows(&survey, "objects", &["path", "package", "package_version"]);
        assert_eq!(place, [["usr/lib/app/libtable.so", "app", "1.2-3"]]);
        assert!(column(&survey, "objects", "archive")[0].ends_with(".rpm"));
    }
}

#[test]
fn a_squashfs_image_has_what_the_tree_has() {
    let scene = Scene::new();
    let expected = expected(&scene);
    for compression in ["gzip", "xz", "zstd", "lz4"] {
        let image = scene.squashfs(&format!("{compression}.squashfs"), compression);
        let output = format!("of-{compression}");
        let outcome = scene.survey(&[&image], &output);
        let survey = scene.path(&output);
        assert_eq!(
            (outcome.objects, outcome.problems),
            (1, 0),
            "{compression}: {:?}",
            column(&survey, "problems", "problem")
        );
        assert_eq!(rows(&survey, "objects", &FIGURES), expected, "{compression}");
        assert_eq!(column(&survey, "objects", "path"), ["usr/lib/app/libtable.so"]);
    }
}

#[test]
fn an_appimage_has_what_the_tree_has() {
    let scene = Scene::new();
    let expected = expected(&scene);
    let image = fs::read(scene.squashfs("image", "zstd")).unwrap();
    let mut file = fs::read(scene.path("tree/usr/lib/app/libtable.so")).unwrap();
    file[8..11].copy_from_slice(b"AI\x02");
    file.extend(image);
    fs::write(scene.path("app.AppImage"), file).unwrap();
    let image = scene.path("app.AppImage");
    let outcome = scene.survey(&[&image], "of-appimage");
    let survey = scene.path("of-appimage");
    assert_eq!((outcome.objects, outcome.problems), (1, 0), "{:?}", column(&survey, "problems", "problem"));
    assert_eq!(rows(&survey, "objects", &FIGURES), expected);
}

#[test]
fn a_layout_has_what_the_tree_has() {
    if !is_there("umoci") {
        return skip("needs umoci");
    }
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    let expected = expected(&scene);
    for words in
        [&["init", "--layout", "app"][..], &["new", "--image", "app:1"], &["insert", "--image", "app:1", "tree", "/"]]
    {
        succeed(Command::new("umoci").args(words).current_dir(scene.path("")));
    }
    let layout = scene.path("app:1");
    let outcome = scene.survey(&[&layout], "of-layout");
    let survey = scene.path("of-layout");
    assert_eq!((outcome.objects, outcome.problems), (1, 0), "{:?}", column(&survey, "problems", "problem"));
    assert_eq!(rows(&survey, "objects", &FIGURES), expected);
    assert_eq!(column(&survey, "objects", "path"), ["usr/lib/app/libtable.so"]);
}

#[test]
fn packages_in_a_directory_and_in_one_another_are_opened() {
    let scene = Scene::new();
    let expected = expected(&scene);
    fs::create_dir(scene.path("pool")).unwrap();
    fs::rename(scene.deb("one", "xz"), scene.path("pool/one.deb")).unwrap();
    // An image with a package with the object: three deep is the last that is opened.
    fs::create_dir(scene.path("tree/packages")).unwrap();
    fs::copy(scene.path("pool/one.deb"), scene.path("tree/packages/inner.deb")).unwrap();
    fs::rename(scene.squashfs("outer", "xz"), scene.path("pool/outer.squashfs")).unwrap();
    let pool = scene.path("pool");
    let outcome = scene.survey(&[&pool], "of-pool");
    let survey = scene.path("of-pool");
    assert_eq!((outcome.objects, outcome.problems), (3, 0), "{:?}", column(&survey, "problems", "problem"));
    let places = rows(&survey, "objects", &["archive", "package"]);
    assert_eq!(places, [["one.deb", "app"], ["outer.squashfs", "-"], ["outer.squashfs > packages/inner.deb", "app"]]);
    for row in rows(&survey, "objects", &FIGURES) {
        assert_eq!(row, expected[0]);
    }
}
