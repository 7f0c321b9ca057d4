//! Layouts that are damaged, or made to do harm: each is refused by the name of the file and of what is wrong in it, with advice.

use std::fs;

use coldstart_oci::{Layout, OciError};
use serde_json::json;

use crate::scene::{Layer, Scene, reference, tar};

#[track_caller]
fn says(error: &OciError, words: &[&str]) {
    let said = error.to_string();
    assert!(words.iter().all(|word| said.contains(word)), "{words:?}: {said}");
    assert!(error.hint().is_some(), "{said}");
}

#[track_caller]
fn refused(layers: &[Layer], words: &[&str]) {
    let scene = Scene::new();
    scene.image(layers);
    says(&scene.read().unwrap_err(), words);
}

#[test]
fn entries_that_lead_out_of_the_image_are_refused() {
    for (entries, words) in [
        (&["../etc/passwd: x"][..], ["../etc/passwd", "`..`"]),
        (&["a/", "a/../../b: x"], ["a/../../b", "`..`"]),
        (&["out -> ../../..", "out/etc/passwd: x"], ["out/etc/passwd", "leads out of the image"]),
        (&["h = ../../etc/shadow"], ["`h`", "../../etc/shadow"]),
        (&["h = /etc/shadow"], ["`h`", "not a file of the image"]),
        (&["d/", "h = d"], ["`h`", "not a file of the image"]),
        (&["l -> l", "l/x: 1"], ["l/x", "too many symbolic links"]),
        (&["a: 1", "a/b: 2"], ["a/b", "not a directory"]),
        (&[".wh.: x"], [".wh.", "whiteout of nothing"]),
        (&["d/.wh...: x"], [".wh...", "whiteout of nothing"]),
        (&["a: 1", ".: x"], ["`.`", "not a directory"]),
    ] {
        refused(&[Layer::plain(tar(entries))], &words);
        refused(&[Layer::gzip(&tar(entries))], &words);
    }
}

#[test]
fn damaged_and_false_layers_are_refused() {
    let good = Layer::gzip(&tar(&["a: 1"]));
    refused(&[Layer { diff_id: format!("sha256:{:064}", 0), ..good.clone() }], &["has the digest", "is declared"]);
    refused(&[Layer { diff_id: "sha256:../x".into(), ..good.clone() }], &["sha256:../x", "64 hexadecimal digits"]);
    refused(&[Layer { media_type: "application/x-rar".into(), ..good.clone() }], &["application/x-rar"]);
    let cut = good.stored[..good.stored.len() - 12].to_vec();
    refused(&[Layer { stored: cut, ..good.clone() }], &["blobs/sha256/"]);
    refused(&[Layer { stored: b"no gzip".to_vec(), ..good.clone() }], &["blobs/sha256/"]);
    // Tar files: cut in content and in a header, a damaged header, sizes that nobody has.
    let tar_file = tar(&["a: 1", "b: 2"]);
    refused(&[Layer::plain(tar_file[..512].to_vec())], &["damaged at offset"]);
    refused(&[Layer::plain(tar_file[..1500].to_vec())], &["damaged at offset 1024"]);
    let mut other = tar_file.clone();
    other[3] ^= 1;
    refused(&[Layer::plain(other)], &["checksum"]);
    for kind in [b'0', b'x', b'L', b'g', b'S', b'D'] {
        let mut header = tar::Header::new_gnu();
        header.set_path("huge").unwrap();
        header.set_mode(0o644);
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_size(u64::MAX >> 2);
        header.set_cksum();
        refused(&[Layer::plain(header.as_bytes().to_vec())], &["offset 0"]);
    }
}

#[test]
fn false_indexes_and_manifests_are_refused() {
    let scene = Scene::new();
    let error = scene.read().unwrap_err();
    says(&error, &["layout", "index.json"]);
    scene.image(&[Layer::plain(tar(&["a: 1"]))]);
    assert!(scene.read().is_ok());
    let open = |text: &str| Layout::open(&reference(scene.path(text).as_os_str())).unwrap_err();
    says(&open("layout:gone"), &["gone", "there are: here"]);
    says(&open("nothing"), &["nothing"]);
    // A blob that was changed, and one that was cut.
    let index: serde_json::Value = serde_json::from_slice(&fs::read(scene.path("layout/index.json")).unwrap()).unwrap();
    let manifest = &index["manifests"][0];
    let path = scene.path("layout/blobs").join(manifest["digest"].as_str().unwrap().replace(':', "/"));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, [&bytes[..bytes.len() - 1], b" "].concat()).unwrap();
    says(&scene.read().unwrap_err(), &["has the digest"]);
    fs::write(&path, &bytes[1..]).unwrap();
    says(&scene.read().unwrap_err(), &["bytes, where"]);
    let write_index = |manifests: serde_json::Value| {
        fs::write(scene.path("layout/index.json"), json!({"schemaVersion": 2, "manifests": manifests}).to_string())
            .unwrap();
    };
    let huge = json!({"mediaType": manifest["mediaType"], "digest": manifest["digest"], "size": u64::MAX});
    write_index(json!([huge]));
    says(&scene.read().unwrap_err(), &["18446744073709551615 are declared"]);
    write_index(json!([manifest, manifest]));
    says(&scene.read().unwrap_err(), &["several images"]);
    write_index(json!([{"digest": "sha256:/etc/passwd", "size": 1}]));
    says(&scene.read().unwrap_err(), &["64 hexadecimal digits"]);
    fs::write(scene.path("layout/index.json"), "{").unwrap();
    says(&scene.read().unwrap_err(), &["index.json"]);
    fs::write(scene.path("layout/index.json"), vec![b' '; 5 << 20]).unwrap();
    says(&scene.read().unwrap_err(), &["the limit"]);
    fs::write(scene.path("layout/oci-layout"), r#"{"imageLayoutVersion":"9.0.0"}"#).unwrap();
    says(&scene.read().unwrap_err(), &["9.0.0"]);
}

#[test]
fn a_manifest_and_its_configuration_must_agree() {
    let scene = Scene::new();
    let layer = Layer::plain(tar(&["a: 1"]));
    let stored = scene.blob(&layer.media_type, &layer.stored);
    let config = json!({"rootfs": {"type": "layers", "diff_ids": []}}).to_string();
    let config = scene.blob("application/vnd.oci.image.config.v1+json", config.as_bytes());
    scene.manifest(&json!({"config": config, "layers": [stored]}));
    says(&scene.read().unwrap_err(), &["1 layers, but 0 digests"]);
}

/// Whatever is changed in a tar file, it is an image or it is refused with advice; the digests are right.
#[test]
fn each_changed_byte_of_a_layer_is_read_or_refused() {
    let good = tar(&["d/", "d/a: some text", "l -> d", "l/b: 2", "h = d/a", ".wh.c"]);
    let scene = Scene::new();
    for at in (0..good.len()).filter(|at| at % 512 < 345).step_by(3) {
        let mut changed = good.clone();
        let header = at - at % 512;
        changed[at] = changed[at].wrapping_add(1 + (at % 200) as u8);
        // Else each change would be found by the checksum of its header alone.
        let mut checked = tar::Header::from_byte_slice(&changed[header..header + 512]).clone();
        checked.set_cksum();
        changed[header..header + 512].copy_from_slice(checked.as_bytes());
        scene.image(&[Layer::plain(changed)]);
        if let Err(error) = scene.read() {
            says(&error, &["offset"]);
        }
    }
    for length in (0..good.len()).step_by(97) {
        scene.image(&[Layer::gzip(&good[..length])]);
        if let Err(error) = scene.read() {
            says(&error, &["offset"]);
        }
    }
}
