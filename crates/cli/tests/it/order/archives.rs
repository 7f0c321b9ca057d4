//! `coldstart order`: archives in the order of a start still start, and lists are read by the tools that they are for.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use coldstart_testing::{compile, is_root, kill_after, skip};
use serde_json::Value;

use crate::text;

/// A zipapp of 300 modules, of which a start imports three, the last one first.
const ZIPAPP: &str = r#"
import zipfile, os, random, sys
random.seed(1)
os.chdir(sys.argv[1])
with open('app.pyz', 'wb') as out: out.write(b'#!/usr/bin/python3\n')
with zipfile.ZipFile('app.pyz', 'a') as z:
    for n in range(300):
        z.writestr('m%d.py' % n, 'x=%d\n#%s\n' % (n, ''.join(random.choice('abcdefgh') for _ in range(9000))), compress_type=8)
    z.writestr('__main__.py', 'import m250, m10, m131\nprint(m250.x, m10.x, m131.x)\n')
os.chmod('app.pyz', 0o755)
"#;

pub(super) struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self { directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    pub(super) fn run(&self, program: &str, words: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path("")).stdin(Stdio::null()).output().unwrap()
    }

    pub(super) fn coldstart(&self, words: &[&str]) -> Output {
        self.run(env!("CARGO_BIN_EXE_coldstart"), words)
    }

    #[track_caller]
    pub(super) fn done(&self, program: &str, words: &[&str]) -> String {
        let output = self.run(program, words);
        assert!(output.status.success(), "{program} {words:?}: {}{}", text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    #[track_caller]
    pub(super) fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.done(env!("CARGO_BIN_EXE_coldstart"), words)).unwrap()
    }

    #[track_caller]
    pub(super) fn trace(&self, output: &str, command: &[&str]) {
        let words = ["trace", "--layers", "pages,files", "-o", output, "--"];
        self.done(env!("CARGO_BIN_EXE_coldstart"), &[&words, command].concat());
    }

    /// The names of a zip file's entries in the order in which they lie.
    pub(super) fn physical(&self, archive: &str) -> Vec<String> {
        let script = "import sys, zipfile\nfor i in sorted(zipfile.ZipFile(sys.argv[1]).infolist(), key=lambda i: i.header_offset): print(i.filename)";
        self.done("python3", &["-c", script, archive]).lines().map(str::to_owned).collect()
    }
}

/// Whether the machine records reads. Otherwise a reason was printed.
pub(super) fn records_reads() -> bool {
    if !is_root() {
        skip("reads of files are recorded by root only");
    }
    is_root()
}

#[test]
fn a_zipapp_starts_from_its_new_order_and_holds_the_same() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    scene.done("python3", &["-c", ZIPAPP, scene.path("").to_str().unwrap()]);
    scene.trace("t.coldtrace", &["./app.pyz"]);
    let words = ["order", "zip", "app.pyz", "-o", "new.pyz", "--trace", "t.coldtrace", "--json"];
    let outcome = scene.json(&words);
    assert_eq!((outcome["entries"].as_u64(), outcome["pieces_after"].as_u64()), (Some(301), Some(1)));
    assert!(outcome["pieces_before"].as_u64() > Some(1), "{outcome}");
    assert!(outcome["used"].as_u64().is_some_and(|used| (4..20).contains(&used)), "{outcome}");
    assert_eq!(scene.done("./new.pyz", &[]), "250 10 131\n");
    let mode = |name: &str| fs::metadata(scene.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("new.pyz"), mode("app.pyz"));
    let order = scene.physical("new.pyz");
    let place = |name: &str| order.iter().position(|entry| entry == name).unwrap();
    assert!(place("__main__.py") < place("m250.py") && place("m250.py") < place("m10.py"), "{:?}", &order[..20]);
    assert!(place("m10.py") < place("m131.py") && place("m131.py") < 20, "{:?}", &order[..20]);
    // What others list comes in the order that it had.
    let listed = |name: &str| {
        let script = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; print([(i.filename, i.CRC) for i in z.infolist()])";
        scene.done("python3", &["-c", script, name])
    };
    assert_eq!(listed("new.pyz"), listed("app.pyz"));
    // Again, nothing changes; another file in its place is another version.
    scene.json(&words);
    fs::copy(scene.path("new.pyz"), scene.path("app.pyz")).unwrap();
    let refused = scene.coldstart(&words);
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(answer["error"]["message"].as_str().unwrap().contains("has changed since the trace"), "{answer}");
}

