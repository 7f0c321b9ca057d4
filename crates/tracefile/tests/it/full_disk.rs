//! A full disk: what had room is kept, and says that it is not all.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_profile::trace::Trace;
use coldstart_tracefile::{TraceFile, TraceFileError, write_trace};

use crate::common::{large, skip, small};

/// A small disk of its own; taken away when the test ends.
struct Disk(PathBuf);

impl Disk {
    fn new(place: &Path, kilobytes: u32) -> Result<Self, String> {
        std::fs::create_dir(place).map_err(|error| error.to_string())?;
        let size = format!("size={kilobytes}k");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "coldstart-test"]).arg(place).output();
        let mounted = mounted.map_err(|error| format!("mount: {error}"))?;
        if !mounted.status.success() {
            return Err(format!("a disk cannot be mounted: {}", String::from_utf8_lossy(&mounted.stderr)));
        }
        Ok(Self(place.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn finished_pieces_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let trace = large(60_000);
    let whole = folder.path().join("whole");
    let needed = write_trace(&whole, &trace).unwrap().bytes;
    for (number, kilobytes) in
        [needed * 9 / 10, needed * 7 / 10, needed / 2].map(|bytes| bytes / 1024).into_iter().enumerate()
    {
        let disk = match Disk::new(&folder.path().join(number.to_string()), u32::try_from(kilobytes).unwrap()) {
            Ok(disk) => disk,
            Err(reason) => return skip(&reason),
        };
        let path = disk.0.join("t.coldtrace");
        let error = write_trace(&path, &trace).unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        assert!(error.hint().unwrap().contains("-o FILE"));
        let TraceFileError::Incomplete { events_kept, events_total: 60_000, until, .. } = error else {
            panic!("{error}")
        };
        assert!((1..60_000).contains(&events_kept), "{events_kept}");
        assert_eq!(std::fs::read_dir(&disk.0).unwrap().count(), 1, "something is left beside it");
        let kept = usize::try_from(events_kept).unwrap();
        assert_eq!(until, trace.events[kept - 1].at);
        let mut expected = trace.clone();
        expected.run.complete = false;
        expected.events.truncate(kept);
        expected.lookups.retain(|lookup| lookup.at <= until);
        let file = TraceFile::open(&path).unwrap();
        assert!(file.read().unwrap() == expected);
        let about = file.about().unwrap();
        assert_eq!((about.events, about.events_expected), (events_kept, 60_000));
        // With room again the whole takes its place.
        drop(file);
        let moved = folder.path().join("moved");
        std::fs::copy(&path, &moved).unwrap();
        write_trace(&moved, &trace).unwrap();
        assert!(TraceFile::open(&moved).unwrap().read().unwrap() == trace);
    }
}

#[test]
fn without_room_for_anything_the_old_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let disk = match Disk::new(&folder.path().join("disk"), 256) {
        Ok(disk) => disk,
        Err(reason) => return skip(&reason),
    };
    let path = disk.0.join("t.coldtrace");
    write_trace(&path, &small()).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = write_trace(&path, &Trace { files: large(0).files, ..large(5000) }).unwrap_err();
    assert!(matches!(error, TraceFileError::NoRoom { .. }), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(std::fs::read_dir(&disk.0).unwrap().count(), 1, "something is left beside it");
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for place in [folder.path().to_owned(), folder.path().join("missing/t"), PathBuf::from("/dev/null")] {
        let error = write_trace(&place, &small()).unwrap_err();
        assert!(matches!(error, TraceFileError::NotPlaced(_)), "{error}");
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
    }
}
