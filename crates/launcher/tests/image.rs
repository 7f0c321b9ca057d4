//! `coldstart-run IMAGE -- PROGRAM`: files of the program come from the image, and whatever the image is, the program starts.
//!
//! The images are below /var/tmp: on a disk, in directories of root's. `stat -f` says which file system a file comes from.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "shared with the tests of plans")]
mod one_file;

use std::fs::{self, File, Permissions};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use coldstart_image::tree::Collector;
use coldstart_image::{HotOrder, HotRun, Plan, write_image};
use coldstart_index::{IndexPlace, Language, LanguageIndex, Manifest, RemoteNames};
use coldstart_profile::plan::{PlanSummary, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use coldstart_profile::{FileIdentity, PageRange};
use coldstart_testing::{as_unprivileged, copy_program, eventually, is_root, skip};
use one_file::{make_cold, resident, write_pages};
use tempfile::TempDir;

const PAGES: u64 = 600;
/// Of a file that is not in the image.
const BESIDE: u64 = 40;
/// EROFS, as `stat -f -c %t` prints it.
const EROFS: &str = "e0f5e1e2\n";
const WITHOUT: &str = "coldstart: started without the image: ";

/// A directory with `app/a` and `app/b`, and an image of them, all of whose pages are hot.
struct Scene(TempDir);

impl Scene {
    /// `None` where no program can be started from an image; that was said.
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let directory = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir_in("/var/tmp");
        let scene = Self(directory.unwrap());
        fs::create_dir(scene.path("app")).unwrap();
        let mut runs = Vec::new();
        for name in ["app/a", "app/b"] {
            write_pages(&scene.path(name), PAGES);
            let pages = PageRange::new(0, PAGES).unwrap();
            runs.push(HotRun { path: Arc::from(scene.path(name)), pages, programs: 1 });
        }
        let mut collector = Collector::new(Path::new("/")).unwrap();
        collector.add_tree(&scene.path("app")).unwrap();
        let (entries, trees) = collector.finish();
        write_pages(&scene.path("beside"), BESIDE);
        let mut order = HotOrder { programs: vec!["stat".into()], outside: Vec::new(), runs };
        let write = |name: &str, order: &HotOrder| {
            let plan = Plan::new(entries.clone(), trees.clone(), order).unwrap();
            let image = File::create_new(scene.path(name)).unwrap();
            write_image(&image, &plan, &mut |_| ControlFlow::Continue(())).unwrap();
        };
        // From another image: the process beside a program reads on after that has ended, and would read what a test has made cold.
        write("tried.erofs", &order);
        let said = said(&scene.start("tried.erofs", "app/a"));
        order.outside.push(plan_of(&scene.path("beside")));
        write("x.erofs", &order);
        if said.contains("cannot be mounted") {
            skip(&said);
            return None;
        }
        Some(scene)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn start(&self, image: &str, file: &str) -> Output {
        self.stat(Command::new(env!("CARGO_BIN_EXE_coldstart-run")), image, file)
    }

    fn stat(&self, mut launcher: Command, image: &str, file: &str) -> Output {
        launcher.arg(self.path(image)).args(["--", "stat", "-f", "-c", "%t"]).arg(self.path(file)).output().unwrap()
    }
}

/// A plan that reads a file.
fn plan_of(path: &Path) -> Vec<u8> {
    let found = fs::metadata(path).unwrap();
    let modified = i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
    let identity = FileIdentity { size: found.len(), modified: modified.try_into().unwrap() };
    let plan = PrefetchPlan {
        summary: PlanSummary {
            recorded_at: 0,
            recorded_start: Duration::ZERO,
            hot_start: Duration::ZERO,
            windows_before_start: u32::MAX,
            threads: 2,
            chunk_pages: 16,
            device: PlannedDevice { latency: Duration::ZERO, bandwidth: 1, parallel: 2, seeks: false },
            predicted_replay: Duration::ZERO,
            predicted_start: Duration::ZERO,
        },
        command: Vec::new(),
        targets: vec![Target { path: path.to_owned(), kind: TargetKind::File(identity) }],
        steps: vec![Step {
            target: 0,
            window: 0,
            pages: PageRange::new(0, BESIDE),
            first_use: Duration::ZERO,
            physical: None,
        }],
    };
    plan.to_bytes().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn files_come_from_the_image_unless_they_have_changed() {
    let Some(scene) = Scene::new() else { return };
    let from = |file: &str| {
        let output = scene.start("x.erofs", file);
        assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!((from("app/a").as_str(), from("app/b").as_str()), (EROFS, EROFS));
    fs::write(scene.path("app/a"), "changed").unwrap();
    assert_ne!(from("app/a"), EROFS);
    assert_eq!(from("app/b"), EROFS);
    // The program's own code.
    let failed = scene.start("x.erofs", "app/missing");
    let plain = Command::new("stat").args(["-f", "-c", "%t"]).arg(scene.path("app/missing")).output().unwrap();
    assert_eq!((failed.status, failed.stderr), (plain.status, plain.stderr));
}

#[test]
fn an_index_of_modules_is_used_beside_an_image() {
    let Some(scene) = Scene::new() else { return };
    let language = LanguageIndex {
        language: Language::Python,
        interpreter: "/no/interpreter".into(),
        version: "0".to_owned(),
        modules: 0,
        missing: 0,
        guards: Vec::new(),
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: Vec::new(),
    };
    let place = IndexPlace::begin(&scene.path("index")).unwrap();
    place.finish(&Manifest { command: Vec::new(), languages: vec![language], remote: RemoteNames::default() }).unwrap();
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_coldstart-run"));
    launcher.arg("--index").arg(scene.path("index")).arg(scene.path("x.erofs"));
    launcher.args(["--", "sh", "-c", "stat -f -c %t \"$0\" && printenv PYTHONPATH"]).arg(scene.path("app/a"));
    let output = launcher.env_remove("PYTHONPATH").output().unwrap();
    let expected = format!("{EROFS}{}\n", scene.path("index/current/python").display());
    assert_eq!((String::from_utf8_lossy(&output.stdout).into_owned(), said(&output)), (expected, String::new()));
}

#[test]
fn the_hot_range_is_read_beside_the_program() {
    let Some(scene) = Scene::new() else { return };
    let image = scene.path("x.erofs");
    if resident(&image).is_none() {
        return skip("needs fincore");
    }
    // No program was started from this image before. Pages just written may stay in memory for a moment.
    let beside = scene.path("beside");
    eventually("a cold image", || {
        make_cold(&image);
        make_cold(&beside);
        resident(&image).unwrap() == 0 && resident(&beside).unwrap() == 0
    });
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_coldstart-run"));
    // It names no file of the image.
    launcher.arg(&image).args(["--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut program = launcher.spawn().unwrap();
    eventually("the hot range in memory", || resident(&image).unwrap() >= 2 * PAGES);
    eventually("what the start needs besides the image", || resident(&beside).unwrap() == BESIDE);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
}

#[test]
fn the_program_starts_whatever_the_image_is() {
    let Some(scene) = Scene::new() else { return };
    let copy = |name: &str| {
        copy_program(scene.path("x.erofs"), scene.path(name));
        File::options().read(true).write(true).open(scene.path(name)).unwrap()
    };
    copy("cut").set_len(8192).unwrap();
    copy("newer").write_all_at(&[99], 8).unwrap();
    copy("no file system").write_all_at(&[0; 4], 1024).unwrap();
    copy("writable").set_permissions(Permissions::from_mode(0o666)).unwrap();
    for (name, reason) in [
        ("cut", "is cut off"),
        ("newer", "version 99"),
        ("no file system", "cannot be mounted"),
        ("writable", "others may write"),
    ] {
        let output = scene.start(name, "app/a");
        let complained = said(&output);
        assert_eq!(output.status.code(), Some(0), "{complained}");
        assert_ne!(String::from_utf8_lossy(&output.stdout), EROFS, "{name}");
        assert!(complained.starts_with(WITHOUT) && complained.contains(reason), "{name}: {complained}");
        assert_eq!(complained.lines().count(), 1, "{complained}");
    }
    // Without a place to say it.
    let mut closed = Command::new("sh");
    closed.args(["-c", "exec \"$@\" 2>&-", "sh", env!("CARGO_BIN_EXE_coldstart-run")]);
    assert!(scene.stat(closed, "cut", "app/a").status.success());
}

#[test]
fn a_user_who_may_not_mount_is_told_who_can() {
    let Some(scene) = Scene::new() else { return };
    let launcher = scene.path("coldstart-run");
    copy_program(env!("CARGO_BIN_EXE_coldstart-run"), &launcher);
    let output = scene.stat(as_unprivileged(launcher), "x.erofs", "app/a");
    let complained = said(&output);
    assert!(output.status.success(), "{complained}");
    assert!(complained.starts_with(WITHOUT) && complained.contains("`coldstart image mount "), "{complained}");
    assert_eq!(complained.lines().count(), 1, "{complained}");
}
