//! Extents of a real file in more than one batch, against `filefrag` (e2fsprogs).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use coldstart_sys::facility_error::FacilityError;
use coldstart_sys::fiemap::{Extent, ExtentFlags, fiemap};
use coldstart_testing::skip;

#[test]
fn a_file_with_1500_pieces_agrees_with_filefrag() {
    const PIECES: u64 = 1500;
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pieces");
    let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    for piece in 0..PIECES {
        file.write_all_at(&[7; 4096], piece * 8192).unwrap();
    }
    file.sync_data().unwrap();
    let extents = match fiemap(&file) {
        Err(FacilityError::Unsupported { .. }) => return skip("this file system does not tell its extents"),
        result => result.unwrap(),
    };
    let starts: Vec<u64> = extents.iter().map(|extent| extent.file_offset).collect();
    assert_eq!(starts, (0..PIECES).map(|piece| piece * 8192).collect::<Vec<_>>());
    assert!(extents.iter().all(|extent| extent.length == 4096 && extent.device_offset().is_some()));
    assert!(extents.last().unwrap().flags.has(ExtentFlags::LAST));

    match Command::new("filefrag").arg("-v").arg(&path).output() {
        Ok(output) => {
            let text = String::from_utf8(output.stdout).unwrap();
            let theirs: Vec<(u64, u64)> = text.lines().filter_map(filefrag_line).collect();
            let ours: Vec<(u64, u64)> = extents
                .iter()
                .map(|Extent { file_offset, physical, .. }| (file_offset / 4096, physical / 4096))
                .collect();
            assert_eq!(ours, theirs);
        }
        Err(error) => skip(&format!("filefrag: {error}")),
    }
    std::fs::remove_file(&path).unwrap();
}

/// First logical and physical block of `   0:        0..       0:    1234..    1234:      1:`.
fn filefrag_line(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split(':');
    fields.next()?.trim().parse::<u64>().ok()?;
    let mut first = || fields.next()?.split("..").next()?.trim().parse().ok();
    Some((first()?, first()?))
}

#[test]
fn holes_empty_files_and_unwritten_space() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("holes");
    let file = File::options().create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    match fiemap(&file) {
        Err(FacilityError::Unsupported { .. }) => return skip("this file system does not tell its extents"),
        extents => assert_eq!(extents.unwrap(), []),
    }
    file.set_len(5 << 30).unwrap();
    assert_eq!(fiemap(&file).unwrap(), [], "a file that is one hole");
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 4 << 30, 1 << 20).unwrap();
    let extents = fiemap(&file).unwrap();
    assert_eq!(extents.iter().map(|extent| extent.length).sum::<u64>(), 1 << 20);
    assert_eq!(extents[0].file_offset, 4 << 30);
    assert!(extents.iter().all(|extent| extent.flags.has(ExtentFlags::UNWRITTEN) && extent.device_offset().is_none()));
    std::fs::remove_file(&path).unwrap();
}
