//! Any bytes as the loader's cache: refused, or read and searched; what is read can be written and read again. Any bytes as
//! /etc/ld.so.conf, and as a library that the cache is made of.

#![no_main]

use coldstart_loader::LoaderBuild;
use coldstart_loader::cache::{CacheBuilder, EntryHwcap, LdSoCache, Library, NewEntry, NewHwcap, read_conf};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = LoaderBuild::read(bytes).lib();
    let _ = read_conf(bytes);
    let _ = Library::read(bytes).map(|library| (library.isa_level, library.facts));
    if let Ok((cache, _)) = LdSoCache::parse_damaged(bytes) {
        let faults = cache.order_faults().count() + cache.level_faults().count();
        assert!(faults <= 2 * cache.entries().len());
        let _ = (cache.shadowed().count(), cache.repeated().count());
    }
    let Ok(cache) = LdSoCache::parse(bytes) else { return };
    let _ = (cache.generator(), cache.format(), cache.big_endian(), cache.hwcaps().count());
    let levels = [b"x86-64-v3".to_vec(), b"x86-64-v2".to_vec()];
    let mut builder = CacheBuilder::new(cache.generator().unwrap_or_default()).big_endian(cache.big_endian());
    for entry in cache.entries().take(1000) {
        let _ = (cache.describe(&entry), entry.required());
        let _ = cache.lookup(entry.name, &[entry.flags], &levels);
        let hwcap = match entry.required() {
            EntryHwcap::Any => NewHwcap::Any,
            EntryHwcap::Bits(bits) => NewHwcap::Bits(bits),
            EntryHwcap::Level { isa_level, .. } => {
                NewHwcap::Level { name: cache.level_name(&entry).unwrap_or(b"none").to_vec(), isa_level }
            }
        };
        let (name, path) = (entry.name.to_vec(), entry.path.to_vec());
        builder.add(NewEntry { flags: entry.flags, name, path, hwcap });
    }
    let count = builder.len();
    let written = builder.write().expect("what was read fits");
    let again = LdSoCache::parse(&written).expect("what was written can be read");
    assert_eq!(again.entries().len(), count);
});
