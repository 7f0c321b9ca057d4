//! Caches that are written: the bytes of `ldconfig`, both byte orders, the order of entries.

use coldstart_loader::cache::{
    CacheBuilder, Characters, EntryHwcap, LdSoCache, NewEntry, NewHwcap, WriteError, compare_names, read_back,
};
use proptest::prelude::*;

/// The same entries as those of a cache that was read.
fn builder_of(cache: &LdSoCache) -> CacheBuilder {
    let mut builder = CacheBuilder::new(cache.generator().unwrap_or_default()).big_endian(cache.big_endian());
    for entry in cache.entries() {
        let hwcap = match entry.required() {
            EntryHwcap::Any => NewHwcap::Any,
            EntryHwcap::Bits(bits) => NewHwcap::Bits(bits),
            EntryHwcap::Level { isa_level, .. } => {
                NewHwcap::Level { name: cache.level_name(&entry).unwrap().to_vec(), isa_level }
            }
        };
        builder.add(NewEntry { flags: entry.flags, name: entry.name.to_vec(), path: entry.path.to_vec(), hwcap });
    }
    builder
}

fn entry(name: &str, path: &str, hwcap: NewHwcap) -> NewEntry {
    NewEntry { flags: 0x303, name: name.into(), path: path.into(), hwcap }
}

fn level(name: &str) -> NewHwcap {
    NewHwcap::Level { name: name.into(), isa_level: 0 }
}

#[test]
fn this_systems_cache_is_written_byte_for_byte() {
    let Ok(bytes) = std::fs::read("/etc/ld.so.cache") else {
        coldstart_testing::skip("no loader cache here");
        return;
    };
    let cache = LdSoCache::parse(&bytes).unwrap();
    if cache.format() == coldstart_loader::cache::CacheFormat::New {
        assert!(builder_of(&cache).write().unwrap() == bytes, "other bytes than ldconfig's");
    }
}

#[test]
fn entries_for_levels_stand_first_in_the_order_of_their_names() {
    for big_endian in [false, true] {
        let mut builder = CacheBuilder::new(b"a test").big_endian(big_endian);
        builder.add(entry("liba.so.9", "/lib/liba.so.9", NewHwcap::Any));
        builder.add(entry("liba.so.9", "/lib/v3/liba.so.9", level("x86-64-v3")));
        builder.add(entry("liba.so.10", "/lib/liba.so.10", NewHwcap::Any));
        builder.add(entry("liba.so.9", "/lib/v2/liba.so.9", level("x86-64-v2")));
        builder.add(entry("liba.so.9", "/lib/tls/liba.so.9", NewHwcap::Bits(1 << 63)));
        let cache = read_back(&builder.write().unwrap()).unwrap();
        let paths: Vec<_> = cache.entries().map(|entry| String::from_utf8_lossy(entry.path).into_owned()).collect();
        let expected =
            ["/lib/liba.so.10", "/lib/v2/liba.so.9", "/lib/v3/liba.so.9", "/lib/tls/liba.so.9", "/lib/liba.so.9"];
        assert_eq!(paths, expected);
        assert_eq!(cache.big_endian(), big_endian);
        assert_eq!(cache.hwcaps().collect::<Vec<_>>(), [b"x86-64-v2", b"x86-64-v3"]);
        assert_eq!(cache.generator(), Some(b"a test".as_slice()));
        let found = cache.lookup(b"liba.so.9", &[0x303], &[b"x86-64-v3".to_vec(), b"x86-64-v2".to_vec()]);
        assert_eq!(found.unwrap().path, b"/lib/v3/liba.so.9");
    }
}

#[test]
fn an_empty_cache_is_one() {
    let bytes = CacheBuilder::new(b"nobody").write().unwrap();
    let cache = read_back(&bytes).unwrap();
    assert_eq!((cache.entries().len(), cache.hwcaps().len()), (0, 0));
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let mut builder = CacheBuilder::new(b"");
    builder.add(entry("a\0b", "/a", NewHwcap::Any));
    assert_eq!(builder.write(), Err(WriteError::ZeroByte(b"a\0b".to_vec())));
    let mut builder = CacheBuilder::new(b"");
    builder.add(entry("a", "/a", NewHwcap::Level { name: b"v".to_vec(), isa_level: 1024 }));
    assert_eq!(builder.write(), Err(WriteError::Level { path: b"/a".to_vec(), level: 1024 }));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn every_name_is_found(
        names in prop::collection::vec(("lib[ab0-2.]{0,6}", 0_u32..3, 0_u8..4), 0..60),
        big_endian in any::<bool>(),
    ) {
        let mut builder = CacheBuilder::new(b"test").big_endian(big_endian);
        for (name, flags, kind) in &names {
            let hwcap = match kind {
                0 => level("x86-64-v2"),
                1 => NewHwcap::Bits(1 << 63),
                _ => NewHwcap::Any,
            };
            builder.add(NewEntry { flags: *flags, ..entry(name, &format!("/lib/{name}"), hwcap) });
        }
        let bytes = builder.clone().write().unwrap();
        let cache = read_back(&bytes).unwrap();
        prop_assert_eq!(cache.entries().len(), names.len());
        let sorted: Vec<_> = cache.entries().map(|entry| entry.name.to_vec()).collect();
        prop_assert!(sorted.is_sorted_by(|left, right| compare_names(left, right, Characters::Signed).is_ge()));
        for entry in cache.entries() {
            prop_assert_eq!(entry.path, [b"/lib/", entry.name].concat());
        }
        prop_assert_eq!(builder_of(&cache).write().unwrap(), bytes);
    }

    #[test]
    fn numbers_that_wrap_around_do_no_harm(names in prop::collection::vec("a[0-9]{8,12}", 0..40)) {
        let mut builder = CacheBuilder::new(b"test");
        names.iter().for_each(|name| builder.add(entry(name, "/lib", NewHwcap::Any)));
        prop_assert_eq!(LdSoCache::parse(&builder.write().unwrap()).unwrap().entries().len(), names.len());
    }
}
