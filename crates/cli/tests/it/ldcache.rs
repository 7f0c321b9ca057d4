//! `coldstart ldcache` against `ldconfig` and the real loader: the same bytes from the same folders, the same words
//! from the same cache, and a loader that takes what was written.
//!
//! Needs gcc, ldconfig (libc-bin), and for one test the right to make a mount namespace (root, unshare of util-linux).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_testing::skip;
use serde_json::Value;

use coldstart_testing::copy_program;

use crate::text;

fn ldcache(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_coldstart")).arg("ldcache").args(arguments).env("LC_ALL", "C").output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn is_missing(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_err()
}

/// Whether the machine is one that the comparisons are written for.
fn cannot_compare() -> bool {
    let cannot =
        cfg!(not(all(target_arch = "x86_64", target_env = "gnu"))) || is_missing("gcc") || is_missing("ldconfig");
    if cannot {
        skip("no gcc, no ldconfig or another machine");
    }
    cannot
}

/// A tree with libraries of all kinds below `/opt/lib`.
struct Tree(tempfile::TempDir);

impl Tree {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn library(&self, name: impl AsRef<Path>, soname: &str, more: &[&str]) {
        let path = self.0.path().join(name.as_ref());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut command = Command::new("gcc");
        command.args(["-shared", "-nostdlib", "-x", "c", "/dev/null", "-x", "none"]).args(more).arg("-o").arg(path);
        if !soname.is_empty() {
            command.arg(format!("-Wl,-soname,{soname}"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    fn of_all_kinds() -> Self {
        let tree = Self::empty();
        tree.library("opt/lib/libd.so.1.2", "libd.so.1", &[]);
        tree.library("opt/lib/libd.so.1.10", "libd.so.1", &[]);
        tree.library("opt/lib/libnosoname.so", "", &[]);
        tree.library("opt/lib/ld-own.so.2", "ld-own.so.2", &[]);
        tree.library("opt/lib/notlib.so", "libnotlib.so", &[]);
        tree.library("opt/lib/glibc-hwcaps/x86-64-v3/libd.so.1.10", "libd.so.1", &["-Wl,-z,x86-64-v3"]);
        tree.library("opt/lib/glibc-hwcaps/x86-64-v2/libd.so.1", "libd.so.1", &[]);
        tree.library("opt/lib/haswell/libd.so.1", "libd.so.1", &[]);
        tree.library("opt/lib/tls/x86_64/libd.so.1", "libd.so.1", &[]);
        tree.library(Path::new(OsStr::from_bytes(b"opt/more/libodd\xff\n.so.2")), "libodd.so.2", &[]);
        tree.library("opt/more/libd.so.1", "libd.so.1", &[]);
        fs::create_dir_all(tree.path("opt/lib/glibc-hwcaps/empty")).unwrap();
        let lib = tree.path("opt/lib");
        for (target, name) in [
            ("libd.so.1.2", "libd.so.1"),
            ("libd.so.1", "libd.so"),
            ("libd.so.1.2", "libother.so.3"),
            ("/nowhere", "libstale.so.1"),
            ("loop.so", "libloop.so"),
            ("libloop.so", "loop.so"),
        ] {
            symlink(target, lib.join(name)).unwrap();
        }
        symlink("/opt/more", tree.path("opt/link")).unwrap();
        fs::write(lib.join("libscript.so"), "GROUP ( libd.so.1 )").unwrap();
        fs::write(lib.join("libempty.so"), "").unwrap();
        fs::write(lib.join("libshort.so"), "\x7fELF").unwrap();
        fs::create_dir_all(tree.path("etc/conf.d")).unwrap();
        fs::write(tree.path("etc/ld.so.conf"), "include conf.d/*.conf\n").unwrap();
        fs::write(tree.path("etc/conf.d/b.conf"), "/opt/lib/ # the first\n/opt/more\n").unwrap();
        fs::write(tree.path("etc/conf.d/a.conf"), "/opt/link=libc6\n/opt/absent\n").unwrap();
        fs::write(tree.path("etc/conf.d/.hidden.conf"), "/etc\n").unwrap();
        tree
    }
}

/// What `ldconfig` calls itself in the caches it writes.
fn generator(cache: &Path) -> String {
    let output = ldcache(&["show", "--json", cache.to_str().unwrap()]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    shown["generator"].as_str().unwrap().to_owned()
}

/// glibc's release of this machine, as `2.36`.
fn release() -> String {
    let output = Command::new("ldconfig").arg("--version").output().unwrap();
    text(&output.stdout).lines().next().unwrap().rsplit(' ').next().unwrap().to_owned()
}

/// Runs `ldconfig`, whose remarks about odd files are no matter here. What it remembers of files by their inodes and
/// seconds (`aux-cache`) is left aside: one test's file may have the inode of another's that is gone.
fn ldconfig(arguments: &[&str]) -> Output {
    Command::new("ldconfig").arg("-i").args(arguments).env("LC_ALL", "C").output().unwrap()
}

#[test]
fn folders_give_the_bytes_that_ldconfig_writes() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::of_all_kinds();
    let (theirs, ours, folder) = (tree.text("theirs"), tree.text("ours"), tree.text("opt/lib"));
    // It adds this machine's own folders, so the configuration is the comparison, and the folder comes first.
    ldconfig(&["-X", "-C", &theirs, "-f", "/dev/null", &folder]);
    let name = generator(Path::new(&theirs));
    let output = ldcache(&["write", "-o", &ours, "--generator", &name, "--ld-so-conf", "/dev/null", &folder]);
    if code(&output) != 0 {
        // /dev/null is no regular file for us; an empty one is the same.
        fs::write(tree.path("empty.conf"), "").unwrap();
        let output =
            ldcache(&["write", "-o", &ours, "--generator", &name, "--ld-so-conf", &tree.text("empty.conf"), &folder]);
        assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    }
    assert_eq!(
        text(&ldconfig(&["-p", "-C", &ours]).stdout).lines().skip(1).collect::<Vec<_>>(),
        text(&ldconfig(&["-p", "-C", &theirs]).stdout).lines().skip(1).collect::<Vec<_>>()
    );
    assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(), "the same entries and other bytes");
}

#[test]
fn a_sysroot_gives_the_bytes_that_ldconfig_writes() {
    if cannot_compare() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("ldconfig -r needs root here");
    }
    let tree = Tree::of_all_kinds();
    let root = tree.0.path().to_str().unwrap();
    ldconfig(&["-X", "-r", root, "-C", "/theirs"]);
    let (theirs, ours) = (tree.path("theirs"), tree.text("ours"));
    let name = generator(&theirs);
    let output = ldcache(&["write", "--sysroot", root, "-o", &ours, "--glibc", &release(), "--generator", &name]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let [left, right] = [&ours, theirs.to_str().unwrap()].map(|cache| ldcache(&["show", cache]).stdout);
    assert_eq!(text(&left).lines().skip(1).collect::<Vec<_>>(), text(&right).lines().skip(1).collect::<Vec<_>>());
    assert!(fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(), "the same entries and other bytes");
}

#[test]
fn this_machines_folders_give_the_bytes_that_ldconfig_writes() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    let (theirs, ours) = (tree.text("theirs"), tree.text("ours"));
    ldconfig(&["-X", "-C", &theirs]);
    let output = ldcache(&["write", "-o", &ours, "--generator", &generator(Path::new(&theirs))]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    assert!(
        fs::read(&ours).unwrap() == fs::read(&theirs).unwrap(),
        "ldconfig writes another cache for /etc/ld.so.conf"
    );
}

#[test]
fn shows_what_ldconfig_shows() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::of_all_kinds();
    for format in ["new", "compat", "old"] {
        let cache = tree.text(format);
        ldconfig(&["-X", "-c", format, "-C", &cache, &tree.text("opt/lib")]);
        let (ours, theirs) = (ldcache(&["show", "--ldconfig", &cache]), ldconfig(&["-p", "-C", &cache]));
        if format == "old" && !theirs.status.success() {
            // For a library under glibc-hwcaps, ldconfig leaves an entry of the old format unwritten (`save_cache` in
            // elf/cache.c), and ends by a signal where its memory was not empty there.
            assert_eq!(code(&ours), 2);
            assert!(text(&ours.stderr).contains("is outside the file or unterminated"), "{}", text(&ours.stderr));
            continue;
        }
        assert_eq!(text(&ours.stdout), text(&theirs.stdout), "{format}: {}", text(&ours.stderr));
    }
    let output = ldcache(&["show", "--name", "libd.so*", "--json", &tree.text("new")]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["schema"], "coldstart.ldcache/1");
    let entries = shown["entries"].as_array().unwrap();
    assert!(entries.iter().any(|entry| entry["hwcap"]["level"] == "x86-64-v3" && entry["hwcap"]["isa_level"] == 2));
    assert!(entries.iter().all(|entry| entry["name"].as_str().unwrap().starts_with("libd.so")));
    assert_eq!(code(&ldcache(&["show", "--name", "nothing", &tree.text("new")])), 1);
}

/// What a program loads with a cache in place of the system's, seen by it alone.
fn loaded_with(cache: &Path, program: &Path) -> Option<String> {
    let script = r#"mount --bind "$0" /etc/ld.so.cache && LD_TRACE_LOADED_OBJECTS=1 exec "$1""#;
    let output = Command::new("unshare").args(["--mount", "sh", "-c", script]).arg(cache).arg(program).output().ok()?;
    output.status.success().then(|| text(&output.stdout))
}

#[test]
fn the_loader_takes_the_cache_of_a_closure() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    tree.library("lib/libdemo.so.1", "libdemo.so.1", &[]);
    tree.library("lib/glibc-hwcaps/x86-64-v2/libdemo.so.1", "libdemo.so.1", &[]);
    let source = tree.path("program.c");
    fs::write(&source, "int main(void) { return 0; }").unwrap();
    let program = tree.path("program");
    let mut command = Command::new("gcc");
    command.arg(&source).arg("-o").arg(&program).args(["-Wl,--no-as-needed"]).arg(tree.path("lib/libdemo.so.1"));
    let folder = tree.text("lib");
    assert!(command.arg(format!("-Wl,-rpath,{folder}")).status().unwrap().success());
    let cache = tree.text("cache");
    let output = ldcache(&["write", "-o", &cache, "--json", "--closure", program.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(written["hwcaps"], serde_json::json!(["x86-64-v2"]));
    assert_eq!(code(&ldcache(&["check", &cache])), 0, "{}", text(&ldcache(&["check", &cache]).stdout));
    // Without its run path, only the cache tells where the library is.
    let mut bytes = fs::read(&program).unwrap();
    let place = bytes.windows(folder.len()).position(|part| part == folder.as_bytes()).unwrap();
    bytes[place..place + folder.len()].fill(b'x');
    let changed = program.with_extension("changed");
    fs::write(&changed, bytes).unwrap();
    copy_program(&changed, &program);
    match loaded_with(Path::new(&cache), &program) {
        Some(loaded) => assert!(loaded.contains(&format!("libdemo.so.1 => {folder}")), "{loaded}"),
        None => skip("no mount namespace here (needs root)"),
    }
}

#[test]
fn a_store_item_gets_its_own_cache() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    tree.library("dependency/lib/libneeded.so.1", "libneeded.so.1", &[]);
    let dependency = tree.text("dependency/lib");
    let needed = format!("{dependency}/libneeded.so.1");
    let runpath = format!("-Wl,-rpath,{dependency}");
    tree.library("item/lib/libown.so.1", "libown.so.1", &["-Wl,--no-as-needed", &needed, &runpath]);
    fs::write(tree.path("item/readme"), "text").unwrap();
    let output = ldcache(&["write", "--guix", &tree.text("item")]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let shown = text(&ldcache(&["show", "--ldconfig", &tree.text("item/etc/ld.so.cache")]).stdout);
    assert!(shown.contains(&format!("libneeded.so.1 (libc6,x86-64) => {needed}")), "{shown}");
}

#[test]
fn check_tells_what_has_changed() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    for name in ["liba.so.1", "libb.so.1", "libc1.so.1", "libd.so.1"] {
        tree.library(format!("lib/{name}"), name, &[]);
    }
    let (cache, folder) = (tree.text("cache"), tree.text("lib"));
    assert_eq!(code(&ldcache(&["write", "-o", &cache, &folder])), 0);
    let output = ldcache(&["check", &cache]);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    fs::remove_file(tree.path("lib/liba.so.1")).unwrap();
    fs::write(tree.path("lib/libb.so.1"), "a text").unwrap();
    tree.library("lib/libc1.so.1", "libc1.so.2", &[]);
    tree.library("lib/libd.so.1.5", "libd.so.1", &[]);
    tree.library("lib/libnew.so.1", "libnew.so.1", &[]);
    let output = ldcache(&["check", "--json", &cache]);
    assert_eq!(code(&output), 1);
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = checked["findings"].as_array().unwrap();
    let kinds = |name: &str| {
        let of_name = findings.iter().filter(|finding| finding["name"] == name);
        of_name.map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds("liba.so.1"), ["gone"]);
    assert_eq!(kinds("libb.so.1"), ["no-library"]);
    assert_eq!(kinds("libc1.so.1"), ["soname"]);
    assert_eq!(kinds("libd.so.1"), ["newer"]);
    assert_eq!(kinds("libnew.so.1"), ["missing"]);
}

#[test]
fn check_tells_what_is_damaged() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    for name in ["liba.so.1", "libb.so.1", "libc1.so.1"] {
        tree.library(format!("lib/{name}"), name, &[]);
    }
    let cache = tree.text("cache");
    assert_eq!(code(&ldcache(&["write", "-o", &cache, &tree.text("lib")])), 0);
    let whole = fs::read(&cache).unwrap();
    let damaged = tree.text("damaged");
    let check = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        ldcache(&["check", "--only-cache", &damaged])
    };
    assert_eq!(code(&check(b"\x7fELF and more")), 2);
    assert_eq!(code(&check(b"")), 2);
    let output = check(&whole[..100]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stdout).contains("truncated at 0x64, in its entries"), "{}", text(&output.stdout));
    // The first and the last entry change places.
    let mut swapped = whole.clone();
    swapped[48..72].copy_from_slice(&whole[96..120]);
    swapped[96..120].copy_from_slice(&whole[48..72]);
    let output = check(&swapped);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stdout).contains("order: "), "{}", text(&output.stdout));
    let mut far = whole.clone();
    far[52..56].fill(0xff);
    assert!(text(&check(&far).stdout).contains("is outside the file or unterminated"));
    let mut level = whole.clone();
    level[71] = 0x40;
    assert!(text(&check(&level).stdout).contains("level: "));
    for length in 0..whole.len() {
        assert_ne!(code(&ldcache_in_process(&whole[..length], &damaged)), 101);
        if length > 60 {
            break;
        }
    }
}

