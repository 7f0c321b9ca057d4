//! `coldstart image`: made of real starts and trees, verified, shown, and programs run from it.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coldstart_testing::{Mount, is_root, skip};
use serde_json::Value;

use crate::text;

struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// A program in the tree: what lies beside it belongs to it.
    fn program(&self) -> String {
        let program = self.path("tree/cat");
        fs::copy("/bin/cat", &program).unwrap();
        program.to_str().unwrap().to_owned()
    }

    /// A directory on a real disk, with two documents.
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir_all(directory.path().join("tree/below")).unwrap();
        let scene = Self { directory };
        for name in ["tree/a", "tree/below/b"] {
            let bytes: Vec<u8> = (0..20 * 4096_u32).map(|at| (at / 7 + name.len() as u32) as u8).collect();
            fs::write(scene.path(name), bytes).unwrap();
        }
        scene
    }

    /// Without symbolic links, as recordings have it.
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.arg("image").args(words).current_dir(self.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    /// The answer in JSON of a command that ends with this code.
    #[track_caller]
    fn json(&self, code: i32, words: &[&str]) -> Value {
        let (action, rest) = words.split_first().unwrap();
        let output = self.run(&[&[*action, "--json"], rest].concat());
        assert_eq!(output.status.code(), Some(code), "{}{}", text(&output.stdout), text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &[&str], reason: &str) {
        let output = self.run(words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains("hint: "), "{said}");
    }
}

#[test]
fn a_tree_becomes_an_image_that_is_the_same() {
    let scene = Scene::new();
    let made = scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    assert_eq!((&made["schema"], &made["hot_pages"]), (&"coldstart.image-make/1".into(), &0.into()));
    assert_eq!(made["trees"][0]["path"], scene.path("tree").to_str().unwrap());
    let verified = scene.json(0, &["verify", "x.erofs", "--against", "/"]);
    assert_eq!((&verified["good"], &verified["is_start_image"]), (&true.into(), &true.into()));
    assert_eq!(verified["against"]["differences"], serde_json::json!([]));
    let kernel = &verified["against"]["kernel"]["state"];
    assert!(["same", "not-asked"].contains(&kernel.as_str().unwrap()), "{verified}");
    let shown = text(&scene.run(&["show", "x.erofs"]).stdout);
    assert!(shown.contains(made["uuid"].as_str().unwrap()) && shown.contains("0 pages of 0 files"), "{shown}");
}

#[test]
fn what_is_excluded_is_not_in_the_image_also_by_a_path_with_links() {
    let scene = Scene::new();
    std::os::unix::fs::symlink("tree", scene.path("link")).unwrap();
    let whole = scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    let made = scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree", "--exclude", "link/below"]);
    assert_eq!(made["files"], whole["files"].as_u64().unwrap() - 2, "the directory and its file");
    assert_eq!(made["trees"], serde_json::json!([]), "it is not whole any more");
    let verified = scene.json(0, &["verify", "x.erofs", "--against", "/"]);
    assert_eq!(verified["against"]["differences"], serde_json::json!([]));
}

#[test]
fn only_the_owner_may_write_to_an_image() {
    let scene = Scene::new();
    let mode = |name: &str| fs::metadata(scene.path(name)).unwrap().permissions().mode() & 0o777;
    scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    fs::set_permissions(scene.path("x.erofs"), fs::Permissions::from_mode(0o664)).unwrap();
    scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    assert_eq!(mode("x.erofs"), 0o644);
    let command = r#"umask 0; exec "$0" image make -o y.erofs --tree tree"#;
    let mut shell = Command::new("sh");
    let status = shell.arg("-c").arg(command).arg(env!("CARGO_BIN_EXE_coldstart"));
    assert!(status.current_dir(scene.directory.path()).stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(mode("y.erofs"), 0o644);
}

#[test]
fn what_has_changed_since_is_named() {
    let scene = Scene::new();
    scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    fs::write(scene.path("tree/new"), "new").unwrap();
    fs::remove_file(scene.path("tree/below/b")).unwrap();
    let output = scene.run(&["verify", "x.erofs", "--against", "/"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in [
        format!("`{}`: not in the image", scene.path("tree/new").display()),
        format!("`{}`: only in the image", scene.path("tree/below/b").display()),
    ] {
        assert!(said.contains(&words), "{words}: {said}");
    }
    // By itself it is as it was.
    assert_eq!(scene.json(0, &["verify", "x.erofs"])["good"], true);
}

#[test]
fn damage_is_an_answer_and_no_failure() {
    let scene = Scene::new();
    scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree"]);
    let file = File::options().read(true).write(true).open(scene.path("x.erofs")).unwrap();
    let length = file.metadata().unwrap().len();
    for at in [1024 + 16, 1200, 4096 + 100, length / 2] {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
        let verified = scene.json(1, &["verify", "x.erofs"]);
        assert!(!verified["flaws"].as_array().unwrap().is_empty(), "{at}: {verified}");
        file.write_all_at(&byte, at).unwrap();
    }
    assert_eq!(scene.json(0, &["verify", "x.erofs"])["good"], true);
    file.set_len(length - 1).unwrap();
    assert_eq!(scene.json(1, &["verify", "x.erofs"])["good"], false);
    file.set_len(length + 1).unwrap();
    assert_eq!(scene.json(1, &["verify", "x.erofs"])["good"], false);
}

#[test]
fn the_pages_of_a_start_lie_in_front_in_its_order() {
    let scene = Scene::new();
    let (a, b) = (scene.path("tree/a"), scene.path("tree/below/b"));
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    let cat = scene.program();
    let made = scene.json(0, &["make", "--as-is", "-o", "x.erofs", "--", &cat, b, a]);
    assert_eq!(made["programs"][0], format!("{cat} {b} {a}"));
    let shown = scene.json(0, &["show", "x.erofs"]);
    let place = |path: &str| {
        let files = shown["hot_files"].as_array().unwrap();
        let file = files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path}: {shown}"));
        (file["pages"].as_u64().unwrap(), file["first_offset"].as_u64().unwrap())
    };
    let ((a_pages, a_offset), (b_pages, b_offset)) = (place(a), place(b));
    assert_eq!((a_pages, b_pages), (20, 20));
    assert!(b_offset < a_offset, "{shown}");
    // The file's bytes begin there.
    let mut bytes = [0; 4096];
    File::open(scene.path("x.erofs")).unwrap().read_exact_at(&mut bytes, a_offset).unwrap();
    assert_eq!(bytes[..], fs::read(a).unwrap()[..4096]);
    assert_eq!(scene.json(0, &["verify", "x.erofs", "--against", "/"])["good"], true);
}

#[test]
fn a_compressed_image_is_smaller_and_the_same() {
    let scene = Scene::new();
    let document = scene.path("tree/a");
    fs::write(&document, "a line of many that are alike\n".repeat(5000)).unwrap();
    let make = |name: &str, how: &str| {
        scene.json(0, &["make", "--as-is", "--compress", how, "-o", name, "--", "cat", document.to_str().unwrap()])
    };
    let (plain, compressed) = (make("plain.erofs", "none"), make("x.erofs", "zstd"));
    let sizes = |made: &Value| (made["hot_bytes"].as_u64().unwrap(), made["bytes"].as_u64().unwrap());
    let ((plain_hot, plain_all), (hot, all)) = (sizes(&plain), sizes(&compressed));
    assert!(hot < plain_hot && all < plain_all, "{plain} {compressed}");
    assert_eq!(scene.json(0, &["verify", "x.erofs", "--against", "/"])["good"], true);
    let shown = scene.json(0, &["show", "x.erofs"]);
    assert_eq!((&shown["compressed"], shown["hot_bytes"].as_u64()), (&true.into(), Some(hot)));
    let said = text(&scene.run(&["show", "x.erofs"]).stdout);
    assert!(said.contains(" (compressed) from offset "), "{said}");
}

#[test]
fn the_program_runs_from_its_image_alone() {
    runs_from_its_image("none");
}

#[test]
fn the_program_runs_from_its_compressed_image_alone() {
    runs_from_its_image("zstd");
}

fn runs_from_its_image(compression: &str) {
    if !is_root() {
        return;
    }
    let scene = Scene::new();
    let document = scene.path("tree/a");
    let name = document.to_str().unwrap();
    let cat = scene.program();
    scene.json(0, &["make", "--as-is", "--compress", compression, "-o", "x.erofs", "--", &cat, name]);
    let image = scene.path("x.erofs");
    let mount = match Mount::new(&scene.path("mounted"), &["-t", "erofs", "-o", "ro", image.to_str().unwrap()]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&format!("this machine does not mount EROFS: {reason}")),
    };
    let output = Command::new("chroot").arg(mount.place()).arg(&cat).arg(&document).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout == fs::read(&document).unwrap());
}

#[test]
fn traces_of_several_programs_share_an_image() {
    let scene = Scene::new();
    let (a, b) = (scene.path("tree/a"), scene.path("tree/below/b"));
    for (trace, document) in [("1.coldtrace", &a), ("2.coldtrace", &b)] {
        let mut record = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        record
            .args(["trace", "--layers", "pages,files", "-o"])
            .arg(scene.path(trace))
            .args(["--", "cat"])
            .arg(document);
        let output = record.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let made =
        scene.json(0, &["make", "-o", "x.erofs", "--tree", "tree", "--trace", "1.coldtrace", "--trace", "2.coldtrace"]);
    assert_eq!(made["programs"].as_array().unwrap().len(), 2);
    // The programs' own files are outside the tree.
    assert!(made["left_out_pages"].as_u64().unwrap() > 0, "{made}");
    let shown = scene.json(0, &["show", "x.erofs"]);
    let programs: Vec<u64> =
        shown["programs"].as_array().unwrap().iter().map(|program| program["pages"].as_u64().unwrap()).collect();
    assert_eq!((programs, shown["hot_pages"].as_u64()), (vec![20, 20], Some(40)));
}

#[test]
fn what_cannot_be_is_refused_with_advice() {
    let scene = Scene::new();
    scene.refused(&["make", "-o", "tree/x.erofs", "--tree", "tree"], "would lie inside the tree");
    scene.refused(&["show", "tree/a"], "not an EROFS image");
    scene.refused(&["verify", "tree/a"], "not an EROFS image");
    assert!(!scene.path("tree/x.erofs").exists());
    let output = scene.run(&["make", "-o", "x.erofs"]);
    assert_eq!(output.status.code(), Some(2), "nothing to make it of: {}", text(&output.stderr));
}

#[test]
fn killed_at_any_moment_there_is_a_whole_image_or_none() {
    let scene = Scene::new();
    fs::create_dir(scene.path("out")).unwrap();
    for number in 0..40 {
        fs::write(scene.path(&format!("tree/{number}")), vec![number; 1 << 20]).unwrap();
    }
    for round in 0..12 {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["image", "make", "-o", "out/x.erofs", "--tree", "tree"]).current_dir(scene.directory.path());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let names: Vec<String> = fs::read_dir(scene.path("out"))
            .unwrap()
            .map(|name| name.unwrap().file_name().into_string().unwrap())
            .filter(|name| name == "x.erofs")
            .collect();
        if !names.is_empty() {
            assert_eq!(scene.json(0, &["verify", "out/x.erofs"])["good"], true);
        }
    }
    // Whatever a kill has left is cleared away by the next run.
    scene.json(0, &["make", "-o", "out/x.erofs", "--tree", "tree"]);
    assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 1);
}
