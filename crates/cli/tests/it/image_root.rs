//! `coldstart image make --root`: a whole root directory, in the order of starts that ran in it by chroot or were traced inside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use coldstart_testing::{Mount, compile, is_root, skip, succeed};
use serde_json::Value;

use crate::text;

/// Reads two documents, the later one by its name first.
const READER: &str = r#"
#include <fcntl.h>
#include <unistd.h>
static char buffer[1 << 16];
int main(void) {
    const char *names[] = {"/data/z", "/lib/a"};
    for (int i = 0; i < 2; i++) {
        int file = open(names[i], O_RDONLY);
        if (file < 0 || read(file, buffer, sizeof buffer) != 20480) return 1;
    }
    return 0;
}
"#;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A root with a static program, two documents, a link on the way to one, and something of most kinds.
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        for name in ["rootfs/data", "rootfs/usr/lib", "rootfs/empty"] {
            fs::create_dir_all(scene.path(name)).unwrap();
        }
        symlink("usr/lib", scene.path("rootfs/lib")).unwrap();
        compile("cc", &scene.path("rootfs/reader"), READER, &["-static", "-O1"]);
        for (name, byte) in [("rootfs/data/z", b'z'), ("rootfs/usr/lib/a", b'a'), ("rootfs/usr/lib/unused", b'u')] {
            fs::write(scene.path(name), vec![byte; 20480]).unwrap();
        }
        fs::hard_link(scene.path("rootfs/data/z"), scene.path("rootfs/also z")).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).current_dir(self.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Files with hot pages, by their order in the image.
    fn hot_files(&self, image: &str) -> Vec<String> {
        let shown = self.json(&["image", "show", "--json", "--limit", "0", image]);
        let files = shown["hot_files"].as_array().unwrap();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    }

    fn root(&self) -> String {
        self.path("rootfs").to_str().unwrap().to_owned()
    }
}

fn place(files: &[String], path: &str) -> usize {
    files.iter().position(|file| file == path).unwrap_or_else(|| panic!("{path}: {files:?}"))
}

#[test]
fn a_whole_root_becomes_the_root_of_an_image() {
    let scene = Scene::new();
    let made = scene.json(&["image", "make", "--json", "--root", "rootfs"]);
    // Named after the root.
    assert!(made["path"].as_str().unwrap().ends_with("rootfs.erofs"), "{made}");
    assert_eq!(made["trees"][0]["path"], "/");
    let against = ["image", "verify", "--json", "rootfs.erofs", "--against", "rootfs"];
    let verified = scene.json(&against);
    assert_eq!((&verified["good"], &verified["against"]["differences"]), (&true.into(), &serde_json::json!([])));
    // What is only there is told, because the root was taken whole.
    fs::write(scene.path("rootfs/empty/new"), "new").unwrap();
    let output = scene.run(&against);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("/empty/new"), "{}", text(&output.stdout));
}

#[test]
fn pages_of_a_chrooted_start_are_found_under_their_names_inside() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    let root = scene.root();
    let chrooted = ["--", "chroot", root.as_str(), "/reader"];
    let record = ["trace", "--layers", "pages,files", "-o", "start.coldtrace"];
    let output = scene.run(&[&record[..], &chrooted].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let traced = ["image", "make", "--json", "--root", "rootfs", "--trace", "start.coldtrace", "-o", "traced.erofs"];
    let recorded = ["image", "make", "--json", "--as-is", "--root", "rootfs", "-o", "recorded.erofs"];
    for (image, words) in [("traced.erofs", traced.to_vec()), ("recorded.erofs", [&recorded[..], &chrooted].concat())] {
        let made = scene.json(&words);
        let files = scene.hot_files(image);
        // Nothing of `chroot` itself: only files below the root count.
        assert_eq!(files.len(), 3, "{image}: {files:?} {made}");
        assert!(place(&files, "/data/z") < place(&files, "/usr/lib/a"), "{image}: {files:?}");
        assert!(made["hot_pages"].as_u64().unwrap() > 10, "{image}: {made}");
        assert_eq!(made["left_out_pages"], 0, "{image}: {made}");
        assert_eq!(scene.json(&["image", "verify", "--json", image, "--against", "rootfs"])["good"], true);
    }
}

#[test]
fn a_trace_of_another_root_needs_that_roots_name() {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    // The same files elsewhere, as of an unpacked container.
    succeed(Command::new("cp").arg("-a").arg(scene.path("rootfs")).arg(scene.path("unpacked")));
    let unpacked = scene.path("unpacked");
    let unpacked = unpacked.to_str().unwrap();
    let record = ["trace", "--layers", "pages,files", "-o", "start.coldtrace", "--", "chroot", unpacked, "/reader"];
    assert!(scene.run(&record).status.success());
    let make =
        ["image", "make", "--json", "--force", "--root", "rootfs", "--trace", "start.coldtrace", "-o", "x.erofs"];
    let made = scene.json(&[&make[..], &["--trace-root", "unpacked"]].concat());
    assert!(made["hot_pages"].as_u64().unwrap() > 10, "{made}");
    let files = scene.hot_files("x.erofs");
    assert!(place(&files, "/data/z") < place(&files, "/usr/lib/a"), "{files:?}");
    // A file that has changed since gives no order, and is named.
    fs::write(scene.path("rootfs/data/z"), "short").unwrap();
    let made = scene.json(&[&make[..], &["--trace-root", "unpacked"]].concat());
    assert!(made["notes"].to_string().contains("/data/z"), "{made}");
    assert!(!scene.hot_files("x.erofs").contains(&"/data/z".to_owned()));
}

#[test]
fn a_root_that_cannot_be_is_refused_with_advice() {
    let scene = Scene::new();
    let refused = |words: &[&str], reason: &str| {
        let output = scene.run(&[&["image", "make"], words].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{reason}: {said}");
    };
    refused(&["-o", "rootfs/x.erofs", "--root", "rootfs"], "would lie inside the tree");
    refused(&["-o", "x.erofs", "--root", "rootfs/reader"], "rootfs/reader");
    refused(&["-o", "x.erofs", "--root", "rootfs", "--tree", "rootfs"], "cannot be used with");
    refused(&["-o", "x.erofs", "--root", "rootfs", "--trace-root", "rootfs"], "--trace");
    assert!(!scene.path("x.erofs").exists());
    if is_root() {
        let mounted = match Mount::new(&scene.path("rootfs/empty"), &["-t", "tmpfs", "tmpfs"]) {
            Ok(mounted) => mounted,
            Err(reason) => return skip(&format!("this machine does not mount tmpfs: {reason}")),
        };
        refused(&["-o", "x.erofs", "--root", "rootfs"], "another file system");
        drop(mounted);
    }
}
