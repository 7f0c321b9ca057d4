//! Beds brought up and taken down for real, with a small image: what they serve, and that nothing of them stays behind
//! however they end. Needs root, /dev/fuse and loop devices.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(unreachable_pub, missing_docs)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use support::{FILE, TestBed, file_bytes, succeed, test_bed};

fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn queue_setting(bed: &TestBed, name: &str) -> String {
    let status = bed.status();
    let device = Path::new(status["device"].as_str().unwrap()).file_name().unwrap().to_owned();
    fs::read_to_string(Path::new("/sys/block").join(device).join("queue").join(name)).unwrap().trim().to_owned()
}

#[test]
fn a_bed_serves_the_images_bytes_and_leaves_nothing_behind() {
    let Some(bed) = test_bed() else { return };
    let before = fs::read(&bed.image).unwrap();
    let up = succeed(bed.up("net"));
    assert_eq!(String::from_utf8(up.stdout).unwrap().trim(), bed.root().display().to_string());

    assert!(fs::read(bed.root().join(FILE)).unwrap() == file_bytes());
    assert_eq!(queue_setting(&bed, "read_ahead_kb"), "128");
    assert_eq!(queue_setting(&bed, "rotational"), "0");
    // A program in the image finds a running system around it.
    assert!(bed.root().join("proc/self/status").exists());
    assert!(bed.root().join("sys/block").exists());
    assert!(bed.root().join("dev/null").exists());
    fs::write(bed.root().join("tmp/written"), "x").unwrap();
    fs::write(bed.root().join("written"), "x").unwrap();
    let status = bed.status();
    assert_eq!(status["up"], true);
    assert!(status["served"]["bytes"].as_u64().unwrap() >= 3_000_000);

    let again = bed.up("net").output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is already up"));

    succeed(bed.command("down"));
    assert_eq!(bed.left(), [""; 0]);
    assert!(fs::read(&bed.image).unwrap() == before, "the image itself was written to");
    assert_eq!(bed.run("status").status.code(), Some(1));
    succeed(bed.command("down"));
}

#[test]
fn reads_that_are_asked_for_together_are_under_way_together() {
    let Some(bed) = test_bed() else { return };
    succeed(bed.up("net"));
    let device = bed.status()["device"].as_str().unwrap().to_owned();
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let file = std::os::unix::fs::OpenOptionsExt::custom_flags(fs::OpenOptions::new().read(true), direct)
        .open(device)
        .unwrap();
    std::thread::scope(|scope| {
        for reader in 0..16u64 {
            let file = &file;
            scope.spawn(move || {
                let mut buffer = vec![0u8; 8192];
                let start = buffer.as_ptr().align_offset(4096);
                for round in 0..50 {
                    let place = (reader * 50 + round) * 4096;
                    std::os::unix::fs::FileExt::read_exact_at(file, &mut buffer[start..start + 4096], place).unwrap();
                }
            });
        }
    });
    // Without asynchronous direct I/O in the kernel's FUSE this is 1.
    assert!(bed.status()["served"]["deepest_queue"].as_u64().unwrap() >= 8);
}

#[test]
fn all_kinds_come_up_and_hdd_turns() {
    let Some(bed) = test_bed() else { return };
    for (kind, rotational) in [("hdd", "1"), ("net", "0"), ("disk", "0")] {
        succeed(bed.up(kind));
        assert_eq!(queue_setting(&bed, "rotational"), rotational, "{kind}");
        assert_eq!(queue_setting(&bed, "read_ahead_kb"), "128", "{kind}");
        assert!(fs::read(bed.root().join(FILE)).unwrap() == file_bytes(), "{kind}");
        succeed(bed.command("down"));
        assert_eq!(bed.left(), [""; 0], "{kind}");
    }
}

#[test]
fn a_killed_server_leaves_nothing_behind() {
    let Some(bed) = test_bed() else { return };
    succeed(bed.up("net"));
    signal(bed.server_pid(), Signal::KILL);
    wait_for("the broken state", || bed.status()["up"] == false);
    succeed(bed.command("down"));
    assert_eq!(bed.left(), [""; 0]);
}

#[test]
fn a_program_in_a_bed_whose_server_was_killed_does_not_keep_it() {
    let Some(bed) = test_bed() else { return };
    succeed(bed.up("net"));
    let mut user =
        Command::new("sleep").arg("60").current_dir(bed.root().join("folder")).stdin(Stdio::null()).spawn().unwrap();
    signal(bed.server_pid(), Signal::KILL);
    wait_for("the broken state", || bed.status()["up"] == false);
    let down = succeed(bed.command("down"));
    let message = String::from_utf8_lossy(&down.stderr).into_owned();
    assert!(message.contains(&format!("process {} (sleep): cwd", user.id())), "{message}");
    assert!(user.try_wait().unwrap().is_none(), "it was ended without being asked");
    user.kill().unwrap();
    user.wait().unwrap();
    wait_for("the end of the loop device", || bed.left().is_empty());
}

