//! `coldstart image install` for all users of this machine, under names of their own: started, judged, made again, undone.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_install::place::unit_of;
use coldstart_testing::{Turn, as_unprivileged, is_there, skip};
use serde_json::Value;

use super::{Scene, mounts_below};
use crate::text;

/// An installation for all users. It is undone when this is dropped.
struct Installed {
    scene: Scene,
    name: String,
    _turn: Turn,
}

impl Installed {
    /// An image of all files of the program, not installed yet.
    fn scene() -> Option<Self> {
        let turn = Turn::alone("page-cache");
        let scene = Scene::new()?;
        let name = scene.directory.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.').to_owned();
        scene.whole_image("x.erofs");
        Some(Self { scene, name, _turn: turn })
    }

    fn ours(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        command.args(words).current_dir(self.scene.directory.path()).stdin(Stdio::null()).output().unwrap()
    }

    #[track_caller]
    fn json(&self, code: i32, words: &[&str]) -> Value {
        let output = self.ours(&[words, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(code), "{words:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    fn install(&self) -> Value {
        self.install_with(&[])
    }

    #[track_caller]
    fn install_with(&self, more: &[&str]) -> Value {
        let (a, b) = (self.scene.share("a"), self.scene.share("b"));
        let place = format!("wrapper={}", self.scene.path("bin").display());
        let program = self.scene.path("app/program");
        let words = ["image", "install", "--json", "--name", &self.name, "--place", &place, "x.erofs", "--"];
        let (options, image) = words.split_at(words.len() - 2);
        let start = [program.to_str().unwrap(), "part", "", "look", &a, "look", &b];
        let output = self.ours(&[options, more, image, &start].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    #[track_caller]
    fn report(&self, health: &str) -> Value {
        let listing = self.json(i32::from(health != "fresh"), &["installed", &self.name]);
        let report = listing["installations"][0].clone();
        assert_eq!(report["health"], health, "{report:#}");
        report
    }

    fn wrapper(&self) -> PathBuf {
        self.scene.path("bin/program")
    }

    fn image(&self) -> PathBuf {
        Path::new("/var/lib/coldstart/installed").join(&self.name).join("start.erofs")
    }

    /// Where it is mounted for everybody.
    fn mounted(&self) -> Vec<PathBuf> {
        let manifest = fs::read_to_string(self.image().with_file_name("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        mounts_below(&Path::new("/run/coldstart/images").join(manifest["image"]["uuid"].as_str().unwrap()))
    }

    fn looks_at(&self, name: &str) -> String {
        let output = Command::new(self.wrapper()).args(["look", &self.scene.share(name)]).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
        text(&output.stdout)
    }

    fn unit(&self) -> PathBuf {
        Path::new("/etc/systemd/system").join(unit_of(OsStr::new(&self.name)))
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let _ = self.ours(&["installed", &self.name, "--repair"]);
        let _ = self.ours(&["installed", &self.name, "--uninstall", "--force"]);
    }
}

#[test]
fn an_image_is_installed_used_by_all_and_undone() {
    let Some(installed) = Installed::scene() else { return };
    let wrapper = installed.wrapper();
    fs::create_dir(wrapper.parent().unwrap()).unwrap();
    fs::write(&wrapper, "what stood there").unwrap();
    let outcome = installed.install();
    let bytes = fs::metadata(installed.image()).unwrap().len();
    assert_eq!((&outcome["image"]["bytes"], bytes > 0), (&bytes.into(), true), "{outcome:#}");
    assert_eq!(fs::metadata(installed.image()).unwrap().permissions().mode() & 0o7777, 0o644);
    let mounted = installed.mounted();
    assert_eq!(mounted.len(), 1);
    assert!(installed.looks_at("a").ends_with(&installed.scene.line_of_image("a")));
    assert!(fs::read_to_string(installed.unit()).unwrap().contains("RemainAfterExit=yes"));
    // As another user: from the image where user namespaces are allowed, otherwise from the program's own files.
    let output = as_unprivileged(&wrapper).args(["look", &installed.scene.share("a")]).output().unwrap();
    assert!(output.status.success() && text(&output.stdout).contains("words of a\n"), "{}", text(&output.stderr));
    installed.report("fresh");
    let replay = installed.json(1, &["installed", &installed.name, "--replay", "--anyway"]);
    assert!(replay.to_string().contains("image"), "{replay:#}");
    installed.json(0, &["installed", &installed.name, "--uninstall"]);
    assert_eq!(fs::read_to_string(&wrapper).unwrap(), "what stood there");
    assert!(!installed.image().exists() && !installed.unit().exists());
    assert!(mounts_below(&mounted[0]).is_empty() && !mounted[0].exists());
}

#[test]
fn a_stale_image_starts_the_program_and_is_made_again() {
    let Some(installed) = Installed::scene() else { return };
    installed.install();
    let before = installed.mounted();
    let share = installed.scene.share("a");
    fs::write(&share, "newer words\n").unwrap();
    assert!(installed.looks_at("a").ends_with(&format!("{share} disk newer words\n")));
    assert!(installed.looks_at("b").ends_with(&installed.scene.line_of_image("b")));
    let report = installed.report("stale");
    assert!(report["reasons"].to_string().contains("1 original is changed or missing"), "{report:#}");
    assert_eq!(report["stale_files"][0]["path"], share.as_str(), "{report:#}");
    installed.json(0, &["installed", &installed.name, "--refresh"]);
    installed.report("fresh");
    let after = installed.mounted();
    assert!(after.len() == 1 && after != before && mounts_below(&before[0]).is_empty(), "{after:?}");
    assert!(installed.looks_at("a").ends_with(&format!("{share} erofs newer words\n")));
}

#[test]
fn an_image_is_made_again_after_an_upgrade_by_what_the_unit_starts() {
    let Some(installed) = Installed::scene() else { return };
    let outcome = installed.install_with(&["--after-upgrades"]);
    let service = Path::new("/etc/systemd/system/coldstart-refresh.service");
    let unit = fs::read_to_string(service).unwrap();
    let words = unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
    assert!(words.contains("installed --refresh --place upgrades --when-idle"), "{words}");
    assert!(outcome["places"].to_string().contains("upgrades"), "{outcome:#}");
    let refresh = ["installed", "--refresh", "--place", "upgrades"];
    let before = installed.mounted();
    assert_eq!(installed.ours(&refresh).status.code(), Some(0));
    assert_eq!(installed.mounted(), before, "a fresh image is left as it is");
    // As a package manager does it: a new file in the place of the old one.
    let share = installed.scene.share("a");
    let new = installed.scene.path("new");
    fs::write(&new, "newer words\n").unwrap();
    fs::rename(&new, &share).unwrap();
    installed.report("stale");
    let output = installed.ours(&refresh);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    installed.report("fresh");
    assert_ne!(installed.mounted(), before);
    assert!(installed.looks_at("a").ends_with(&format!("{share} erofs newer words\n")));
    installed.json(0, &["installed", &installed.name, "--uninstall"]);
    assert!(!service.exists());
}

#[test]
fn an_image_that_is_unmounted_cut_or_gone_is_broken_and_healed() {
    let Some(installed) = Installed::scene() else { return };
    installed.install();
    let unmount = || installed.ours(&["image", "umount", installed.mounted()[0].to_str().unwrap()]);
    assert!(unmount().status.success());
    let report = installed.report("broken");
    assert!(report["remedy"] == "repair" && report["reasons"].to_string().contains("not mounted"), "{report:#}");
    let repairs = installed.json(0, &["installed", &installed.name, "--repair"]);
    assert_eq!(repairs["repairs"][0]["repaired"], "mounted", "{repairs:#}");
    installed.report("fresh");
    assert!(unmount_and_cut(&installed).status.success());
    let report = installed.report("broken");
    assert!(report["remedy"] == "refresh" && report["reasons"].to_string().contains("cut off"), "{report:#}");
    // The program starts all the same.
    let output = Command::new(installed.wrapper()).args(["exit", "7"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    installed.json(0, &["installed", &installed.name, "--refresh"]);
    installed.report("fresh");
    fs::remove_file(installed.image()).unwrap();
    assert_eq!(installed.report("broken")["remedy"], "refresh");
    installed.json(0, &["installed", &installed.name, "--refresh"]);
    installed.report("fresh");
}

/// A mounted image is not cut: reading it would fail in programs that were started from it.
fn unmount_and_cut(installed: &Installed) -> Output {
    let output = installed.ours(&["image", "umount", installed.mounted()[0].to_str().unwrap()]);
    fs::File::options().write(true).open(installed.image()).unwrap().set_len(8192).unwrap();
    output
}

#[test]
fn two_programs_share_a_mounted_image_until_the_last_is_gone() {
    let Some(one) = Installed::scene() else { return };
    one.install();
    let name = format!("{}-2", one.name);
    let place = format!("wrapper={}", one.scene.path("bin2").display());
    let program = one.scene.path("app/program");
    let words = ["image", "install", "--name", &name, "--place", &place, "x.erofs", "--", program.to_str().unwrap()];
    assert!(one.ours(&words).status.success());
    let mounted = one.mounted();
    assert!(one.ours(&["installed", &name, "--uninstall"]).status.success());
    assert_eq!(mounts_below(&mounted[0]).len(), 1);
    one.report("fresh");
    assert!(one.ours(&["installed", &one.name, "--uninstall"]).status.success());
    assert!(mounts_below(&mounted[0]).is_empty());
}

/// Calls that change something, or say that it is on disk. Each is a step of installing.
const STEPS: [&str; 7] = ["fsync", "linkat", "rename", "renameat2", "symlink", "move_mount", "unlink"];

#[test]
fn killed_at_any_step_it_is_undone_or_whole() {
    if !is_there("strace") {
        return skip("strace is missing");
    }
    let Some(installed) = Installed::scene() else { return };
    let wrapper = installed.wrapper();
    fs::create_dir(wrapper.parent().unwrap()).unwrap();
    fs::write(&wrapper, "what stood there").unwrap();
    let place = format!("wrapper={}", wrapper.parent().unwrap().display());
    let program = installed.scene.path("app/program");
    let mut kills = 0;
    for call in STEPS {
        for number in 1..60 {
            let when = format!("killed at {call} {number}");
            let status = Command::new("strace")
                .args(["-f", "-q", "-o", "/dev/null", "-e", &format!("trace={call}")])
                .args(["-e", &format!("inject={call}:signal=SIGKILL:when={number}")])
                .arg(env!("CARGO_BIN_EXE_coldstart"))
                .args(["image", "install", "--name", &installed.name, "--place", &place, "x.erofs", "--"])
                .arg(&program)
                .current_dir(installed.scene.directory.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            let standing = fs::read(&wrapper).unwrap();
            assert!(standing == b"what stood there" || standing.starts_with(b"#!/bin/sh\n"), "{when}");
            if installed.image().parent().unwrap().exists() {
                assert!(installed.ours(&["installed", &installed.name, "--repair"]).status.success(), "{when}");
            }
            if installed.image().exists() {
                installed.report("fresh");
                let mounted = installed.mounted();
                assert!(installed.ours(&["installed", &installed.name, "--uninstall"]).status.success(), "{when}");
                assert!(mounts_below(&mounted[0]).is_empty(), "{when}");
            }
            assert_eq!(fs::read(&wrapper).unwrap(), b"what stood there", "{when}");
            assert!(!installed.image().parent().unwrap().exists() && !installed.unit().exists(), "{when}");
            if status.success() {
                break;
            }
            kills += 1;
        }
    }
    assert!(kills > 15, "killed {kills} times only");
}

#[test]
fn what_cannot_be_installed_is_refused_with_advice_and_leaves_nothing() {
    let Some(installed) = Installed::scene() else { return };
    let program = installed.scene.path("app/program");
    for words in
        [&["/dev/null"][..], &["app/share/a"], &["--at-login", "x.erofs"], &["--user", "--place", "mount", "x.erofs"]]
    {
        let words = [&["image", "install", "--name", &installed.name][..], words, &["--", program.to_str().unwrap()]];
        let output = installed.ours(&words.concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stdout));
        assert!(!installed.image().parent().unwrap().exists() && !installed.unit().exists(), "{words:?}");
    }
}
