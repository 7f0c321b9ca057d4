//! Any bytes as the loader's cache: refused, or read and searched.

#![no_main]

use coldstart_loader::LoaderBuild;
use coldstart_loader::cache::LdSoCache;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = LoaderBuild::read(bytes).lib();
    let Ok(cache) = LdSoCache::parse(bytes) else { return };
    let _ = (cache.generator(), cache.format(), cache.big_endian(), cache.hwcaps().count());
    let levels = [b"x86-64-v3".to_vec(), b"x86-64-v2".to_vec()];
    for entry in cache.entries().take(1000) {
        let _ = (cache.describe(&entry), entry.required());
        let _ = cache.lookup(entry.name, &[entry.flags], &levels);
    }
});
