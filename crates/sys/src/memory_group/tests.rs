use super::*;

use std::io::Read;
use std::process::Command;

/// The group, or `None` with a printed reason where this machine lets us have none.
fn group() -> Option<MemoryGroup> {
    match MemoryGroup::create() {
        Ok(group) => Some(group),
        Err(error) => {
            coldstart_testing::skip(&error.to_string());
            None
        }
    }
}

fn processes(directory: &Path) -> String {
    fs::read_to_string(directory.join("cgroup.procs")).unwrap()
}

/// Pages that the kernel may have taken back, or may hold at the moment when it is asked to.
const FEW: u64 = 40;

/// All of it in one test: a process is in one group at a time, and tests run side by side in one process. That process is one of its
/// own: children that other tests start meanwhile would be in the group, too, and stay there.
#[test]
fn what_was_brought_in_inside_is_charged_and_taken_back() {
    const ALONE: &str = "COLDSTART_MEMORY_GROUP_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "memory_group::tests::what_was_brought_in_inside_is_charged_and_taken_back";
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let output = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return print!("{text}");
    }
    let file = tempfile::NamedTempFile::new_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
    fs::write(file.path(), vec![7; 8 << 20]).unwrap();
    file.as_file().sync_all().unwrap();
    let resident = || {
        let pages = crate::mincore::mincore(&file, 0, 8 << 20).unwrap();
        pages.iter().filter(|&&is_resident| is_resident).count()
    };
    // The kernel passes over pages that somebody else holds at that moment, so it is asked again for a while.
    assert!((0..200).any(|_| {
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        resident() == 0 || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            false
        }
    }));
    let Some(mut group) = group() else { return };
    let directory = group.directory().to_owned();
    let home = processes(&directory);
    assert_eq!(home, "", "nobody is in it yet");

    group.enter().unwrap();
    assert!(processes(&directory).lines().any(|line| line == std::process::id().to_string()));
    // A program's reads are charged to the group, and stay charged when it has ended. The kernel is free to take them back on its
    // own, but hardly each time.
    let all_charged = (0..5).any(|_| {
        assert!(Command::new("cat").arg(file.path()).output().unwrap().status.success());
        group.charged().unwrap().file >= (8 << 20) - FEW * 4096
    });
    assert!(all_charged, "{:?}", group.charged());
    group.leave().unwrap();
    assert_eq!(processes(&directory), "", "we and the program are gone");

    group.reclaim().unwrap();
    let left = group.charged().unwrap();
    assert!(left.file < 1 << 20, "{left:?}");
    assert!(resident() <= FEW as usize, "the file's pages are out of memory: {} are not", resident());
    let mut text = Vec::new();
    file.reopen().unwrap().read_to_end(&mut text).unwrap();
    assert_eq!(text.len(), 8 << 20);

    drop(group);
    assert!(!directory.exists(), "a group of ours goes with us");
}

#[test]
fn a_group_that_cannot_be_had_is_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let home =
        |generation| Home { generation, group: directory.path().join("ours"), parent: directory.path().to_owned() };
    // A plain directory has no memory files: as a hierarchy whose controller is not handed down.
    let refused = MemoryGroup::create_in(&home(Generation::V2));
    assert!(matches!(refused, Err(GroupError::NoController)), "{refused:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left of it");

    let missing = Home { parent: directory.path().join("no/such"), ..home(Generation::V1) };
    let refused = MemoryGroup::create_in(&missing);
    assert!(matches!(refused, Err(GroupError::NotPermitted { .. })), "{refused:?}");
}

/// A directory with the files of a group of v2, as far as we use them.
fn play_v2(parent: &Path, events: &str) -> MemoryGroup {
    let directory = parent.join(format!("{PREFIX}{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    fs::create_dir_all(parent.join("ours")).unwrap();
    for (name, text) in [
        ("memory.reclaim", ""),
        ("memory.current", "8192\n"),
        ("memory.stat", "anon 0\nfile 4096\nslab_reclaimable 2048\n"),
        ("cgroup.events", events),
        ("cgroup.procs", ""),
        ("../ours/cgroup.procs", ""),
    ] {
        fs::write(directory.join(name), text).unwrap();
    }
    let home = parent.join("ours/cgroup.procs");
    MemoryGroup { generation: Generation::V2, directory, home, inside: false }
}

#[test]
fn v2_is_asked_for_what_is_charged() {
    let directory = tempfile::tempdir().unwrap();
    let group = play_v2(directory.path(), "populated 0\nfrozen 0\n");
    assert_eq!(group.charged().unwrap(), Charged { file: 4096, reclaimable: 2048, total: 8192 });
    group.reclaim().unwrap();
    let asked = fs::read_to_string(group.directory().join("memory.reclaim")).unwrap();
    assert_eq!(asked, "8192 swappiness=0", "the memory is not swapped out: it is not the program's own that should go");
}

#[test]
fn a_frozen_group_is_not_entered() {
    let directory = tempfile::tempdir().unwrap();
    let mut group = play_v2(directory.path(), "populated 0\nfrozen 1\n");
    assert!(matches!(group.enter(), Err(GroupError::Frozen(_))));
    assert_eq!(processes(group.directory()), "");
}

#[test]
fn groups_of_dead_processes_are_cleared_away() {
    let directory = tempfile::tempdir().unwrap();
    // Process numbers end at 2^22.
    let dead = directory.path().join(format!("{PREFIX}{}.0", u32::MAX));
    let alive = directory.path().join(format!("{PREFIX}1.3"));
    let other = directory.path().join("coldstart-of-somebody");
    for directory in [&dead, &alive, &other] {
        fs::create_dir(directory).unwrap();
    }
    remove_left(directory.path());
    assert!(!dead.exists() && alive.exists() && other.exists());
}