fn ldcache_in_process(bytes: &[u8], path: &str) -> Output {
    fs::write(path, bytes).unwrap();
    ldcache(&["check", "--only-cache", path])
}

#[test]
fn nothing_is_replaced_by_mistake() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    tree.library("lib/liba.so.1", "liba.so.1", &[]);
    let (folder, target) = (tree.text("lib"), tree.text("notes.txt"));
    fs::write(&target, "not a cache").unwrap();
    let output = ldcache(&["write", "-o", &target, &folder]);
    assert_eq!(code(&output), 2);
    assert_eq!(fs::read(&target).unwrap(), b"not a cache");
    assert_eq!(code(&ldcache(&["write", "-o", &target, "--force", &folder])), 0);
    assert_eq!(code(&ldcache(&["write", "-o", &target, &folder])), 0);
    let before = fs::read("/etc/ld.so.cache").ok();
    let output = ldcache(&["write", "-o", "/etc/../etc/ld.so.cache", &folder]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("--force"), "{}", text(&output.stderr));
    assert_eq!(before, fs::read("/etc/ld.so.cache").ok());
    assert_eq!(code(&ldcache(&["write", "-o", "/dev/null", "--force", &folder])), 2);
    assert_eq!(code(&ldcache(&["write", "-o", &tree.text("absent/cache"), &folder])), 2);
    assert_eq!(code(&ldcache(&["write", "-o", &target, &tree.text("absent")])), 2);
}

#[test]
fn ten_thousand_files_are_no_matter() {
    if cannot_compare() {
        return;
    }
    let tree = Tree::empty();
    tree.library("lib/liba.so.1", "liba.so.1", &[]);
    for number in 0..10_000 {
        let name = tree.path(&format!("lib/libcopy{number}.so"));
        if number % 2 == 0 { fs::hard_link(tree.path("lib/liba.so.1"), name) } else { fs::write(name, "no library") }
            .unwrap();
    }
    let cache = tree.text("cache");
    assert_eq!(code(&ldcache(&["write", "-o", &cache, &tree.text("lib")])), 0);
    let shown = text(&ldcache(&["show", "--ldconfig", &cache]).stdout);
    assert!(shown.starts_with("1 libs found"), "{shown}");
}
