//! `coldstart order appimage`: the new file starts, holds the same as tar sees it, and has its files in the order of the start.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Command, Stdio};

use coldstart_testing::{compile, skip};
use serde_json::Value;

use super::archives::{Scene, records_reads};
use crate::killed::{VARIABLE, eventually};
use crate::text;

/// A runtime: see there.
const RUNTIME: &str = include_str!("../../../../../bench/programs/appimage_runtime.c");

/// An `AppDir` with all that a squashfs image can hold. Its program reads three files of forty, the last one first.
const APP_DIR: &str = r#"
import os, random
random.seed(7)
os.makedirs('AppDir/usr/share')
for n in range(40):
    with open('AppDir/usr/share/f%02d' % n, 'wb') as out: out.write(random.randbytes(150000))
with open('AppDir/AppRun', 'w') as out:
    out.write('#!/bin/sh\nd=$(dirname "$0")/usr/share\nexec cat "$d/f38" "$d/f07" "$d/f21"\n')
os.chmod('AppDir/AppRun', 0o755)
os.link('AppDir/usr/share/f07', 'AppDir/usr/other')
os.symlink('usr/share/f01', 'AppDir/link')
with open('AppDir/new\nline', 'w') as out: out.write('small')
os.mkfifo('AppDir/pipe')
os.mknod('AppDir/null', 0o600 | 0o020000, os.makedev(1, 3))
os.chown('AppDir/usr/share/f03', 1234, 2345)
os.chmod('AppDir/usr/share/f04', 0o4711)
os.setxattr('AppDir/usr/share/f05', 'user.color', b'blue')
os.utime('AppDir/usr/share', (1, 86400 * 365))
"#;

/// Writes the `AppImage` `name` with this signature in its runtime, and its image made with these options.
pub(super) fn make(scene: &Scene, name: &str, signature: &str, options: &[&str]) {
    make_with(scene, name, &[&format!("-DSIGNATURE=\"{signature}\"")], options);
}

/// The same, unsigned, with a runtime that has squashfuse mount the image.
pub(super) fn make_mounting(scene: &Scene, name: &str, options: &[&str]) {
    make_with(scene, name, &["-DSIGNATURE=\"\"", "-DMOUNT"], options);
}

fn make_with(scene: &Scene, name: &str, definitions: &[&str], options: &[&str]) {
    compile("cc", &scene.path("runtime"), RUNTIME, &[&["-O1"], definitions].concat());
    let words = ["AppDir", "image", "-noappend", "-no-progress", "-quiet"];
    scene.done("mksquashfs", &[&words, options].concat());
    let mut bytes = fs::read(scene.path("runtime")).unwrap();
    bytes[8..11].copy_from_slice(b"AI\x02");
    bytes.extend(fs::read(scene.path("image")).unwrap());
    fs::write(scene.path(name), bytes).unwrap();
    fs::set_permissions(scene.path(name), PermissionsExt::from_mode(0o755)).unwrap();
}

/// A scene with an `AppDir`; `None` where something is missing, with a reason printed.
pub(super) fn scene() -> Option<Scene> {
    if !records_reads() {
        return None;
    }
    let scene = Scene::new();
    let made = scene.run("python3", &["-c", APP_DIR]);
    if !made.status.success() {
        skip(&format!("no devices or attributes here: {}", text(&made.stderr)));
        return None;
    }
    Some(scene)
}

/// Traces a start of a file from a directory of the name that a runtime gives it.
pub(super) fn trace(scene: &Scene, name: &str) {
    let mount = scene.path(".mount_appXyZ");
    let _ = fs::remove_dir_all(&mount);
    let command = [&format!("./{name}"), mount.to_str().unwrap()];
    scene.trace("t.coldtrace", &command);
}