#[test]
fn a_jar_starts_with_its_manifest_first_and_a_signed_one_is_refused() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    if !scene.run("sh", &["-c", "command -v java && command -v javac && command -v jar"]).status.success() {
        return skip("no Java compiler");
    }
    let mut main = String::from(
        "public class Main { public static void main(String[] a) { System.out.println(C70.x() + C3.x()); } }\n",
    );
    for number in 0..80 {
        let filler: String =
            (0..200).map(|n| format!("static int f{n}() {{ return {}; }} ", n * 7919 + number)).collect();
        main.push_str(&format!("class C{number} {{ static int x() {{ return {number}; }} {filler} }}\n"));
    }
    fs::write(scene.path("Main.java"), main).unwrap();
    fs::create_dir(scene.path("classes")).unwrap();
    scene.done("javac", &["-d", "classes", "Main.java"]);
    scene.done("jar", &["--create", "--file", "app.jar", "--main-class", "Main", "-C", "classes", "."]);
    scene.trace("t.coldtrace", &["java", "-jar", "app.jar"]);
    scene.json(&["order", "zip", "app.jar", "-o", "new.jar", "--trace", "t.coldtrace", "--json"]);
    assert_eq!(scene.done("java", &["-jar", "new.jar"]), "73\n");
    let order = scene.physical("new.jar");
    assert_eq!(order[..2], ["META-INF/", "META-INF/MANIFEST.MF"]);
    let place = |name: &str| order.iter().position(|entry| entry == name).unwrap();
    assert!(place("Main.class") < 15 && place("C70.class") < 15 && place("C3.class") < 15, "{:?}", &order[..15]);
    assert_eq!(scene.done("jar", &["tf", "new.jar"]), scene.done("jar", &["tf", "app.jar"]));
    scene.done(
        "keytool",
        &["-genkeypair", "-alias", "k", "-keyalg", "EC", "-dname", "CN=k", "-keystore", "s", "-storepass", "secret"],
    );
    scene.done("jarsigner", &["-keystore", "s", "-storepass", "secret", "app.jar", "k"]);
    let refused = scene.coldstart(&["order", "zip", "app.jar", "-o", "no.jar", "--trace", "t.coldtrace", "--json"]);
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(answer["error"]["message"].as_str().unwrap().contains("it is signed"), "{answer}");
    assert!(!scene.path("no.jar").exists());
}

