//! Archives written by Python, put into another order, and read by Python again.

use std::path::Path;
use std::process::Command;

use coldstart_archive::zip::{Piece, ZipArchive, ZipError, ZipLayout, ZipPlan, digest, same, used_entries};
use proptest::prelude::*;
use tempfile::TempDir;

/// Makes archives of many kinds in the directory of its argument.
const MAKE: &str = r#"
import sys, os, zipfile, io, struct
os.chdir(sys.argv[1])
def entry(name, **more):
    info = zipfile.ZipInfo(name, (2020, 2, 3, 4, 5, 6))
    for key, value in more.items(): setattr(info, key, value)
    return info
def fill(z, names, wide=False):
    for number, name in enumerate(names):
        info = entry(name, compress_type=[zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED][number % 2], external_attr=0o640 << 16,
                     comment=b'about it', extra=b'\xfe\xca\x02\x00hi')
        with z.open(info, 'w', force_zip64=wide) as out: out.write(bytes([number % 251]) * (number * 701))
names = ['f%d' % n for n in range(40)] + ['line\nbreak', '\u00e4', 'dir/']
class Pipe(io.RawIOBase):
    def __init__(self, out): self.out = out
    def writable(self): return True
    def write(self, data): return self.out.write(data)
with zipfile.ZipFile('plain.zip', 'w') as z: fill(z, names); z.comment = b'of all'
with open('streamed.zip', 'wb') as out:
    with zipfile.ZipFile(Pipe(out), 'w') as z: fill(z, names)
with open('wide.zip', 'wb') as out:
    with zipfile.ZipFile(Pipe(out), 'w') as z: fill(z, names, wide=True)
with zipfile.ZipFile('many.zip', 'w') as z:
    for n in range(66000): z.writestr(entry('n%d' % n), b'')
import warnings; warnings.simplefilter('ignore')
with zipfile.ZipFile('twice.zip', 'w') as z: fill(z, ['a', 'b', 'a', 'c', 'b'])
plain = open('plain.zip', 'rb').read()
open('prefixed.zip', 'wb').write(b'#!/bin/sh\nexit 0\n' + plain)
with open('counted.zip', 'wb') as out: out.write(b'#!/usr/bin/python3\n')
with zipfile.ZipFile('counted.zip', 'a') as z: fill(z, names)
with zipfile.ZipFile('empty.zip', 'w') as z: pass
with zipfile.ZipFile('app.jar', 'w') as z: fill(z, ['META-INF/', 'META-INF/MANIFEST.MF', 'x', 'y', 'z'])
for what in ['META-INF/A.SF', 'META-INF/cose.sig', '_xmlsignatures/x', '.signature.p7s']:
    with zipfile.ZipFile('signed-%d.zip' % len(what), 'w') as z: fill(z, ['a', what])
"#;

/// Prints what Python reads, entry by entry.
const SHOW: &str = r#"
import sys, zipfile, hashlib
z = zipfile.ZipFile(sys.argv[1])
whole = len(z.infolist()) < 1000
print(z.comment, whole and z.testzip())
for i in z.infolist():
    print(ascii(i.filename), i.date_time, i.compress_type, i.comment, i.CRC, i.compress_size, i.file_size, i.external_attr,
          whole and hashlib.sha256(z.open(i).read()).hexdigest())
"#;

fn python(script: &str, argument: &Path) -> String {
    let output = Command::new("python3").args(["-c", script]).arg(argument).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn archives() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    python(MAKE, directory.path());
    directory
}

fn written(bytes: &[u8], plan: &ZipPlan) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in &plan.pieces {
        match piece {
            Piece::Copy(range) => out.extend_from_slice(&bytes[range.clone()]),
            Piece::New(new) => out.extend_from_slice(new),
        }
    }
    assert_eq!(out.len() as u64, plan.size());
    out
}

/// Every third entry, the last first.
fn some(archive: &ZipArchive<'_>) -> Vec<usize> {
    (0..archive.entries().len()).rev().step_by(3).collect()
}

