//! File systems on which one of the kernel's two facilities does not tell the truth, and block devices. Needs root.

use std::fs::File;
use std::path::Path;

use coldstart_pagecache::{
    Backing, Detail, EvictOptions, FileKey, Method, Residency, Stayed, evict, find_holders, pages, residency,
};
use coldstart_sys::cachestat;

use crate::common::{Mount, drop_pages, file_with, fincore, hold, read_pages, run, scratch, skip};

fn look(path: &Path) -> Residency {
    residency(path, Detail::Counts).unwrap()
}

fn ranges(path: &Path) -> Vec<(u64, u64)> {
    pages(File::open(path).unwrap()).unwrap().iter().map(|range| (range.start.0, range.count)).collect()
}

fn method(residency: &Residency) -> Method {
    residency.known().unwrap().method
}

const WRITE_FIRST: EvictOptions = EvictOptions { write_first: true };

/// A loop device that is freed when the test ends.
struct LoopDevice(String);

impl LoopDevice {
    fn new(image: &Path) -> Result<Self, String> {
        let name = run("losetup", &["--find", "--show", image.to_str().unwrap()])?;
        Ok(Self(name.trim().to_owned()))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if let Err(error) = run("losetup", &["--detach", &self.0]) {
            eprintln!("left attached: {error}");
        }
    }
}

/// A copy of `sleep` at `program`, running.
fn sleeping(program: &Path) -> std::process::Child {
    // Copied by another process: a child that another test starts meanwhile must not inherit a descriptor open for
    // writing, or the program is "busy".
    run("cp", &["/bin/sleep", program.to_str().unwrap()]).unwrap();
    let child = std::process::Command::new(program).arg("60").spawn().unwrap();
    // Until it sleeps it may not have touched its own pages, and the loader may still be mapping them.
    let process = coldstart_host::process::ProcessFiles::of(child.id());
    let sleeps = || process.stat().unwrap().state == b'S';
    let is_itself = || process.program().is_ok_and(|program| program.ends_with("sleep"));
    while !(is_itself() && sleeps()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child
}

#[test]
fn overlayfs_hides_its_pages_from_cachestat() {
    let directory = scratch();
    let path = |name: &str| directory.path().join(name);
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(path(name)).unwrap();
    }
    let resident = [(0, 3), (50, 10), (299, 1)];
    let below = file_with(&path("lower/file"), 300, &resident);
    let held = hold(&below, &resident);
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        path("lower").display(),
        path("upper").display(),
        path("work").display()
    );
    let mount = match Mount::new(&path("merged"), &["-t", "overlay", "-o", &layers, "coldstart-test"]) {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let file = mount.place().join("file");
    let found = look(&file);
    assert_eq!((found.backing, method(&found), found.resident_pages()), (Backing::Layered, Method::Mincore, Some(14)));
    assert_eq!(found.known().unwrap().dirty_pages, None, "nobody tells");
    assert_eq!(ranges(&file), resident);
    match fincore(&[&file]) {
        Ok(theirs) => assert_eq!(theirs, [14]),
        Err(reason) => skip(&reason),
    }
    // The very trap: if this ever fails, the kernel has learnt to look beneath.
    let trap = cachestat::cachestat(File::open(&file).unwrap(), 0, 300 * 4096);
    assert!(trap.is_err() || trap.unwrap().cached == 0);

    drop(held);
    assert!(evict(&file, WRITE_FIRST).unwrap().is_gone(), "eviction reaches the layer");
    assert_eq!(ranges(&path("lower/file")), []);

    // A changed file lives in the upper layer, unwritten; nobody but --sync can know.
    std::fs::write(&file, vec![1; 20 * 4096]).unwrap();
    assert_eq!(look(&file).resident_pages(), Some(20));
    assert!(evict(&file, WRITE_FIRST).unwrap().is_gone());
    drop(below);

    // A program on it is found although maps and stat may not agree on the device.
    let program = mount.place().join("sleep");
    let mut child = sleeping(&program);
    let key = FileKey::of(&program).unwrap();
    let evicted = evict(&program, WRITE_FIRST).unwrap();
    let held = find_holders(std::slice::from_ref(&key)).of(&key).to_vec();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(held.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [child.id()]);
    assert_eq!(evicted.reasons(&held, 0), [Stayed::Held(held)]);
}

