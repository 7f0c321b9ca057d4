//! `coldstart image make --oci` and `--oci-output`: layouts of container images, made and unpacked by umoci.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use coldstart_testing::{is_root, is_there, skip, succeed};
use serde_json::Value;

use crate::text;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A layout `app:1` of two layers; `None` where umoci is missing.
    fn new() -> Option<Self> {
        if !is_there("umoci") {
            skip("needs umoci");
            return None;
        }
        if !is_root() {
            return None;
        }
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        for name in ["root/usr/lib", "root/etc", "upper"] {
            fs::create_dir_all(scene.path(name)).unwrap();
        }
        symlink("usr/lib", scene.path("root/lib")).unwrap();
        for name in ["root/usr/lib/a", "root/etc/gone", "upper/new"] {
            fs::write(scene.path(name), name.repeat(2000)).unwrap();
        }
        fs::hard_link(scene.path("root/usr/lib/a"), scene.path("root/etc/also a")).unwrap();
        for words in [
            &["init", "--layout", "app"][..],
            &["new", "--image", "app:1"],
            &["insert", "--image", "app:1", "root", "/"],
            &["insert", "--image", "app:1", "upper", "/etc/sub"],
            &["insert", "--image", "app:1", "--whiteout", "/etc/gone"],
            &["config", "--image", "app:1", "--config.cmd", "/usr/bin/app"],
        ] {
            succeed(Command::new("umoci").args(words).current_dir(scene.directory.path()));
        }
        Some(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.arg("image").args(words).current_dir(self.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

#[test]
fn an_image_has_the_files_that_umoci_unpacks() {
    let Some(scene) = Scene::new() else { return };
    succeed(Command::new("umoci").args(["unpack", "--image", "app:1", "bundle"]).current_dir(scene.directory.path()));
    for layout in ["app", "app:1"] {
        let made = scene.json(&["make", "--json", "--force", "--oci", layout]);
        assert!(made["path"].as_str().unwrap().ends_with("app.erofs"), "{made}");
        let verified = scene.json(&["verify", "--json", "app.erofs", "--against", "bundle/rootfs"]);
        assert_eq!(verified["against"]["differences"], serde_json::json!([]));
        assert_eq!(verified["good"], true);
    }
    if is_there("fsck.erofs") {
        succeed(Command::new("fsck.erofs").arg(scene.path("app.erofs")));
    }
}

#[test]
fn a_layout_with_one_erofs_layer_is_written_whole_or_not_at_all() {
    let Some(scene) = Scene::new() else { return };
    let made = scene.json(&["make", "--json", "--oci", "app:1", "--oci-output", "fast"]);
    assert_eq!(made["tag"], "1");
    let layer = made["layer"].as_str().unwrap();
    let blob = format!("fast/blobs/{}", layer.replace(':', "/"));
    // It is the same image as in a file, and its name is the digest of its bytes.
    scene.json(&["make", "--json", "--oci", "app:1", "-o", "x.erofs"]);
    assert!(fs::read(scene.path(&blob)).unwrap() == fs::read(scene.path("x.erofs")).unwrap());
    let sum = succeed(Command::new("sha256sum").arg(scene.path(&blob)));
    assert!(layer.ends_with(sum.split(' ').next().unwrap()), "{layer} {sum}");
    if is_there("skopeo") {
        let copied = ["copy", "-q", "oci:fast:1", "oci:copy:1"];
        succeed(Command::new("skopeo").args(copied).current_dir(scene.directory.path()));
        let said = succeed(
            Command::new("skopeo").args(["inspect", "--config", "oci:copy:1"]).current_dir(scene.directory.path()),
        );
        assert!(said.contains("/usr/bin/app") && said.contains(layer), "{said}");
    } else {
        skip("needs skopeo");
    }
    succeed(Command::new("umoci").args(["stat", "--image", "fast:1"]).current_dir(scene.directory.path()));
    // What is there stays.
    let refused = |words: &[&str], reason: &str| {
        let output = scene.run(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains("hint: "), "{reason}: {said}");
    };
    refused(&["make", "--oci", "app:1", "--oci-output", "fast"], "`fast`: it exists already");
    refused(&["make", "--oci", "fast", "-o", "y.erofs"], "application/vnd.erofs.layer.v1");
    refused(&["make", "--oci", "app:1", "--force", "-o", "app/index.json"], "would lie inside the tree");
    refused(&["make", "--oci", "app:2", "-o", "y.erofs"], "no image is called `2`");
    refused(&["make", "--oci", "root", "-o", "y.erofs"], "not an OCI image layout");
    // A damaged layer leaves nothing behind.
    let largest = fs::read_dir(scene.path("app/blobs/sha256")).unwrap().map(|entry| entry.unwrap().path());
    let largest = largest.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&largest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&largest, bytes).unwrap();
    refused(&["make", "--oci", "app:1", "--oci-output", "never"], "blobs/sha256/");
    assert!(!scene.path("never").exists() && !scene.path("y.erofs").exists());
    let names = fs::read_dir(scene.path("")).unwrap().map(|name| name.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.contains(".coldstart-")).count(), 0);
}