/// What tar sees in the image of a file: modes, owners, times, links, devices and contents.
fn tarred(scene: &Scene, name: &str, offset: u64) -> Vec<u8> {
    let tree = format!("{name}.tree");
    let offset = offset.to_string();
    scene.done("unsquashfs", &["-no-progress", "-quiet", "-o", &offset, "-d", &tree, name]);
    let shown = scene.done(
        "python3",
        &["-c", "import os,sys; print(os.getxattr(sys.argv[1], 'user.color'))", &format!("{tree}/usr/share/f05")],
    );
    assert_eq!(shown, "b'blue'\n");
    scene.done("tar", &["--sort=name", "--numeric-owner", "-C", &tree, "-cf", "tree.tar", "."]);
    fs::read(scene.path("tree.tar")).unwrap()
}

#[test]
fn an_appimage_starts_from_its_new_order_and_holds_the_same() {
    let Some(scene) = scene() else { return };
    // Uncompressed, contents can be found where they lie.
    make(&scene, "app", "", &["-noD", "-noF", "-no-fragments"]);
    trace(&scene, "app");
    let outcome = scene.json(&["order", "appimage", "app", "-o", "new", "--trace", "t.coldtrace", "--json"]);
    assert_eq!((outcome["files"].as_u64(), outcome["used"].as_u64()), (Some(42), Some(4)), "{outcome}");
    assert_eq!((&outcome["before"]["compression"], &outcome["after"]["compression"]), (&"gzip".into(), &"gzip".into()));
    let new = fs::read(scene.path("new")).unwrap();
    let place = |name: &str| {
        let start = &fs::read(scene.path(&format!("AppDir/usr/share/{name}"))).unwrap()[..64];
        new.windows(64).position(|window| window == start).unwrap()
    };
    let order = ["f38", "f07", "f21"].map(place);
    assert!(order.is_sorted(), "{order:?}");
    // What is in no list comes behind, in an order of mksquashfs' own.
    assert!(["f00", "f01", "f20", "f37", "f39"].map(place).iter().all(|place| *place > order[2]));
    // The runtime is the same but for the checksum of the old file.
    let runtime = fs::metadata(scene.path("runtime")).unwrap().size();
    let old = fs::read(scene.path("app")).unwrap();
    let length = usize::try_from(runtime).unwrap();
    let changed = old[..length].iter().zip(&new[..length]).filter(|(one, other)| one != other).count();
    assert_eq!(changed, 15);
    assert!(new[..length].windows(17).any(|window| window == b"gh-releases-zsync"));
    assert!(tarred(&scene, "new", runtime) == tarred(&scene, "app", runtime), "another tree");
    let started = |name: &str| {
        let output = scene.run(&format!("./{name}"), &[scene.path(&format!("started-{name}")).to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    assert!(started("new") == started("app"), "another output");
    // The same again gives the same bytes.
    scene.json(&["order", "appimage", "app", "-o", "again", "--trace", "t.coldtrace", "--json"]);
    assert!(fs::read(scene.path("again")).unwrap() == new, "other bytes");
}

#[test]
fn compression_and_block_size_are_told_and_changed_when_asked() {
    let Some(scene) = scene() else { return };
    make(&scene, "app", "", &["-comp", "xz", "-b", "1M"]);
    trace(&scene, "app");
    // Without an output it reports the costs and writes nothing.
    let names =
        || fs::read_dir(scene.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect::<BTreeSet<_>>();
    let before = names();
    let told = scene.json(&["order", "appimage", "app", "--trace", "t.coldtrace", "--json"]);
    assert_eq!((&told["form"]["compression"], told["used"].as_u64()), (&"xz".into(), Some(4)), "{told}");
    let blocks = told["blocks"].as_array().unwrap();
    let cost = |block: &Value| (block["block_size"].as_u64().unwrap(), block["decompressed"].as_u64().unwrap());
    let costs: Vec<(u64, u64)> = blocks.iter().map(cost).collect();
    assert_eq!(costs.last(), told["form"]["decompressed"].as_u64().map(|own| (1 << 20, own)).as_ref());
    assert!(costs.is_sorted_by_key(|cost| cost.1) && costs[0].0 == 4096 && costs[0].1 >= 3 * 150_000, "{told}");
    assert_eq!(names(), before);
    let refused = scene.coldstart(&["order", "appimage", "app", "--trace", "t.coldtrace", "--block-size", "4096"]);
    assert!(
        refused.status.code() == Some(2) && text(&refused.stderr).contains("--output"),
        "{}",
        text(&refused.stderr)
    );

    let words = ["order", "appimage", "app", "-o", "new", "--trace", "t.coldtrace", "--json"];
    let outcome = scene.json(&[&words[..], &["--compression", "zstd", "--block-size", "4096"]].concat());
    assert_eq!(outcome["after"]["decompressed"].as_u64(), Some(costs[0].1), "{outcome}");
    assert_eq!(outcome["before"]["compression"], "xz");
    assert_eq!(
        (outcome["before"]["block_size"].as_u64(), outcome["after"]["block_size"].as_u64()),
        (Some(1 << 20), Some(4096))
    );
    let superblock = scene
        .done("unsquashfs", &["-s", "-o", &fs::metadata(scene.path("runtime")).unwrap().size().to_string(), "new"]);
    assert!(superblock.contains("Compression zstd") && superblock.contains("Block size 4096"), "{superblock}");
    let decompressed = |form: &str| outcome[form]["decompressed"].as_u64().unwrap();
    assert!(decompressed("after") >= 3 * 150_000 && decompressed("after") <= decompressed("before"), "{outcome}");
}

#[test]
fn signed_ones_are_refused_or_lose_the_signature_and_other_starts_do_not_count() {
    let Some(scene) = scene() else { return };
    make(&scene, "app", "c1c2", &[]);
    trace(&scene, "app");
    let words = ["order", "appimage", "app", "-o", "new", "--trace", "t.coldtrace", "--json"];
    let refused = |words: &[&str], reason: &str| {
        let output = scene.coldstart(words);
        assert_eq!(output.status.code(), Some(2));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(answer["error"]["message"].as_str().unwrap().contains(reason), "{answer}");
        assert!(!scene.path("new").exists());
    };
    refused(&words, "it is signed");
    scene.trace("other.coldtrace", &["true"]);
    let other = ["order", "appimage", "app", "-o", "new", "--trace", "other.coldtrace", "--json", "--drop-signature"];
    refused(&other, "no traced start used a file");
    scene.json(&[&words[..], &["--drop-signature"]].concat());
    let has = |name: &str| fs::read(scene.path(name)).unwrap().windows(5).any(|window| window == b"c1c2\0");
    assert!(has("app") && !has("new"));
    // What is cut off is refused before anything is extracted.
    let whole = fs::read(scene.path("app")).unwrap();
    fs::remove_file(scene.path("new")).unwrap();
    fs::write(scene.path("app"), &whole[..whole.len() - 8192]).unwrap();
    refused(&words, "cannot put `app` into order");
}

#[test]
fn a_kill_ends_the_squashfs_tools_as_well() {
    let Some(scene) = scene() else { return };
    make(&scene, "app", "", &[]);
    trace(&scene, "app");
    // A tool that takes for ever.
    fs::create_dir(scene.path("bin")).unwrap();
    let tool = scene.path("bin/unsquashfs");
    fs::write(&tool, "#!/bin/sh\nexec sleep 98765\n").unwrap();
    fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", scene.path("bin").display(), std::env::var("PATH").unwrap());
    let mark = format!("{}-appimage", std::process::id());
    let mut coldstart = Command::new(env!("CARGO_BIN_EXE_coldstart"))
        .args(["order", "appimage", "app", "-o", "new", "--trace", "t.coldtrace"])
        .current_dir(scene.path(""))
        .env("PATH", path)
        .env("TMPDIR", scene.path(""))
        .env(VARIABLE, &mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    eventually("the tool", &mark, |now| now.iter().any(|line| line.starts_with("sleep")));
    coldstart.kill().unwrap();
    coldstart.wait().unwrap();
    eventually("its end", &mark, <[String]>::is_empty);
    assert!(!scene.path("new").exists());
}
