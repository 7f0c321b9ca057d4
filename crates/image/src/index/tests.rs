use proptest::prelude::*;

use super::*;

fn index() -> Index {
    Index {
        packed: None,
        metadata_length: 8192,
        hot: 8192..16384,
        metadata_digest: [7; 32],
        programs: vec!["soffice --headless".into(), OsString::new()],
        outside: vec![b"a plan".to_vec(), Vec::new()],
        trees: vec!["/usr".into()],
        files: vec![
            HotFile {
                number: 36,
                path: "/usr/bin/a".into(),
                identity: FileIdentity { size: 9, modified: -1 },
                origin: Some(Origin { inode: 77, changed: -5 }),
            },
            HotFile { number: 40, path: "/b".into(), identity: FileIdentity { size: 0, modified: 5 }, origin: None },
        ],
        runs: vec![
            HotPages { programs: 1, file: 0, start: 3, pages: 2, packed: 0 },
            HotPages { programs: 3, file: 1, start: 0, pages: 1, packed: 77 },
        ],
        originals: vec![
            Original { number: 36, identity: FileIdentity { size: 9, modified: -1 }, digest: [1; 32] },
            Original { number: 40, identity: FileIdentity { size: 0, modified: 5 }, digest: [2; 32] },
        ],
    }
}

#[test]
fn what_is_written_is_read() {
    for index in [index(), Index::default(), Index { packed: Some([9; 16]), ..index() }] {
        let (front, rest) = encode(&index);
        assert_eq!((front.len() as u64, (front.len() + rest.len()) as u64), size(&index.counts()));
        assert_eq!(front_length(&front), Ok(front.len() as u64));
        assert_eq!(decode(&front, &rest), Ok(index));
    }
}

#[test]
fn each_cut_and_each_flipped_bit_is_noticed() {
    let (front, rest) = encode(&index());
    for length in 0..front.len() {
        assert!(decode(&front[..length], &rest).is_err(), "cut to {length}");
    }
    for length in 0..rest.len() {
        assert!(decode(&front, &rest[..length]).is_err(), "cut to {length}");
    }
    for bit in 0..front.len() * 8 {
        let mut damaged = front.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&damaged, &rest).is_err(), "bit {bit}");
        assert_ne!(uuid(&damaged), uuid(&front));
    }
    for bit in 0..rest.len() * 8 {
        let mut damaged = rest.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&front, &damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_newer_version_says_so() {
    let (mut front, rest) = encode(&index());
    front[8] = 4;
    let error = decode(&front, &rest).unwrap_err();
    assert_eq!(error.to_string(), "its index has version 4, newer than this coldstart knows (3)");
    assert!(error.hint().is_some());
}

proptest! {
    #[test]
    fn any_bytes_behind_a_right_checksum_are_survived(
        mut front in prop::collection::vec(any::<u8>(), 168..400), counts in prop::collection::vec(0u32..4, 7), rest in 0usize..4,
    ) {
        front[..8].copy_from_slice(&MAGIC);
        front[8] = 2 + (counts[0] % 2) as u8;
        front[9..12].fill(0);
        let length = front.len() as u64;
        let rest = vec![3; rest * 56];
        front[16..24].copy_from_slice(&(length + rest.len() as u64).to_le_bytes());
        front[24..32].copy_from_slice(&length.to_le_bytes());
        front[88..120].copy_from_slice(blake3::hash(&rest).as_bytes());
        // The seventh lies behind the digest of compressed data.
        for (at, count) in (120..144).step_by(4).chain([160]).zip(counts) {
            front[at..at + 4].copy_from_slice(&count.to_le_bytes());
        }
        let checksum = crc32fast::hash(&front[16..]);
        front[12..16].copy_from_slice(&checksum.to_le_bytes());
        let _ = decode(&front, &rest);
    }
}
