//! Any bytes as an EROFS image: refused or read within bounds, never a panic.
//!
//! Made-up bytes are hardly ever an image, so the input is also taken as changes to two small ones, of which one is compressed: each four bytes, a place (three bytes, modulo
//! the length) and what stands there. The checksum would keep the fuzzer out, so it is switched off then.

#![no_main]

use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use coldstart_fuzz::memory;
use coldstart_image::read::{Image, InodeType};
use coldstart_image::start::Front;
use coldstart_image::verify::check;
use coldstart_image::{
    Attributes, Compression, Content, Entry, EntryKind, HotOrder, HotRun, Plan, Source, Xattr, write_image,
};
use coldstart_profile::PageRange;
use libfuzzer_sys::fuzz_target;

/// Bytes of a hostile file that are read.
const MOST_BYTES: u64 = 1 << 20;

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| image(Compression::None));
static COMPRESSED: LazyLock<Vec<u8>> = LazyLock::new(|| image(Compression::Zstd));

fn image(compression: Compression) -> Vec<u8> {
    let entry = |path: &str, kind| {
        let xattr = Xattr { name: b"user.a".to_vec(), value: b"value".to_vec() };
        let attributes = Attributes { mode: 0o755, xattrs: Arc::from([xattr]), ..Attributes::default() };
        Entry { path: path.into(), attributes, kind }
    };
    let file = |size: usize| {
        let source = Source::Bytes(vec![7; size].into());
        EntryKind::Regular(Content { size: size as u64, holes: Vec::new(), source, origin: None })
    };
    let mut entries = vec![
        entry("/", EntryKind::Directory),
        entry("/d", EntryKind::Directory),
        entry("/d/d", EntryKind::Directory),
        entry("/hot", file(9000)),
        entry("/cold", file(5000)),
        entry("/link", EntryKind::Symlink("hot".into())),
        entry("/other", EntryKind::HardLink("/hot".into())),
    ];
    entries.extend((0..40).map(|number| entry(&format!("/d/{number}{}", "x".repeat(100)), EntryKind::Fifo)));
    let run = HotRun {
        path: Arc::from(std::path::Path::new("/hot")),
        pages: PageRange::new(1, 2).expect("two"),
        programs: 1,
    };
    let hot = HotOrder { programs: vec!["p".into()], outside: vec![b"a plan".to_vec()], runs: vec![run] };
    let plan = Plan::with_compression(entries, vec!["/".into()], &hot, compression).expect("it fits");
    let mut file = memory::file(&[]);
    write_image(&file, &plan, &mut |_| ControlFlow::Continue(())).expect("it is written");
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("it is read");
    bytes
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    for whole in [&WHOLE, &COMPRESSED] {
        let mut changed = whole.to_vec();
        changed[1024 + 8] &= !1;
        for change in bytes.as_chunks::<4>().0 {
            let [a, b, c, value] = *change;
            let place = u32::from_le_bytes([a, b, c, 0]) as usize % changed.len();
            changed[place] = value;
        }
        read(&changed);
    }
});

fn read(bytes: &[u8]) {
    let _ = Front::read(&memory::file(bytes));
    let Ok(image) = Image::open(bytes) else { return };
    let (mut entries, mut is_small) = (0usize, true);
    for found in image.walk() {
        let Ok(found) = found else { break };
        entries += 1;
        assert!(entries <= bytes.len(), "more entries than bytes");
        let _ = image.xattrs(&found.inode);
        let _ = image.target(&found.inode);
        is_small &= found.inode.size <= MOST_BYTES;
        if found.inode.file_type != InodeType::Regular {
            continue;
        }
        for piece in image.pieces(&found.inode).take(1000) {
            let Ok(piece) = piece else { break };
            assert!(piece.length > 0 && piece.offset + piece.length <= found.inode.size);
            let stored = piece.packed.map_or(piece.length, |packed| packed.stored);
            assert!(piece.place.is_none_or(|place| place + stored <= bytes.len() as u64));
        }
        let mut start = vec![0; found.inode.size.min(MOST_BYTES) as usize];
        let _ = image.read_at(&found.inode, 0, &mut start);
    }
    // Hashes all contents, holes as well.
    if is_small {
        let _ = check(&image);
    }
}
