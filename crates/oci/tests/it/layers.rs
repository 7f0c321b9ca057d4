//! What a container sees of its layers, by the rules of the specification's `layer.md`.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::process::Command;

use coldstart_image::{HotOrder, Plan, write_image};
use coldstart_oci::{EROFS_LAYER, Layout, NewLayout};
use coldstart_testing::{is_there, skip, succeed};
use serde_json::Value;

use crate::scene::{Layer, Scene, digest, reference, tar};

fn of(layers: &[&[&str]]) -> Vec<(String, String)> {
    let scene = Scene::new();
    scene.image(&layers.iter().map(|layer| Layer::gzip(&tar(layer))).collect::<Vec<_>>());
    scene.tree().into_iter().filter(|(_, words)| words != "/").collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, words)| ((*path).to_owned(), (*words).to_owned())).collect()
}

#[test]
fn later_layers_lie_over_earlier_ones() {
    let found =
        of(&[&["a: 1", "d/", "d/x: 1", "was dir/", "was dir/y: 1"], &["a: 2", "./d/z: 2", "was dir: 2", "/abs: 2"]]);
    assert_eq!(found, pairs(&[("/a", "2"), ("/abs", "2"), ("/d/x", "1"), ("/d/z", "2"), ("/was dir", "2")]));
}

#[test]
fn whiteouts_hide_what_lower_layers_have_and_nothing_of_their_own() {
    let lower: &[&str] = &["a: 1", "b: 1", "d/", "d/x: 1", "d/sub/", "d/sub/y: 1", "e/", "e/x: 1"];
    assert_eq!(
        of(&[lower, &[".wh.a", "b: 2", ".wh.b", "d/new: 2", "d/sub/new: 2", "d/.wh..wh..opq", ".wh.e", ".wh.nothing"]]),
        pairs(&[("/b", "2"), ("/d/new", "2"), ("/d/sub/new", "2")])
    );
    // A directory that is hidden and made anew has new names only.
    assert_eq!(of(&[&["d/", "d/x: 1"], &["d/", "d/y: 2", ".wh.d"]]), pairs(&[("/d/y", "2")]));
    // Hidden above, it may come back.
    assert_eq!(of(&[&["a: 1"], &[".wh.a"], &["a: 3"]]), pairs(&[("/a", "3")]));
    assert_eq!(of(&[&["a: 1"], &[".wh..wh.plnk", ".wh..wh.aufs: x"]]), pairs(&[("/a", "1")]));
}

#[test]
fn names_lead_through_the_links_of_the_image() {
    let found = of(&[
        &["usr/lib/a: 1", "lib -> usr/lib", "abs -> /usr", "first: f", "second = first"],
        &["lib/b: 2", "abs/lib/c: 2", "usr/third = second", "first: other", "lib/.wh.a"],
    ]);
    let expected = [
        ("/abs", "-> /usr"),
        ("/first", "other"),
        ("/lib", "-> usr/lib"),
        ("/second", "f"),
        ("/usr/lib/b", "2"),
        ("/usr/lib/c", "2"),
        ("/usr/third", "= /second"),
    ];
    assert_eq!(found, pairs(&expected));
}

#[test]
fn gnu_tar_and_zstd_are_read_as_umoci_reads_them() {
    if !["tar", "zstd", "setfattr", "umoci"].into_iter().all(is_there) {
        return skip("needs tar, zstd, attr and umoci");
    }
    let scene = Scene::new();
    let tree = scene.path("tree");
    fs::create_dir_all(tree.join("d")).unwrap();
    fs::write(tree.join("d").join("long".repeat(60)), "content").unwrap();
    fs::write(tree.join("xattr"), "x").unwrap();
    succeed(Command::new("setfattr").args(["-n", "user.lines", "-v", "0x410a420a00ff"]).arg(tree.join("xattr")));
    fs::hard_link(tree.join("xattr"), tree.join("d/other")).unwrap();
    for format in ["gnu", "pax"] {
        let path = scene.path("layer.tar");
        let mut command = Command::new("tar");
        command.args(["--sort=name", "--format", format, "-C"]).arg(&tree).arg("-cf").arg(&path);
        if format == "pax" {
            command.args(["--xattrs", "--xattrs-include=*"]);
        }
        succeed(command.arg("."));
        let bytes = fs::read(&path).unwrap();
        // Two frames: a layer may be made of several.
        let mut stored = Vec::new();
        for (number, half) in bytes.chunks(bytes.len() / 2 + 1).enumerate() {
            let part = scene.path(&format!("part{number}"));
            fs::write(&part, half).unwrap();
            succeed(Command::new("zstd").args(["-q", "-f", "-k"]).arg(&part));
            stored.extend(fs::read(part.with_extension("zst")).unwrap());
        }
        let layer = Layer {
            media_type: "application/vnd.oci.image.layer.v1.tar+zstd".to_owned(),
            stored,
            diff_id: digest(&bytes),
        };
        scene.image(&[layer]);
        let entries = scene.read().unwrap();
        let long = format!("/d/{}", "long".repeat(60));
        assert_eq!(scene.tree()[&long], "content");
        let with = entries.iter().find(|entry| entry.path.ends_with("d/other")).unwrap();
        let values: Vec<&[u8]> = with.attributes.xattrs.iter().map(|xattr| xattr.value.as_slice()).collect();
        assert_eq!(values, if format == "pax" { vec![&b"A\nB\n\0\xff"[..]] } else { vec![] });
        // The same by umoci, which knows no zstd in Debian 12, and by the reader of images.
        scene.image(&[Layer::gzip(&bytes)]);
        let (image, bundle) = (scene.path("x.erofs"), scene.path(&format!("bundle-{format}")));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&image).unwrap();
        let plan = Plan::new(scene.read().unwrap(), vec!["/".into()], &HotOrder::default()).unwrap();
        write_image(&file, &plan, &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
        if coldstart_testing::is_root() {
            let mut unpack = Command::new("umoci");
            unpack.args(["unpack", "--image"]).arg(format!("{}:here", scene.path("layout").display())).arg(&bundle);
            succeed(&mut unpack);
            let image = coldstart_image::read::Image::open(file).unwrap();
            let scope = coldstart_image::verify::Scope::Whole;
            let found = coldstart_image::verify::compare(&image, &bundle.join("rootfs"), &scope).unwrap();
            assert_eq!(found.differences, []);
        }
    }
}

