//! Damaged objects: whatever stands in them, they are described or refused, in bounded time and without a panic.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use coldstart_profile::trace::FileId;
use coldstart_symbols::{ObjectFile, TouchedPages, WantedPages, describe, function_starts};
use proptest::prelude::*;

use crate::support::build;

const SOURCE: &str = r#"
static int hidden(int x) { return x * 5; }
int (*table[40])(int) = {[0 ... 39] = hidden};
char zeroed[9000];
int shown(int x) { return table[x](x) + zeroed[x]; }
"#;

fn sample() -> &'static [Vec<u8>; 2] {
    static SAMPLE: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let flags = ["-O1", "-shared", "-fPIC", "-Wl,-z,max-page-size=4096,-z,noseparate-code"];
        let whole = build(folder.path(), "sample", SOURCE, &flags);
        let bare = folder.path().join("bare");
        crate::support::without_section_headers(&whole, &bare);
        [fs::read(whole).unwrap(), fs::read(bare).unwrap()]
    })
}

fn look_at(folder: &Path, bytes: &[u8]) {
    let path = folder.join("damaged");
    fs::write(&path, bytes).unwrap();
    let mut touched = TouchedPages::new();
    (0..8).for_each(|page| touched.add_file_page(page));
    (0..64).for_each(|page| touched.add_zero_filled_page(page));
    [0, 0x1100, u64::MAX].into_iter().for_each(|address| touched.add_code(address));
    touched.add_file_page(u64::MAX);
    touched.add_zero_filled_page(u64::MAX);
    let object = ObjectFile::open(&path).unwrap();
    if let Ok(described) = describe(&object, FileId(0), &touched) {
        let sections = &described.sections;
        assert!(
            sections.is_sorted_by(|one, next| one.address.saturating_add(one.size) <= next.address),
            "{sections:?}"
        );
        assert!(described.symbols.is_sorted_by(|one, next| one.address < next.address));
        assert!(described.relocations.len() <= 100_000);
    }
    if let Ok(found) = function_starts(&object, &WantedPages::All) {
        assert!(found.starts.iter().all(|start| start.file_offset < bytes.len() as u64));
        assert!(found.coverage.covered <= found.coverage.code);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damage_anywhere_is_survived(
        bare in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        length in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = sample()[usize::from(bare)].clone();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        if let Some(length) = length {
            bytes.truncate(length.index(bytes.len()));
        }
        look_at(folder.path(), &bytes);
    }

    #[test]
    fn damage_to_the_headers_is_survived(
        bare in any::<bool>(),
        changes in prop::collection::vec((0_usize..0x300, prop::sample::select(vec![0_u8, 1, 0x7f, 0x80, 0xff])), 1..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = sample()[usize::from(bare)].clone();
        for (place, value) in changes {
            bytes[place] = value;
        }
        look_at(folder.path(), &bytes);
    }
}
