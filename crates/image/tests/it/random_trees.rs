//! Random trees, from memory: what is planned and written is read, byte for byte.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use coldstart_image::read::{Image, InodeType};
use coldstart_image::verify::check;
use coldstart_image::{
    Attributes, Compression, Content, DeviceNumber, Entry, EntryKind, HotOrder, HotRun, Plan, Source, Timestamp, Xattr,
    write_image,
};
use coldstart_profile::PageRange;
use proptest::prelude::*;

use crate::scene::{go_on, noise};

/// A file to be: in which directory, of which kind, how large.
type Seed = (prop::sample::Index, u8, u32, u64, Vec<(u8, u8)>);

fn name(number: usize, seed: u64) -> String {
    format!(
        "{}{number}",
        "Zz.~ é"[..].chars().cycle().skip(seed as usize % 6).take(seed as usize % 70).collect::<String>()
    )
}

fn entries_of(seeds: &[Seed]) -> Vec<Entry> {
    let mut directories = vec![PathBuf::from("/")];
    let mut files: Vec<PathBuf> = Vec::new();
    let mut entries = vec![Entry { path: "/".into(), attributes: Attributes::default(), kind: EntryKind::Directory }];
    for (number, (parent, kind, size, seed, xattrs)) in seeds.iter().enumerate() {
        let path = parent.get(&directories).join(name(number, *seed));
        let content = |size: usize| {
            let mut bytes = noise(*seed, size);
            // Some contents can be made smaller.
            if seed % 3 == 0 {
                bytes.iter_mut().for_each(|byte| *byte &= 3);
            }
            let hole = 4096 * (seed % 7) as usize..(4096 * 30).min(size);
            let holes =
                if kind % 2 == 1 && hole.start < hole.end { vec![hole.start as u64..hole.end as u64] } else { vec![] };
            for hole in &holes {
                bytes[hole.start as usize..hole.end as usize].fill(0);
            }
            EntryKind::Regular(Content { size: size as u64, holes, source: Source::Bytes(bytes.into()), origin: None })
        };
        let kind = match kind % 10 {
            0 | 1 => EntryKind::Directory,
            2 => EntryKind::Symlink(OsString::from("t".repeat(1 + *size as usize % 4095))),
            3 => EntryKind::CharacterDevice(DeviceNumber { major: size % 4096, minor: *seed as u32 % (1 << 20) }),
            4 => EntryKind::Fifo,
            5 if !files.is_empty() => EntryKind::HardLink(files[*seed as usize % files.len()].clone()),
            _ => content(*size as usize),
        };
        match &kind {
            EntryKind::Directory => directories.push(path.clone()),
            EntryKind::HardLink(_) => {}
            _ => files.push(path.clone()),
        }
        let xattrs: BTreeMap<Vec<u8>, Vec<u8>> = xattrs
            .iter()
            .map(|(name, length)| {
                let prefix = ["user.", "trusted.", "security."][usize::from(name % 3)];
                (format!("{prefix}{name}").into_bytes(), noise(*seed, usize::from(*length) * 20))
            })
            .collect();
        let attributes = Attributes {
            mode: (*seed as u32) & 0o7777,
            user: *size,
            group: (*seed >> 32) as u32,
            modified: Timestamp { seconds: *seed as i64 >> 20, nanoseconds: size % 1_000_000_000 },
            xattrs: xattrs.into_iter().map(|(name, value)| Xattr { name, value }).collect(),
        };
        entries.push(Entry { path, attributes, kind });
    }
    entries
}

fn hot_of(entries: &[Entry], picks: &[(prop::sample::Index, u64, u64)]) -> HotOrder {
    let run = |(index, start, count): &(prop::sample::Index, u64, u64)| HotRun {
        path: Arc::from(index.get(entries).path.as_path()),
        pages: PageRange::new(*start, *count).unwrap(),
        programs: 1 + start % 2,
    };
    // Pages may be there twice: the planner keeps the first.
    HotOrder { programs: vec!["a".into(), "b".into()], runs: picks.iter().map(run).collect(), ..HotOrder::default() }
}

