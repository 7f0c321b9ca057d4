//! `coldstart ldcache` where things go wrong: full and read-only disks, other people's folders, hostile caches, odd names.
//! What was there before is there after, and the answer is 1 or 2, never a crash.
//!
//! Needs gcc, and for some tests root with unshare, setpriv (util-linux) and a tmpfs.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::skip;
use serde_json::Value;

use coldstart_testing::copy_program;

use crate::text;

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or_else(|| panic!("{output:?}"))
}

fn ldcache(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart")).arg("ldcache").args(arguments).env("LC_ALL", "C").output().unwrap()
}

/// A folder that everybody may enter, with the program and a folder with a library.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new() -> Self {
        let scene = Self(tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().unwrap());
        copy_program(env!("CARGO_BIN_EXE_coldstart"), scene.path("coldstart"));
        fs::create_dir(scene.path("lib")).unwrap();
        scene.library(Path::new("lib/liba.so.1"), "liba.so.1");
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn library(&self, name: &Path, soname: &str) {
        let mut command = Command::new("gcc");
        command.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"]).arg(self.0.path().join(name));
        assert!(command.arg(format!("-Wl,-soname,{soname}")).status().unwrap().success());
    }

    /// Runs a script with the program as `$1` and the scene as `$2`, in a mount namespace; none where that is not allowed.
    fn in_namespace(&self, script: &str) -> Option<Output> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-ec", script, "sh"]).arg(self.path("coldstart")).arg(self.0.path());
        let allowed = Command::new("unshare").args(["--mount", "true"]).output().is_ok_and(|out| out.status.success());
        allowed.then(|| command.env("LC_ALL", "C").output().unwrap())
    }
}

#[test]
fn a_full_disk_keeps_the_old_cache() {
    let scene = Scene::new();
    let script = r#"
        mkdir "$2/disk"; mount -t tmpfs -o size=64k tmpfs "$2/disk"
        "$1" ldcache write -o "$2/disk/cache" "$2/lib"; cp "$2/disk/cache" "$2/before"
        dd if=/dev/zero of="$2/disk/fill" bs=4k 2>/dev/null || true
        code=0; "$1" ldcache write -o "$2/disk/cache" "$2/lib" || code=$?
        cmp "$2/before" "$2/disk/cache"; ls -A "$2/disk" | tr '\n' ' '
        exit $code"#;
    let Some(output) = scene.in_namespace(script) else { return skip("no mount namespace here (needs root)") };
    assert_eq!(code(&output), 2, "{output:?}");
    assert!(text(&output.stderr).contains("No space left"), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("free some space there"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).trim_end().ends_with("cache fill"), "{}", text(&output.stdout));
}

#[test]
fn a_read_only_folder_is_told() {
    let scene = Scene::new();
    let script = r#"
        mkdir "$2/disk"; "$1" ldcache write -o "$2/disk/cache" "$2/lib"
        mount --bind "$2/disk" "$2/disk"; mount -o remount,bind,ro "$2/disk"
        for name in cache new; do
            code=0; "$1" ldcache write -o "$2/disk/$name" "$2/lib" || code=$?
            test $code = 2
        done
        "$1" ldcache check "$2/disk/cache""#;
    let Some(output) = scene.in_namespace(script) else { return skip("no mount namespace here (needs root)") };
    assert_eq!(code(&output), 0, "{output:?}");
    assert_eq!(text(&output.stderr).matches("Read-only file system").count(), 2, "{}", text(&output.stderr));
}

