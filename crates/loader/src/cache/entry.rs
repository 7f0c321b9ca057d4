//! One entry of a cache.

/// Bit 62 of `hwcap`: the low half is a number in the file's list of levels (`DL_CACHE_HWCAP_EXTENSION`).
const LEVEL_BIT: u64 = 1 << 62;
/// Bits of the upper half that hold the ISA level (`DL_CACHE_HWCAP_ISA_LEVEL_COUNT` is 10).
const ISA_LEVEL_MASK: u64 = (1 << 10) - 1;

/// One entry: a library name and its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheEntry<'a> {
    /// Type of library and required ABI (`FLAG_*` in sysdeps/generic/ldconfig.h): 0x0303 is glibc on x86-64.
    pub flags: u32,
    /// The library name, usually a `DT_SONAME`.
    pub name: &'a [u8],
    /// The library's path.
    pub path: &'a [u8],
    /// Oldest kernel it needs, 0 for any; ignored by loaders since 2.36.
    pub os_version: u32,
    /// Required processor features, as stored; 0 for any.
    pub hwcap: u64,
}

/// The processor features that an entry requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryHwcap {
    /// Nothing.
    Any,
    /// A level by name; glibc 2.33 and later.
    Level {
        /// Number of its name in [`LdSoCache::hwcaps`](crate::cache::LdSoCache::hwcaps).
        index: u32,
        /// The level that the library's own note requires: 0 baseline, 1 to 3 for x86-64-v2 to v4.
        isa_level: u32,
    },
    /// Bits of the scheme that glibc 2.37 dropped.
    Bits(u64),
}

impl CacheEntry<'_> {
    /// The processor features that the entry requires.
    pub fn required(&self) -> EntryHwcap {
        let high = self.hwcap >> 32;
        if self.hwcap == 0 {
            EntryHwcap::Any
        } else if high & !ISA_LEVEL_MASK == LEVEL_BIT >> 32 {
            // Both have less than 32 bits, so the casts are lossless.
            EntryHwcap::Level { index: self.hwcap as u32, isa_level: (high & ISA_LEVEL_MASK) as u32 }
        } else {
            EntryHwcap::Bits(self.hwcap)
        }
    }
}