#[test]
fn others_read_the_same_from_an_archive_in_another_order() {
    let directory = archives();
    for name in ["plain", "streamed", "wide", "many", "twice", "prefixed", "counted"] {
        let path = directory.path().join(format!("{name}.zip"));
        let bytes = std::fs::read(&path).unwrap();
        let archive = ZipArchive::read(&bytes).unwrap();
        let plan = archive.plan(&some(&archive), ZipLayout::Plain).unwrap();
        let new = written(&bytes, &plan);
        assert_eq!(new.len(), bytes.len(), "{name}");
        assert_ne!(new, bytes, "{name}");
        let after = ZipArchive::read(&new).unwrap();
        same(&archive, &after).unwrap();
        assert_eq!(digest(&archive), digest(&after), "{name}");
        let copy = directory.path().join("new.zip");
        std::fs::write(&copy, &new).unwrap();
        assert_eq!(python(SHOW, &copy), python(SHOW, &path), "{name}");
        // Into the old order again, it is the old file. Entries of one name have come together.
        if name == "twice" {
            continue;
        }
        let back = after.plan(&archive.physical_order(), ZipLayout::Plain).unwrap();
        assert_eq!(written(&new, &back), bytes, "{name}");
    }
}

#[test]
fn entries_lie_in_the_order_of_their_use_and_the_manifest_stays_first() {
    let directory = archives();
    let names = |archive: &ZipArchive<'_>, order: &[usize]| -> Vec<String> {
        order.iter().map(|number| String::from_utf8(archive.entries()[*number].name.clone()).unwrap()).collect()
    };
    let jar = std::fs::read(directory.path().join("app.jar")).unwrap();
    let archive = ZipArchive::read(&jar).unwrap();
    let plan = archive.plan(&[4, 2], ZipLayout::Plain).unwrap();
    assert_eq!(names(&archive, &plan.order), ["META-INF/", "META-INF/MANIFEST.MF", "z", "x", "y"]);
    assert_eq!(plan.used_end, plan.places[2].end);
    // Those of one name stay in their order.
    let twice = std::fs::read(directory.path().join("twice.zip")).unwrap();
    let archive = ZipArchive::read(&twice).unwrap();
    let plan = archive.plan(&[4, 2], ZipLayout::Plain).unwrap();
    assert_eq!(plan.order, [1, 4, 0, 2, 3]);
}

#[test]
fn the_layout_of_mozilla_has_both_end_records_and_goes_back() {
    let directory = archives();
    let bytes = std::fs::read(directory.path().join("plain.zip")).unwrap();
    let archive = ZipArchive::read(&bytes).unwrap();
    let used = some(&archive);
    let plan = archive.plan(&used, ZipLayout::Mozilla).unwrap();
    let new = written(&bytes, &plan);
    let after = ZipArchive::read(&new).unwrap();
    assert_eq!(after.layout(), ZipLayout::Mozilla);
    same(&archive, &after).unwrap();
    // What is to be read ahead ends with the last used entry.
    assert_eq!(u64::from(u32::from_le_bytes(new[..4].try_into().unwrap())), plan.used_end);
    let end = new.len() - 22 - archive.comment().len();
    let front = new.windows(4).position(|window| window == b"PK\x05\x06").unwrap();
    assert_eq!(new[end..], new[front..front + new.len() - end]);
    assert_eq!(u32::from_le_bytes(new[end + 16..end + 20].try_into().unwrap()), 4);
    let back = after.plan(&archive.physical_order(), ZipLayout::Plain).unwrap();
    assert_eq!(written(&new, &back), bytes);
    for (name, what) in [("prefixed", "in front"), ("many", "zip64"), ("wide", "zip64")] {
        let bytes = std::fs::read(directory.path().join(format!("{name}.zip"))).unwrap();
        let refused = ZipArchive::read(&bytes).unwrap().plan(&[], ZipLayout::Mozilla);
        // Sizes in 64 bits are no hindrance, only records of the archive are.
        if name == "wide" {
            assert!(refused.is_ok());
            continue;
        }
        assert!(matches!(&refused, Err(ZipError::NotForMozilla { what: told }) if told.contains(what)), "{refused:?}");
    }
}

#[test]
fn signed_archives_are_refused() {
    let directory = archives();
    for length in [13, 17, 16, 14] {
        let bytes = std::fs::read(directory.path().join(format!("signed-{length}.zip"))).unwrap();
        let refused = ZipArchive::read(&bytes).unwrap().check_unsigned();
        assert!(matches!(refused, Err(ZipError::Signed { .. })), "{length}: {refused:?}");
    }
    let bytes = std::fs::read(directory.path().join("app.jar")).unwrap();
    ZipArchive::read(&bytes).unwrap().check_unsigned().unwrap();
    // Android's block lies between entries and directory.
    let plain = std::fs::read(directory.path().join("plain.zip")).unwrap();
    let archive = ZipArchive::read(&plain).unwrap();
    let entries = archive.physical_order().last().map(|last| archive.entries()[*last].record.end).unwrap();
    let mut android = plain.clone();
    android.splice(entries..entries, *b"many hashes, APK Sig Block 42");
    let end = android.len() - 22 - archive.comment().len();
    let offset = u32::from_le_bytes(android[end + 16..end + 20].try_into().unwrap()) + 29;
    android[end + 16..end + 20].copy_from_slice(&offset.to_le_bytes());
    assert!(matches!(ZipArchive::read(&android), Err(ZipError::Signed { .. })));
}