#[test]
fn a_stopped_server_does_not_hang_down() {
    let Some(bed) = test_bed() else { return };
    succeed(bed.up("net"));
    fs::write(bed.root().join("not-yet-on-disk"), vec![1; 1 << 20]).unwrap();
    signal(bed.server_pid(), Signal::STOP);
    succeed(bed.command("down"));
    assert_eq!(bed.left(), [""; 0]);
}

#[test]
fn a_server_that_stops_under_way_does_not_hang_down() {
    for milliseconds in [0, 2, 5, 10, 20] {
        let Some(bed) = test_bed() else { return };
        succeed(bed.up("net"));
        fs::write(bed.root().join("not-yet-on-disk"), vec![1; 8 << 20]).unwrap();
        let server = bed.server_pid();
        let down = bed.command("down").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        // It may be gone by then.
        let _ = kill_process(Pid::from_raw(server).unwrap(), Signal::STOP);
        let down = down.wait_with_output().unwrap();
        assert!(down.status.success(), "{milliseconds} ms: {}", String::from_utf8_lossy(&down.stderr));
        assert_eq!(bed.left(), [""; 0], "{milliseconds} ms");
    }
}

#[test]
fn processes_in_the_way_are_named_and_ended_only_when_asked() {
    let Some(bed) = test_bed() else { return };
    succeed(bed.up("net"));
    let mut user =
        Command::new("sleep").arg("60").current_dir(bed.root().join("folder")).stdin(Stdio::null()).spawn().unwrap();
    let refused = bed.run("down");
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains(&format!("process {} (sleep): cwd", user.id())), "{message}");
    assert!(user.try_wait().unwrap().is_none(), "it was ended without being asked");
    // The file system itself is still there to work with.
    assert!(fs::read(bed.root().join(FILE)).unwrap() == file_bytes());

    let mut kill = bed.command("down");
    kill.arg("--kill");
    succeed(kill);
    assert!(user.wait().unwrap().code().is_none(), "it ended by itself");
    assert_eq!(bed.left(), [""; 0]);
}

#[test]
fn an_interrupted_up_undoes_what_it_did() {
    for asked in [Signal::INT, Signal::TERM, Signal::HUP] {
        let Some(bed) = test_bed() else { return };
        let [marker, go] = ["attaching", "go"].map(|name| bed.home().with_extension(name));
        let (asking, waiting) = (format!("touch {}", marker.display()), format!("[ ! -e {} ]", go.display()));
        let path =
            bed.path_with_losetup(&format!("{asking}; while {waiting}; do sleep 0.05; done; exec LOSETUP \"$@\""));
        let up = bed.up("net").env("PATH", path).stderr(Stdio::piped()).spawn().unwrap();
        wait_for("losetup", || marker.exists());
        assert!(!bed.left().is_empty(), "there is nothing to undo yet");
        signal(up.id().cast_signed(), asked);
        fs::write(go, "").unwrap();
        let output = up.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
        assert_eq!(bed.left(), [""; 0]);
    }
}

#[test]
fn a_step_that_fails_undoes_the_ones_before() {
    let Some(bed) = test_bed() else { return };
    let path = bed.path_with_losetup("echo 'no free device' >&2; exit 1");
    let output = bed.up("net").env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no free device"));
    assert_eq!(bed.left(), [""; 0]);

    // No ext4 in it: this fails at the mount, after the loop device was attached.
    fs::write(&bed.image, vec![7; 1 << 20]).unwrap();
    let output = bed.up("net").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot mount"));
    assert_eq!(bed.left(), [""; 0]);
}

#[test]
fn down_cleans_up_after_an_up_that_was_killed() {
    let Some(bed) = test_bed() else { return };
    // Attached, but the device's name never came back to be noted.
    let marker = bed.home().with_extension("attached");
    let until_killed = "while [ -e /proc/$PPID ]; do sleep 0.05; done";
    let path = bed.path_with_losetup(&format!("LOSETUP \"$@\"; touch {}; {until_killed}", marker.display()));
    let mut up = bed.up("net").env("PATH", path).spawn().unwrap();
    wait_for("losetup", || marker.exists());
    up.kill().unwrap();
    up.wait().unwrap();
    let left = bed.left();
    assert!(left.iter().any(|line| line.contains("/dev/loop")), "{left:?}");
    assert_eq!(bed.status()["broken"], "`up` did not finish");
    succeed(bed.command("down"));
    assert_eq!(bed.left(), [""; 0]);
}