#[test]
fn firefox_starts_from_its_archives_in_both_layouts() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    if !fs::exists("/usr/lib/firefox-esr/omni.ja").unwrap() {
        return skip("no Firefox");
    }
    // A copy of the application with archives of its own, and links to everything else.
    fs::create_dir_all(scene.path("firefox")).unwrap();
    scene.done("cp", &["-a", "/usr/lib/firefox-esr/.", "firefox"]);
    fs::write(scene.path("page.html"), "<p>hello").unwrap();
    let picture = || {
        let _ = fs::remove_dir_all(scene.path("profile"));
        let _ = fs::remove_file(scene.path("shot.png"));
        fs::create_dir(scene.path("profile")).unwrap();
        let (shot, page) = (scene.path("shot.png"), format!("file://{}", scene.path("page.html").display()));
        let profile = scene.path("profile");
        let command = [
            "120",
            "./firefox/firefox-esr",
            "--headless",
            "--no-remote",
            "--profile",
            profile.to_str().unwrap(),
            "--screenshot",
            shot.to_str().unwrap(),
            &page,
        ];
        scene.done("timeout", &command);
        assert!(fs::read(&shot).unwrap().starts_with(b"\x89PNG"));
    };
    // Every 40th entry of each, from the last to the first: an order that the archives do not have.
    let reader = "import sys, zipfile\nfor name in sys.argv[1:]:\n z = zipfile.ZipFile(name)\n for entry in reversed(z.infolist()[::40]): z.read(entry)";
    scene.trace("t.coldtrace", &["python3", "-c", reader, "firefox/omni.ja", "firefox/browser/omni.ja"]);
    let archives = ["omni.ja", "browser/omni.ja"];
    for layout in ["plain", "mozilla"] {
        for (number, archive) in archives.iter().enumerate() {
            let (old, new) = (format!("firefox/{archive}"), format!("{layout}-{number}.ja"));
            let words = ["order", "zip", &old, "-o", &new, "--layout", layout, "--trace", "t.coldtrace", "--json"];
            let outcome = scene.json(&words);
            assert_eq!(outcome["pieces_after"].as_u64(), Some(1), "{outcome}");
            assert!(outcome["used"].as_u64() > Some(20), "{outcome}");
        }
    }
    for layout in ["plain", "mozilla"] {
        for (number, archive) in archives.iter().enumerate() {
            fs::copy(scene.path(&format!("{layout}-{number}.ja")), scene.path(&format!("firefox/{archive}"))).unwrap();
        }
        picture();
    }
    // Without the archive it does not start: what was shown came from the new one.
    fs::remove_file(scene.path("firefox/omni.ja")).unwrap();
    assert!(
        !scene.run("timeout", &["60", "./firefox/firefox-esr", "--headless", "--version-of-nothing"]).status.success()
    );
}

#[test]
fn mksquashfs_lays_files_in_the_listed_order_whatever_their_names() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    fs::create_dir_all(scene.path("app/sub dir")).unwrap();
    let names = ["app/a", "app/sub dir/b c", "app/#d", "app/e\\f", "app/z"];
    for (number, name) in names.iter().enumerate() {
        let bytes: Vec<u8> = (0..300_000usize).map(|at| ((at * 2_654_435_761) >> 13) as u8 ^ number as u8).collect();
        fs::write(scene.path(name), bytes).unwrap();
    }
    fs::write(scene.path("app/new\nline"), vec![b'n'; 5000]).unwrap();
    symlink("z", scene.path("app/link")).unwrap();
    let used = ["app/link", "app/e\\f", "app/sub dir/b c", "app/#d", "app/new\nline"];
    scene.trace("t.coldtrace", &[&["cat"][..], &used].concat());
    let words = ["order", "files", "t.coldtrace", "--root", "app", "--for", "squashfs", "-o", "sort", "--json"];
    let outcome = scene.json(&words);
    let listed: Vec<&str> =
        outcome["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(listed, ["z", "e\\f", "sub dir/b c", "#d", "new\nline"]);
    assert!(
        outcome["notes"].as_array().unwrap().iter().any(|note| note.as_str().unwrap().contains("cannot hold")),
        "{outcome}"
    );
    // Uncompressed, the content can be found where it lies.
    scene.done("mksquashfs", &["app", "image", "-sort", "sort", "-noD", "-noF", "-no-fragments", "-no-progress"]);
    let image = fs::read(scene.path("image")).unwrap();
    let place = |name: &str| {
        let start = fs::read(scene.path(name)).unwrap()[..4096].to_vec();
        image.windows(4096).position(|window| window == start).unwrap()
    };
    let order = ["app/z", "app/e\\f", "app/sub dir/b c", "app/#d", "app/a"].map(place);
    assert!(order.is_sorted(), "{order:?}");
    // The same as a plain list, and for tar.
    let list = text(&scene.coldstart(&["order", "files", "t.coldtrace", "--root", "app", "--for", "erofs"]).stdout);
    fs::write(scene.path("names"), &list).unwrap();
    scene.done("tar", &["--no-recursion", "-C", "app", "--verbatim-files-from", "-cf", "app.tar", "-T", "names"]);
    assert_eq!(scene.done("tar", &["--quoting-style=literal", "-tf", "app.tar"]), list);
}