#[test]
fn btrfs_answers_as_others_do() {
    let directory = scratch();
    let image = directory.path().join("image");
    File::create(&image).unwrap().set_len(128 << 20).unwrap();
    let made = run("mkfs.btrfs", &["--quiet", image.to_str().unwrap()]);
    let mounted = made.and_then(|_| {
        Mount::new(&directory.path().join("mounted"), &["-o", "loop,compress-force", image.to_str().unwrap()])
    });
    let mount = match mounted {
        Ok(mount) => mount,
        Err(reason) => return skip(&reason),
    };
    let file = mount.place().join("file");
    // Compressed: 128 KiB of the file in a few pages of disk. Reading one page of it still caches that one.
    let held = hold(&file_with(&file, 256, &[(3, 2), (100, 1)]), &[(3, 2), (100, 1)]);
    let found = look(&file);
    let method_for_storage = if cachestat::is_there() { Method::Cachestat } else { Method::Mincore };
    assert_eq!((found.backing, method(&found)), (Backing::Storage, method_for_storage));
    match fincore(&[&file]) {
        Ok(theirs) => assert_eq!(theirs, [found.resident_pages().unwrap()]),
        Err(reason) => skip(&reason),
    }
    let all = ranges(&file);
    assert!(all.iter().any(|&(first, count)| first <= 3 && first + count >= 5), "{all:?}");
    assert_eq!(all.iter().map(|range| range.1).sum::<u64>(), found.resident_pages().unwrap());
    drop(held);
    assert!(evict(&file, WRITE_FIRST).unwrap().is_gone());

    std::fs::write(&file, vec![1; 30 * 4096]).unwrap();
    let dirty = look(&file);
    assert_eq!(dirty.resident_pages(), Some(30));
    assert!(evict(&file, WRITE_FIRST).unwrap().is_gone());

    // Each subvolume has a device number of its own in stat, and not in maps.
    let program = mount.place().join("sleep");
    let mut child = sleeping(&program);
    let key = FileKey::of(&program).unwrap();
    evict(&program, WRITE_FIRST).unwrap();
    let held = find_holders(std::slice::from_ref(&key)).of(&key).to_vec();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(held.iter().map(|holder| holder.pid).collect::<Vec<_>>(), [child.id()]);
}

#[test]
fn block_devices_are_counted_and_evicted() {
    let directory = scratch();
    let image = directory.path().join("image");
    File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let made = run("mkfs.ext4", &["-q", image.to_str().unwrap()]);
    let device = match made.and_then(|_| LoopDevice::new(&image)) {
        Ok(device) => device,
        Err(reason) => return skip(&reason),
    };
    let path = Path::new(&device.0);
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return skip(&format!("{}: {error}", device.0)),
    };
    drop_pages(&file);
    read_pages(&file, &[(5000, 7), (16383, 1)]);
    let found = look(path);
    if found.known().is_none() {
        return skip("this kernel has no cachestat");
    }
    assert!(found.is_block_device);
    assert_eq!((found.size, found.resident_pages(), method(&found)), (64 << 20, Some(8), Method::Cachestat));
    assert_eq!(ranges(path), [(5000, 7), (16383, 1)]);
    assert!(evict(path, WRITE_FIRST).unwrap().is_gone());

    // While it is mounted, the file system keeps its super block and more.
    let _mount = Mount::new(&directory.path().join("mounted"), &["-t", "ext4", &device.0]).unwrap();
    let evicted = evict(path, WRITE_FIRST).unwrap();
    assert!(!evicted.is_gone());
    assert!(evicted.is_mounted && evicted.reasons(&[], 0).contains(&Stayed::Mounted), "{evicted:?}");
}
