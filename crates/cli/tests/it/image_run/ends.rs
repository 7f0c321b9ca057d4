//! When a program ends, however it ends, nothing of its image stays: no mount, no loop device, no busy file system.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use coldstart_testing::{Mount, eventually, skip, succeed};

use super::{Scene, mounts_below};

/// The image on a file system of its own, which cannot be unmounted while anybody uses the image.
struct OwnDisk {
    place: PathBuf,
    mounted: Option<Mount>,
}

impl OwnDisk {
    fn new(scene: &Scene) -> Option<Self> {
        let (disk, place) = (scene.path("disk.ext4"), scene.path("disk"));
        fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
        succeed(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&disk));
        match Mount::new(&place, &["-o", "loop", disk.to_str().unwrap()]) {
            Ok(mounted) => Some(Self { place, mounted: Some(mounted) }),
            Err(reason) => {
                skip(&format!("this machine mounts no file: {reason}"));
                None
            }
        }
    }

    #[track_caller]
    fn expect_free(mut self) {
        assert_eq!(mounts_below(&self.place), [self.place.as_path()]);
        let image = self.place.join("x.erofs");
        assert_eq!(succeed(Command::new("losetup").arg("-j").arg(image)), "");
        let unmount = || Command::new("umount").arg(&self.place).stderr(Stdio::null()).status().unwrap().success();
        eventually("the end of all uses of the image", unmount);
        std::mem::forget(self.mounted.take());
    }
}

/// Starts the program from an image and kills the launcher, a little later each time.
fn kill_launchers(scene: &Scene, image: &str) {
    for round in 0..12 {
        let mut command = scene.command(&["run", image], &["-"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2 * round));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn nothing_stays_of_a_program_that_ends_or_is_killed() {
    let Some(scene) = Scene::new() else { return };
    let Some(disk) = OwnDisk::new(&scene) else { return };
    scene.whole_image("disk/x.erofs");
    let mut program = scene.wait("disk/x.erofs");
    assert_eq!(program.ask(&format!("look {}", scene.share("a"))), scene.line_of_image("a"));
    assert_eq!(mounts_below(scene.directory.path()), [disk.place.as_path()]);
    let unmounted = Command::new("umount").arg(&disk.place).stderr(Stdio::null()).status().unwrap();
    assert!(!unmounted.success(), "the program does not use its image");
    assert_eq!(program.end(), Some(0));
    let killed = scene.wait("disk/x.erofs");
    drop(killed);
    disk.expect_free();
}

#[test]
fn nothing_stays_of_a_launcher_that_is_killed_at_any_moment() {
    let Some(scene) = Scene::new() else { return };
    let Some(disk) = OwnDisk::new(&scene) else { return };
    scene.whole_image("disk/x.erofs");
    kill_launchers(&scene, "disk/x.erofs");
    disk.expect_free();
}

/// tmpfs has no blocks of its own: the kernel mounts such an image by a loop device only, as Linux before 6.12 does with all.
#[test]
fn an_image_in_memory_is_mounted_by_a_loop_device_which_ends_with_the_program() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let place = scene.path("memory");
    let mounted = match Mount::new(&place, &["-t", "tmpfs", "-o", "mode=755", "tmpfs"]) {
        Ok(mounted) => mounted,
        Err(reason) => return skip(&format!("this machine does not mount tmpfs: {reason}")),
    };
    fs::copy(scene.path("x.erofs"), place.join("x.erofs")).unwrap();
    let disk = OwnDisk { place, mounted: Some(mounted) };
    let image = disk.place.join("x.erofs");
    let devices = || succeed(Command::new("losetup").arg("-j").arg(&image)).lines().count();
    let mut program = scene.wait("memory/x.erofs");
    assert_eq!(program.ask(&format!("look {}", scene.share("a"))), scene.line_of_image("a"));
    assert_eq!(devices(), 1);
    let mut other = scene.wait("memory/x.erofs");
    assert_eq!(other.ask(&format!("look {}", scene.share("a"))), scene.line_of_image("a"));
    assert_eq!(program.end(), Some(0));
    drop(other);
    kill_launchers(&scene, "memory/x.erofs");
    eventually("the end of all loop devices", || devices() == 0);
    disk.expect_free();
}
