//! What belongs to files without being in them, evicted: told by what the disk has to read again. Needs root.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{Detail, EvictOptions, MetadataEviction, Way, evict, residency};
use coldstart_sys::cachestat;

use crate::common::{Mount, comes_about, file_with, nearly_all, read_pages, run, scratch, skip};

/// More folders than a block of inodes or entries holds, so that looking at all takes many reads.
const FOLDERS: usize = 60;

/// An ext4 file system of its own on a loop device, with files in many folders.
struct Disk {
    mount: Mount,
    statistics: PathBuf,
}

impl Disk {
    fn new(folder: &Path) -> Result<Self, String> {
        let image = folder.join("image");
        let image = image.to_str().ok_or("a place that is no text")?;
        fs::File::create(image).and_then(|file| file.set_len(64 << 20)).map_err(|error| error.to_string())?;
        // Inode tables are written out now, or the kernel does it while we look.
        run("mkfs.ext4", &["-q", "-b", "1024", "-E", "lazy_itable_init=0,lazy_journal_init=0", image])?;
        let mount = Mount::new(&folder.join("mount"), &["-o", "loop,noatime", image])?;
        let device =
            run("findmnt", &["--noheadings", "--output", "SOURCE", "--target", mount.place().to_str().unwrap()])?;
        let name = device.trim().trim_start_matches("/dev/").to_owned();
        for number in 0..FOLDERS {
            let folder = mount.place().join(format!("folder{number}"));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("file"), [7; 20_000]).unwrap();
        }
        run("sync", &["--file-system", mount.place().to_str().unwrap()])?;
        Ok(Self { mount, statistics: format!("/sys/block/{name}/stat").into() })
    }

    fn files(&self) -> Vec<PathBuf> {
        (0..FOLDERS).map(|number| self.mount.place().join(format!("folder{number}/file"))).collect()
    }

    /// Sectors that the disk has to read for a look at every folder and every file's inode.
    fn sectors_for_a_look(&self) -> u64 {
        let before = self.sectors();
        for number in 0..FOLDERS {
            let folder = self.mount.place().join(format!("folder{number}"));
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            assert_eq!(fs::metadata(folder.join("file")).unwrap().len(), 20_000);
        }
        self.sectors() - before
    }

    fn sectors(&self) -> u64 {
        let text = fs::read_to_string(&self.statistics).unwrap();
        text.split_whitespace().nth(2).unwrap().parse().unwrap()
    }
}

#[test]
fn directories_and_inodes_have_to_be_read_again() {
    if !cachestat::is_there() {
        return skip("this kernel hides the pages of block devices: it lacks cachestat (Linux 6.5)");
    }
    let folder = scratch();
    let disk = match Disk::new(folder.path()) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let others = folder.path().join("others");
    let others_file = file_with(&others, 1000, &[]);

    // What belongs to files and what others have in memory are pages that nobody holds, too.
    let all_stays = comes_about(|| {
        disk.sectors_for_a_look();
        for file in disk.files() {
            evict(&file, EvictOptions { write_first: true }).unwrap();
        }
        disk.sectors_for_a_look() == 0
    });
    assert!(all_stays, "evicting files leaves all this in memory");

    let mut eviction = MetadataEviction::for_programs(disk.files());
    let outcomes = eviction.all_ways();
    let taken = |way: &dyn Fn(&Way) -> bool| {
        let outcome = outcomes.iter().find(|outcome| way(&outcome.way)).unwrap();
        outcome.result.clone().unwrap()
    };
    let device = taken(&|way| matches!(way, Way::Device(_)));
    assert!(device.before > device.after, "{device:?}");
    let entries = taken(&|way| *way == Way::Entries);
    assert!(entries.before > 0, "{entries:?}");
    eviction.enter().unwrap();
    let cold = disk.sectors_for_a_look();
    eviction.leave();
    assert!(cold >= 2 * FOLDERS as u64, "each folder has a block of its own, of 1 KiB: {cold} sectors");

    if eviction.has_group() {
        // All of it was brought in inside the group this time.
        let outcomes = eviction.group_only();
        assert_eq!(outcomes.len(), 1);
        let again = disk.sectors_for_a_look();
        assert!(again * 10 >= cold * 9, "{again} of {cold} sectors: {outcomes:?}");
    } else {
        skip("no control group for memory");
    }
    let others_stay = comes_about(|| {
        read_pages(&others_file, &[(0, 1000)]);
        eviction.all_ways();
        nearly_all(residency(&others, Detail::Counts).unwrap().resident_pages().unwrap(), 1000)
    });
    assert!(others_stay, "other files' pages stay");
}