#[test]
fn what_belongs_to_no_entry_or_to_two_is_refused() {
    let directory = archives();
    let plain = std::fs::read(directory.path().join("plain.zip")).unwrap();
    let archive = ZipArchive::read(&plain).unwrap();
    let directory_at = plain.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The second entry points at the first.
    let mut overlapping = plain.clone();
    let second =
        directory_at + plain[directory_at + 4..].windows(4).position(|window| window == b"PK\x01\x02").unwrap() + 4;
    overlapping[second + 42..second + 46].copy_from_slice(&0u32.to_le_bytes());
    assert!(ZipArchive::read(&overlapping).is_err());
    let mut trailing = plain.clone();
    trailing.extend([0; 7]);
    assert_eq!(
        ZipArchive::read(&trailing).unwrap_err(),
        ZipError::TrailingBytes { at: plain.len() - 22 - archive.comment().len(), count: 7 }
    );
    for (name, bytes) in [("nothing", &b""[..]), ("text", &[b'x'; 4000]), ("cut", &plain[..plain.len() / 2])] {
        assert_eq!(ZipArchive::read(bytes).unwrap_err(), ZipError::NotZip, "{name}");
    }
    let empty = std::fs::read(directory.path().join("empty.zip")).unwrap();
    let archive = ZipArchive::read(&empty).unwrap();
    let plan = archive.plan(&[], ZipLayout::Plain).unwrap();
    assert_eq!(written(&empty, &plan), empty);
}

#[test]
fn an_entry_is_used_with_a_page_of_its_own_and_small_ones_with_their_page() {
    let directory = archives();
    let bytes = std::fs::read(directory.path().join("plain.zip")).unwrap();
    let archive = ZipArchive::read(&bytes).unwrap();
    let page = |at: usize| (at / 4096) as u64;
    let large = &archive.entries()[38];
    assert!(large.record.len() > 3 * 4096, "a stored one");
    // Only the page that it shares with its neighbour.
    assert!(!used_entries(&archive, &[vec![page(large.record.start)]]).contains(&38));
    let inner = page(large.record.start) + 1;
    assert_eq!(used_entries(&archive, &[vec![inner]]), [38]);
    // Of two starts the earlier use counts.
    let first: Vec<usize> = used_entries(&archive, &[vec![0, inner], vec![inner]]);
    assert!(first.iter().position(|number| *number == 38) <= Some(first.len() - 1));
    assert_eq!(first.first(), Some(&0).filter(|_| first[0] == 0).or(Some(&38)));
    assert!(used_entries(&archive, &[vec![0]]).contains(&1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_and_any_damage_give_an_archive_or_an_error(
        at in 0usize..3000, value in any::<[u8; 4]>(), cut in 0usize..3000, order in any::<u64>()
    ) {
        let mut bytes = small();
        let place = at % bytes.len();
        for (offset, byte) in value.iter().enumerate() {
            if let Some(there) = bytes.get_mut(place + offset) {
                *there = *byte;
            }
        }
        if cut % 3 == 0 {
            bytes.truncate(cut % bytes.len());
        }
        if let Ok(archive) = ZipArchive::read(&bytes) {
            let count = archive.entries().len().max(1);
            let used: Vec<usize> = (0..count).map(|number| (number * 7 + order as usize % 13) % count).collect();
            for layout in [ZipLayout::Plain, ZipLayout::Mozilla] {
                if let Ok(plan) = archive.plan(&used, layout) {
                    let new = written(&bytes, &plan);
                    let after = ZipArchive::read(&new).unwrap();
                    same(&archive, &after).unwrap();
                }
            }
        }
    }
}

/// An archive of three stored entries, written by hand.
fn small() -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for name in [b"a", b"b", b"c"] {
        let offset = bytes.len() as u32;
        let fields =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &[1; 4], &2u32.to_le_bytes(), &2u32.to_le_bytes(), &[1, 0, 0, 0]]
                .concat();
        bytes.extend([&b"PK\x03\x04"[..], &fields, name, b"hi"].concat());
        directory.extend([&b"PK\x01\x02\x14\x00"[..], &fields, &[0; 10], &offset.to_le_bytes(), name].concat());
    }
    let at = bytes.len() as u32;
    let size = directory.len() as u32;
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0\x03\0\x03\0"[..], &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat());
    bytes
}
