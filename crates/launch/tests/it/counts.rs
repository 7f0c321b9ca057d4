//! What a start read up to readiness, whichever of its processes and threads read it.

use std::os::fd::AsFd;
use std::time::Duration;

use coldstart_launch::{CommandLine, LaunchOptions, Launched, Uncounted, launch};

use coldstart_testing::eventually;

use crate::common::{Marker, behaving};

const MIB: u64 = 1 << 20;

/// A file of 8 MiB on a disk.
struct OnDisk(tempfile::NamedTempFile);

impl OnDisk {
    fn new() -> Self {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::io::Write::write_all(&mut file, &vec![7; 8 << 20]).unwrap();
        file.as_file().sync_all().unwrap();
        Self(file)
    }

    /// The kernel passes over pages that somebody else holds at that moment, so it is asked until none is left.
    fn evict(&self) {
        eventually("the eviction", || {
            rustix::fs::fadvise(self.0.as_file(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
            !coldstart_sys::mincore::mincore(self.0.as_file().as_fd(), 0, 8 << 20).unwrap().contains(&true)
        });
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    /// A launch of the fixture that has the file read cold by `who`, and ends when it is ready.
    fn read_by(&self, who: &str) -> Launched {
        self.evict();
        let marker = Marker::new();
        let options = LaunchOptions { grace: Duration::from_secs(60), ..marker.options("stdout:ready") };
        let launched = launch(&behaving(&["reading", who, self.path()]), &options, None, &mut || {}).unwrap();
        marker.assert_nothing_left();
        assert!(launched.ready_after.is_some(), "{who}: {launched:?}");
        launched
    }
}

#[test]
fn what_a_program_read_until_its_exit_is_counted() {
    let file = OnDisk::new();
    let line = CommandLine::new("cat", [file.path()]);
    let read = || launch(&line, &LaunchOptions::default(), None, &mut || {}).unwrap().counts.bytes_read.unwrap();
    file.evict();
    assert!(read() >= 8 * MIB);
    // A kernel that takes back what nobody uses may do so before the next start, but hardly each time.
    assert!((0..5).any(|_| read() < MIB));
}

#[test]
fn whoever_read_it_it_is_counted_at_readiness() {
    let file = OnDisk::new();
    for who in
        ["first-process", "thread-without-the-first", "child", "child-not-waited-for", "daemon", "daemon-that-ends"]
    {
        let counts = file.read_by(who).counts;
        assert!(counts.bytes_read.is_some_and(|bytes| bytes >= 8 * MIB), "{who}: {counts:?}");
        assert!(counts.minor_faults.is_some_and(|faults| faults > 0), "{who}: {counts:?}");
        assert_eq!(counts.unknown, None, "{who}");
    }
}

#[test]
fn what_it_reads_while_it_is_ended_is_no_part_of_the_start() {
    let launched = OnDisk::new().read_by("at-the-end");
    assert!(launched.counts.bytes_read.is_some_and(|bytes| bytes < 4 * MIB), "{launched:?}");
    assert!(launched.usage.bytes_read >= 8 * MIB, "it did read: {launched:?}");
}

#[test]
fn what_the_kernel_drops_is_unknown_and_not_zero() {
    let counts = OnDisk::new().read_by("child-that-is-ignored").counts;
    assert_eq!((counts.bytes_read, counts.major_faults, counts.minor_faults), (None, None, None));
    assert_eq!(counts.unknown, Some(Uncounted::ChildrenNotWaitedFor));
    // Also of a process that has been reaped.
    let reaped = launch(&behaving(&["ignores-children"]), &LaunchOptions::default(), None, &mut || {}).unwrap();
    assert_eq!(reaped.counts.unknown, Some(Uncounted::ChildrenNotWaitedFor), "{reaped:?}");
}

#[test]
fn a_process_without_its_first_thread_is_ended() {
    let launched = OnDisk::new().read_by("thread-without-the-first");
    assert!(!coldstart_host::process::exists(launched.process), "it is gone, and reaped");
    assert_eq!(launched.ended_processes, 1);
    assert!(launched.usage.bytes_read >= 8 * MIB, "{launched:?}");
}