#[test]
fn an_ordinary_user_writes_own_files_and_is_told_what_cannot_be_read() {
    let scene = Scene::new();
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(nobody).arg(scene.path("coldstart")).arg("ldcache").args(arguments).env("LC_ALL", "C");
        command.output().unwrap()
    };
    if !Command::new("setpriv").args(nobody).arg("true").output().is_ok_and(|output| output.status.success()) {
        return skip("only root can become another user");
    }
    let folder = |name: &str, mode: u32| {
        fs::create_dir_all(scene.path(name)).unwrap();
        fs::set_permissions(scene.path(name), Permissions::from_mode(mode)).unwrap();
        scene.text(name)
    };
    let (own, others, hidden) = (folder("own", 0o777), folder("others", 0o755), folder("hidden", 0o700));
    fs::copy(scene.path("lib/liba.so.1"), scene.path("lib/libsecret.so.1")).unwrap();
    fs::set_permissions(scene.path("lib/libsecret.so.1"), Permissions::from_mode(0o600)).unwrap();
    let (lib, cache) = (scene.text("lib"), format!("{own}/cache"));
    let output = as_nobody(&["write", "-o", &cache, &lib, "--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(written["passed_over"].as_array().unwrap().len(), 1, "{written:#}");
    let output = as_nobody(&["write", "-o", &format!("{others}/cache"), &lib]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("Permission denied"), "{}", text(&output.stderr));
    let output = as_nobody(&["write", "-o", &cache, "--force", &hidden]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot list a directory"), "{}", text(&output.stderr));
    // A cache of what root sees, checked by who cannot look there.
    scene.library(Path::new("hidden/libh.so.1"), "libh.so.1");
    let roots = scene.text("roots");
    assert_eq!(code(&ldcache(&["write", "-o", &roots, &hidden])), 0);
    let output = as_nobody(&["check", &roots]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stdout).starts_with("unreadable: libh.so.1"), "{}", text(&output.stdout));
}

/// Numbers that a hostile file may hold where sizes and places stand.
const NUMBERS: [u32; 7] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 0x1000_0000, 49];

#[test]
fn hostile_and_truncated_caches_get_an_answer() {
    let scene = Scene::new();
    for name in ["libb.so.1", "libc1.so.1"] {
        scene.library(&Path::new("lib").join(name), name);
    }
    let (cache, bad) = (scene.text("cache"), scene.text("bad"));
    assert_eq!(code(&ldcache(&["write", "-o", &cache, &scene.text("lib")])), 0);
    let whole = fs::read(&cache).unwrap();
    let answers = |bytes: &[u8]| {
        fs::write(&bad, bytes).unwrap();
        [&["show", &bad][..], &["show", "--ldconfig", &bad], &["check", &bad], &["check", "--json", &bad]].map(
            |words| {
                let output = ldcache(words);
                assert!(matches!(output.status.code(), Some(0..=2)), "{words:?} {output:?}");
                code(&output)
            },
        )
    };
    for length in (0..whole.len()).step_by(13) {
        let [shown, _, checked, _] = answers(&whole[..length]);
        assert_eq!(shown, 2, "{length}");
        assert_ne!(checked, 0, "{length}");
    }
    for at in (20..48).step_by(4).chain((48..120).step_by(4)) {
        for number in NUMBERS {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            answers(&bytes);
        }
    }
    // Names as an attacker writes them do not reach the terminal as they are.
    let mut bytes = whole.clone();
    let name = bytes.windows(9).position(|part| part == b"libb.so.1").unwrap();
    bytes[name..name + 4].copy_from_slice(b"\x1b[1m");
    fs::write(&bad, &bytes).unwrap();
    for words in [&["show", &bad][..], &["check", &bad], &["show", "--json", &bad]] {
        assert!(!ldcache(words).stdout.contains(&0x1b), "{words:?}");
    }
    for path in [scene.text("lib").as_str(), "/dev/null", "/dev/zero", &scene.text("absent")] {
        assert_eq!(code(&ldcache(&["show", path])), 2, "{path}");
        assert_eq!(code(&ldcache(&["check", path])), 2, "{path}");
    }
    let fifo = scene.path("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(code(&ldcache(&["show", fifo.to_str().unwrap()])), 2, "nobody waits for a writer");
}

#[test]
fn odd_names_are_written_and_told_whole() {
    let scene = Scene::new();
    let odd = scene.0.path().join(OsStr::from_bytes(b"odd\xff\n\x1b[1m dir"));
    fs::create_dir(&odd).unwrap();
    fs::copy(scene.path("lib/liba.so.1"), odd.join(OsStr::from_bytes(b"liba.so.1"))).unwrap();
    fs::copy(scene.path("lib/liba.so.1"), odd.join(OsStr::from_bytes(b"lib\xc3\xa4\xff.so"))).unwrap();
    let cache = scene.0.path().join(OsStr::from_bytes(b"cache\xff"));
    let run = |arguments: &[&OsStr]| {
        Command::new(env!("CARGO_BIN_EXE_coldstart")).arg("ldcache").args(arguments).output().unwrap()
    };
    let output = run(&["write".as_ref(), "--json".as_ref(), "-o".as_ref(), cache.as_ref(), odd.as_ref()]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(!output.stdout.contains(&0x1b));
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bytes = written["path_bytes"].as_str().unwrap();
    assert!(bytes.ends_with("2f6361636865ff"), "{bytes}");
    let folder = written["folders"][0]["path_bytes"].as_str().unwrap();
    assert!(folder.ends_with("2f6f6464ff0a1b5b316d20646972"), "{folder}");
    let shown = run(&["show".as_ref(), "--json".as_ref(), cache.as_ref()]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["entries"][0]["path_bytes"].as_str().map(|path| path.contains("ff0a1b")), Some(true), "{shown:#}");
    assert_eq!(code(&run(&["check".as_ref(), cache.as_ref()])), 0);
}
