//! Any bytes as a package, image or AppImage of a stranger: its files one after the other, within the limits, or a reason.
//!
//! Hardly any made-up bytes are a package, so they are also taken as what is inside of one: as the tar file of a Debian package, with the
//! checksums of its headers put right, and as the squashfs image behind a runtime.
//!
//! A library reads squashfs images. A survey outlives its panics, so they are no finding here; ours are. Memory and time count for both.
//! RPM packages are left out: the library that reads them takes as much memory as they ask for, and only the process apart
//! (`archive/apart.rs`) sets it a limit.

#![no_main]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Arc, LazyLock};

use coldstart_app::order::appimage;
use coldstart_app::survey::Limits;
use coldstart_fuzz::{memory, tar};
use coldstart_survey::archive::{ArchiveError, Bytes, Format, Member, Room, Scratch, members};
use libfuzzer_sys::fuzz_target;

const RUNTIME: &[u8] = include_bytes!("../seeds/program_x86_64.elf");
const LIMITS: Limits = Limits { depth: 1, files: 10_000, bytes: 16 << 20, ratio: 200 };

static SCRATCH: LazyLock<Scratch> = LazyLock::new(|| {
    // libFuzzer's own hook ends the process at any panic.
    let end = take_hook();
    set_hook(Box::new(move |panic| {
        if panic.location().is_none_or(|location| !location.file().contains("/registry/")) {
            end(panic);
        }
    }));
    let directory = memory::place("scratch");
    std::fs::create_dir_all(&directory).expect("there is room");
    Scratch::new(directory)
});

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let mut tar = bytes.to_vec();
    tar::put_checksums_right(&mut tar);
    read(&package(&tar));
    let mut app = [RUNTIME, bytes].concat();
    app[8..11].copy_from_slice(b"AI\x02");
    appimage::fuzzing::read(&app);
    appimage::fuzzing::read(bytes);
    // The image alone was read above.
    if !bytes.starts_with(b"hsqs") {
        read(&app);
    }
});

fn read(bytes: &[u8]) {
    let Some(format) = Format::of(bytes).filter(|format| *format != Format::Rpm) else { return };
    let archive = Bytes::whole(Arc::new(memory::file(bytes))).expect("it can be mapped");
    let mut room = Room::new(&LIMITS, bytes.len() as u64);
    let mut files = 0;
    let mut receive = |member: Member| {
        files += 1;
        assert!(member.bytes.is_none_or(|bytes| bytes.get().len() >= 4));
        true
    };
    let done = catch_unwind(AssertUnwindSafe(|| {
        members(format, &archive, &SCRATCH, &mut room, &mut |name| drop(name), &mut receive)
    }));
    if let Ok(Err(error)) = done {
        assert!(!matches!(error, ArchiveError::Interrupted) && !error.to_string().is_empty());
    }
    assert!(files <= LIMITS.files);
}

/// A Debian package that installs this tar file.
fn package(data: &[u8]) -> Vec<u8> {
    let control = b"Package: a\nVersion: 1\n";
    let mut header = [0; tar::BLOCK];
    let mut put =
        |field: Range<usize>, text: &[u8]| header[field.start..field.start + text.len()].copy_from_slice(text);
    put(0..7, b"control");
    put(100..108, b"0000644\0");
    put(124..136, format!("{:011o}\0", control.len()).as_bytes());
    put(156..157, b"0");
    put(257..263, b"ustar\0");
    tar::put_checksum_right(&mut header);
    let mut first = [&header[..], control].concat();
    first.resize(2 * tar::BLOCK, 0);
    let mut package = b"!<arch>\n".to_vec();
    for (name, content) in [("debian-binary", &b"2.0\n"[..]), ("control.tar", &first), ("data.tar", data)] {
        package.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 100_644, content.len()).bytes());
        package.extend(content);
        if content.len() % 2 == 1 {
            package.push(b'\n');
        }
    }
    package
}