/// Everything of the image, compared with what it was made of.
fn assert_holds(image: &Image<&[u8]>, entries: &[Entry]) {
    let by_path: BTreeMap<&Path, &Entry> = entries.iter().map(|entry| (entry.path.as_path(), entry)).collect();
    let mut numbers: BTreeMap<PathBuf, u64> = BTreeMap::new();
    let mut count = 0;
    for found in image.walk() {
        let found = found.unwrap();
        if found.path.starts_with("/.coldstart") {
            continue;
        }
        count += 1;
        let named = by_path[found.path.as_path()];
        let first = match &named.kind {
            EntryKind::HardLink(target) => by_path[target.as_path()],
            _ => named,
        };
        let number = *numbers.entry(first.path.clone()).or_insert(found.inode.number);
        assert_eq!(number, found.inode.number);
        let (inode, wanted) = (&found.inode, &first.attributes);
        assert_eq!((inode.mode, inode.user, inode.group), (wanted.mode, wanted.user, wanted.group));
        assert_eq!(inode.modified, wanted.modified);
        assert_eq!(image.xattrs(inode).unwrap().as_slice(), &*wanted.xattrs);
        match &first.kind {
            EntryKind::Directory => assert_eq!(inode.file_type, InodeType::Directory),
            EntryKind::Symlink(target) => assert_eq!(image.target(inode).unwrap(), target.as_encoded_bytes()),
            EntryKind::CharacterDevice(number) => assert_eq!(inode.device, *number),
            EntryKind::Fifo => assert_eq!(inode.file_type, InodeType::Fifo),
            EntryKind::Regular(Content { size, source: Source::Bytes(bytes), .. }) => {
                let mut read = vec![1; *size as usize];
                image.read_at(inode, 0, &mut read).unwrap();
                assert!(read == **bytes);
                if *size > 9 {
                    let (from, to) = (*size as usize / 3, *size as usize * 2 / 3);
                    image.read_at(inode, from as u64, &mut read[..to - from]).unwrap();
                    assert!(read[..to - from] == bytes[from..to]);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(count, entries.len());
}

fn seeds() -> impl Strategy<Value = Vec<Seed>> {
    let size = prop_oneof![0u32..9000, 0u32..300_000];
    let xattrs = prop::collection::vec(any::<(u8, u8)>(), 0..4);
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), size, any::<u64>(), xattrs), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn what_is_written_is_read(
        seeds in seeds(),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0u64..80, 1u64..6), 0..60),
        shuffle in any::<u64>(),
        compress in any::<bool>(),
    ) {
        let compression = if compress { Compression::Zstd } else { Compression::None };
        let entries = entries_of(&seeds);
        let hot = hot_of(&entries, &picks);
        let mut shuffled = entries.clone();
        shuffled.sort_by_key(|entry| blake3::hash(&[&shuffle.to_le_bytes(), entry.path.as_os_str().as_encoded_bytes()].concat()).to_hex());
        let plan = Plan::with_compression(shuffled, vec!["/".into()], &hot, compression).unwrap();
        let mut file = tempfile::tempfile().unwrap();
        write_image(&file, &plan, &mut go_on).unwrap();
        let mut bytes = Vec::new();
        read_all(&mut file, &mut bytes);
        let image = Image::open(bytes.as_slice()).unwrap();
        assert_holds(&image, &entries);
        let soundness = check(&image).unwrap();
        prop_assert_eq!(soundness.flaws, []);
        // The order of the input does not matter.
        let other = tempfile::tempfile().unwrap();
        let plan = Plan::with_compression(entries, vec!["/".into()], &hot, compression).unwrap();
        let written = write_image(&other, &plan, &mut go_on).unwrap();
        prop_assert_eq!(written.uuid, image.superblock().uuid);
    }
}

fn read_all(file: &mut File, bytes: &mut Vec<u8>) {
    use std::io::Seek;
    file.rewind().unwrap();
    file.read_to_end(bytes).unwrap();
}