/// A static program that reads two documents of its root.
const READER: &str = r#"
#include <fcntl.h>
#include <unistd.h>
static char buffer[1 << 16];
int main(void) {
    const char *names[] = {"/data/z", "/lib/a"};
    for (int i = 0; i < 2; i++) {
        int file = open(names[i], O_RDONLY);
        if (file < 0 || pread(file, buffer, 8192, i * 8192) != 8192) return 1;
    }
    return 0;
}
"#;

#[test]
fn files_of_containers_have_the_names_of_the_image() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    for name in ["lower/data", "lower/usr/lib", "upper/data", "work", "merged"] {
        fs::create_dir_all(scene.path(name)).unwrap();
    }
    symlink("usr/lib", scene.path("lower/lib")).unwrap();
    compile("cc", &scene.path("lower/reader"), READER, &["-static", "-O1"]);
    fs::write(scene.path("lower/usr/lib/a"), vec![b'a'; 20480]).unwrap();
    fs::write(scene.path("lower/data/z"), "hidden").unwrap();
    fs::write(scene.path("upper/data/z"), vec![b'z'; 20480]).unwrap();
    // An overlay in a mount namespace of its own, and its root is the overlay.
    let script =
        "mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged && exec chroot merged /reader";
    let possible = scene.run("unshare", &["-m", "sh", "-c", script]);
    if !possible.status.success() {
        return skip(&format!("no overlay here: {}", text(&possible.stderr)));
    }
    scene.trace("t.coldtrace", &["unshare", "-m", "sh", "-c", script]);
    // The image as a tree: what the overlay showed.
    scene.done("cp", &["-a", "lower", "rootfs"]);
    scene.done("cp", &["-a", "upper/data/z", "rootfs/data/z"]);
    let merged = scene.path("merged");
    let words = ["order", "files", "t.coldtrace", "--root", "rootfs", "--trace-root", merged.to_str().unwrap()];
    let outcome = scene.json(&[&words[..], &["--json"]].concat());
    let files: Vec<(&str, u64)> = outcome["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file["ranges"][0][0].as_u64().unwrap()))
        .collect();
    assert_eq!(files, [("reader", 0), ("data/z", 0), ("usr/lib/a", 8192)]);
    let nydus = scene.done(env!("CARGO_BIN_EXE_coldstart"), &[&words[..], &["--for", "nydus"]].concat());
    let nydus: Value = serde_json::from_str(&nydus).unwrap();
    assert_eq!(nydus["files"][2], serde_json::json!({ "path": "/usr/lib/a", "ranges": [[8192, 8192]] }));
    let soci = scene.done(env!("CARGO_BIN_EXE_coldstart"), &[&words[..], &["--for", "soci"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&soci).unwrap(), serde_json::json!(["/reader", "/data/z", "/usr/lib/a"]));
    // A tree with other files has nothing to list.
    fs::create_dir(scene.path("other")).unwrap();
    let refused = scene.coldstart(&["order", "files", "t.coldtrace", "--root", "other", "--json"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn killed_at_any_moment_there_is_a_whole_archive_or_none() {
    if !records_reads() {
        return;
    }
    let scene = Scene::new();
    scene.done("python3", &["-c", ZIPAPP, scene.path("").to_str().unwrap()]);
    scene.trace("t.coldtrace", &["./app.pyz"]);
    let before = fs::read(scene.path("app.pyz")).unwrap();
    for milliseconds in (0..60).step_by(4) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(["order", "zip", "app.pyz", "-o", "new.pyz", "--trace", "t.coldtrace"]);
        kill_after(command.current_dir(scene.path("")), Duration::from_millis(milliseconds));
        assert_eq!(fs::read(scene.path("app.pyz")).unwrap(), before);
        if scene.path("new.pyz").exists() {
            assert_eq!(scene.done("./new.pyz", &[]), "250 10 131\n");
            fs::remove_file(scene.path("new.pyz")).unwrap();
        }
    }
}