#[test]
fn a_new_layout_has_right_digests_and_the_same_command() {
    let scene = Scene::new();
    scene.image(&[Layer::gzip(&tar(&["a: 1"])), Layer::plain(tar(&["b: 2"]))]);
    let source = Layout::open(&reference(scene.path("layout:here").as_os_str())).unwrap();
    let place = reference(scene.path("new:other").as_os_str());
    let layout = NewLayout::begin(&place, Some(&source)).unwrap();
    let layer = layout.layer().unwrap();
    let plan =
        Plan::new(source.entries(layout.scratch(), &mut || true).unwrap(), vec!["/".into()], &HotOrder::default());
    write_image(&layer, &plan.unwrap(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let written = layout.finish(layer, Some(&source), &mut || true).unwrap();
    let blob = |digest: &str| fs::read(scene.path("new/blobs").join(digest.replace(':', "/"))).unwrap();
    for name in fs::read_dir(scene.path("new/blobs/sha256")).unwrap() {
        let name = name.unwrap().file_name().into_string().unwrap();
        assert_eq!(digest(&blob(&format!("sha256:{name}"))), format!("sha256:{name}"));
    }
    let index: Value = serde_json::from_slice(&fs::read(scene.path("new/index.json")).unwrap()).unwrap();
    assert_eq!(index["manifests"][0]["digest"], written.manifest);
    assert_eq!(index["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], "other");
    let manifest: Value = serde_json::from_slice(&blob(&written.manifest)).unwrap();
    let layer = &manifest["layers"][0];
    assert_eq!((&layer["mediaType"], &layer["digest"]), (&EROFS_LAYER.into(), &written.layer.clone().into()));
    assert_eq!(layer["size"], blob(&written.layer).len());
    let config: Value = serde_json::from_slice(&blob(manifest["config"]["digest"].as_str().unwrap())).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"], serde_json::json!([written.layer]));
    assert_eq!(config["config"]["Cmd"], serde_json::json!(["/run"]));
    // Others read it, too, and nothing is left beside it.
    if is_there("skopeo") {
        let inspected =
            succeed(Command::new("skopeo").arg("inspect").arg(format!("oci:{}:other", scene.path("new").display())));
        assert!(inspected.contains(&written.layer), "{inspected}");
    } else {
        skip("needs skopeo");
    }
    let left = |name: &str| name.contains(".coldstart-");
    let names = fs::read_dir(scene.path("")).unwrap().map(|name| name.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| left(name)).count(), 0);
    // It is refused to be written over, and to be flattened again.
    let error = NewLayout::begin(&place, None).unwrap_err();
    assert!(error.to_string().contains("exists already") && error.hint().is_some(), "{error}");
    let error = Layout::open(&reference(scene.path("new").as_os_str())).unwrap_err();
    assert!(error.to_string().contains(EROFS_LAYER) && error.hint().is_some(), "{error}");
}

#[test]
fn a_new_layout_stays_where_it_was_begun() {
    let scene = Scene::new();
    for name in ["above", "other"] {
        fs::create_dir(scene.path(name)).unwrap();
    }
    let layout = NewLayout::begin(&reference(scene.path("above/new").as_os_str()), None).unwrap();
    fs::rename(scene.path("above"), scene.path("moved")).unwrap();
    symlink("other", scene.path("above")).unwrap();
    let layer = layout.layer().unwrap();
    layout.finish(layer, None, &mut || true).unwrap();
    assert!(scene.path("moved/new/index.json").is_file());
    // So does what is not finished, and is removed.
    let layout = NewLayout::begin(&reference(scene.path("moved/second").as_os_str()), None).unwrap();
    fs::rename(scene.path("moved"), scene.path("again")).unwrap();
    drop(layout);
    let names = |name: &str| fs::read_dir(scene.path(name)).unwrap().count();
    assert_eq!((names("again"), names("other")), (1, 0));
}
