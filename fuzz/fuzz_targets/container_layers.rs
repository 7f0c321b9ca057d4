//! Any bytes as a layer of a container image, and as a few layers with entries that the input names: refused, or entries that make a
//! sound tree. Any bytes as a zstd file.
//!
//! Hardly any made-up block has the right checksum, so those of all headers are put right.

#![no_main]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coldstart_fuzz::memory::file;
use coldstart_fuzz::tar::{BLOCK, put_checksum_right, put_checksums_right};
use coldstart_image::{Compression, Entry, EntryKind, HotOrder, Plan, Source};
use coldstart_oci::fuzzing::{entries, zstd};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(unpacked) = zstd(bytes, 1 << 20) {
        assert!(unpacked.len() <= 1 << 20);
    }
    check(&[bytes.to_vec()]);
    let mut tar = bytes.to_vec();
    put_checksums_right(&mut tar);
    check(&[tar]);
    check(&layers(bytes));
});

fn check(layers: &[Vec<u8>]) {
    let files: Vec<std::fs::File> = layers.iter().map(|layer| file(layer)).collect();
    let Ok(found) = entries(files) else { return };
    let longest = layers.iter().map(Vec::len).max().unwrap_or(0) as u64;
    let mut kinds: BTreeMap<PathBuf, EntryKind> = BTreeMap::new();
    for Entry { path, kind, .. } in &found {
        assert!(path.is_absolute() && !path.components().any(|part| part.as_os_str() == ".."), "{path:?}");
        if let Some(parent) = path.parent() {
            assert_eq!(
                kinds.get(parent),
                Some(&EntryKind::Directory),
                "{path:?} lies in a directory that comes before"
            );
        }
        match kind {
            EntryKind::HardLink(target) => {
                assert!(kinds.get(target).is_some_and(|kind| *kind != EntryKind::Directory), "{path:?} to {target:?}");
            }
            EntryKind::Regular(content) => {
                let Source::Part(part) = &content.source else { panic!("{path:?} is a part of a layer") };
                assert!(part.offset.checked_add(content.size).is_some_and(|end| end <= longest), "{path:?}");
            }
            _ => {}
        }
        assert_eq!(kinds.insert(path.clone(), kind.clone()), None, "{path:?} is there once");
    }
    assert_eq!(kinds.get(Path::new("/")), Some(&EntryKind::Directory));
    let _ = Plan::with_compression(found, vec!["/".into()], &HotOrder::default(), Compression::None);
}

/// Lines: a letter for the type (`n` begins the next layer), a name, and what follows a second colon is the link or the content.
fn layers(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut layers = vec![Vec::new()];
    for line in bytes.split(|byte| *byte == b'\n').take(100) {
        let Some((&kind, rest)) = line.split_first() else { continue };
        if kind == b'n' {
            layers.push(Vec::new());
            continue;
        }
        let mut parts = rest.splitn(2, |byte| *byte == b':');
        let (name, other) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_link = matches!(kind, b'1' | b'2');
        let records: Vec<u8> = other.split(|byte| *byte == b';').flat_map(pax_record).collect();
        let content = match kind {
            b'x' | b'g' => &records[..],
            _ if is_link => &[],
            _ => other,
        };
        let mut header = [0; BLOCK];
        put(&mut header, 0..100, name);
        put(&mut header, 100..108, b"0000755");
        put(&mut header, 124..136, format!("{:011o}", content.len()).as_bytes());
        header[156] = kind;
        put(&mut header, 157..257, if is_link { other } else { b"" });
        put(&mut header, 257..263, b"ustar\0");
        put_checksum_right(&mut header);
        let layer = layers.last_mut().expect("there is one");
        layer.extend(header);
        layer.extend(content);
        layer.resize(layer.len().next_multiple_of(BLOCK), 0);
    }
    layers
}

fn put(header: &mut [u8], field: std::ops::Range<usize>, bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(field.len())];
    header[field.start..field.start + bytes.len()].copy_from_slice(bytes);
}

/// `key=value` with its length in front, which counts itself.
fn pax_record(text: &[u8]) -> Vec<u8> {
    let length =
        (1..).map(|digits| digits + text.len() + 2).find(|length| length.to_string().len() + text.len() + 2 == *length);
    [length.expect("it fits").to_string().as_bytes(), b" ", text, b"\n"].concat()
}
