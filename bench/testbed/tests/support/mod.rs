//! A small ext4 image, a bed of its own for each test, and the question what is left of it in the system.

use std::ffi::OsStr;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use coldstart_host::mounts::Mounts;
use coldstart_host::process::{ProcessFiles, numbers};

/// A bed in a temporary folder. Dropping it takes the bed down.
pub struct TestBed {
    folder: tempfile::TempDir,
    pub name: String,
    pub image: PathBuf,
}

/// The file in the image and its bytes.
pub const FILE: &str = "folder/data.bin";

pub fn file_bytes() -> Vec<u8> {
    // No period that divides a block, so that a wrong block shows.
    (0..3_000_000u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

/// A test bed, or `None` with the reason said when this machine cannot have one.
pub fn test_bed() -> Option<TestBed> {
    let missing = if !rustix::process::geteuid().is_root() {
        Some("needs root")
    } else if !Path::new("/dev/fuse").exists() {
        Some("needs /dev/fuse")
    } else if !Path::new("/dev/loop-control").exists() {
        Some("needs loop devices")
    } else if Command::new("mkfs.ext4").arg("-V").output().is_err() {
        Some("needs mkfs.ext4 (apt-get install e2fsprogs)")
    } else {
        None
    };
    if let Some(reason) = missing {
        coldstart_testing::skip(reason);
        return None;
    }
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = tempfile::Builder::new().prefix("testbed").tempdir().unwrap();
    let tree = folder.path().join("tree");
    for inside in ["proc", "sys", "dev", "tmp", "folder"] {
        fs::create_dir_all(tree.join(inside)).unwrap();
    }
    fs::write(tree.join(FILE), file_bytes()).unwrap();
    let image = folder.path().join("image.ext4");
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F", "-d"]).args([&tree, &image]).status().unwrap();
    assert!(made.success());
    Some(TestBed { folder, name, image })
}

/// Runs and wants success.
pub fn succeed(mut command: Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

impl TestBed {
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub fn root(&self) -> PathBuf {
        self.home().join("root")
    }

    pub fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-testbed"));
        command.arg(verb);
        self.which(command)
    }

    pub fn up(&self, kind: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart-testbed"));
        command.args(["up", kind, "--image"]).arg(&self.image);
        self.which(command)
    }

    fn which(&self, mut command: Command) -> Command {
        command.args(["--name", &self.name, "--home"]).arg(self.home());
        command
    }

    pub fn run(&self, verb: &str) -> Output {
        self.command(verb).output().unwrap()
    }

    pub fn status(&self) -> serde_json::Value {
        let output = self.command("status").arg("--json").output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    pub fn server_pid(&self) -> i32 {
        i32::try_from(self.status()["server_pid"].as_i64().unwrap()).unwrap()
    }

    /// A PATH on which `losetup` is `script`, where `LOSETUP` stands for the real one.
    pub fn path_with_losetup(&self, script: &str) -> OsString {
        let folder = self.folder.path().join("bin");
        fs::create_dir_all(&folder).unwrap();
        let real = Command::new("sh").args(["-c", "command -v losetup"]).output().unwrap();
        let real = String::from_utf8(real.stdout).unwrap();
        let text = format!("#!/bin/sh\n{}\n", script.replace("LOSETUP", real.trim()));
        fs::write(folder.join("losetup"), text).unwrap();
        fs::set_permissions(folder.join("losetup"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut path = OsString::from(folder);
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        path
    }

    /// Everything of this bed that is still in the system, told by the system itself.
    pub fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        let home = self.home().display().to_string();
        let mounts = Mounts::here().unwrap();
        left.extend(mounts.all().iter().map(|mount| format!("{mount:?}")).filter(|mount| mount.contains(&home)));
        let loops = Command::new("losetup").arg("--list").output().unwrap();
        left.extend(String::from_utf8_lossy(&loops.stdout).lines().filter(|l| l.contains(&home)).map(str::to_owned));
        let copies = fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().file_name());
        left.extend(copies.map(|name| name.into_string().unwrap()).filter(|name| name.contains(&self.name)));
        for number in numbers().unwrap() {
            let command = ProcessFiles::of(number).arguments().join(OsStr::new(" "));
            let command = command.to_string_lossy().into_owned();
            if command.contains("coldstart-testbed serve") && command.contains(&home) {
                left.push(command);
            }
        }
        if self.home().join("state.json").exists() {
            left.push("state.json".into());
        }
        left
    }
}

impl Drop for TestBed {
    fn drop(&mut self) {
        let output = self.command("down").arg("--kill").output();
        // Do not hide the panic that brought us here.
        if !std::thread::panicking() {
            assert!(output.unwrap().status.success());
            assert_eq!(self.left(), [""; 0]);
        }
    }
}
