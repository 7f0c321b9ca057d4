//! Writing a cache (`save_cache` in elf/cache.c of glibc), byte for byte as `ldconfig` does with the same entries.
//!
//! The loader takes the first entry that matches, so the order is significant: descending by name, and for one name
//! the entries for processor levels first.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::strings::{StoredStrings, StringTable};
use super::{Characters, compare_names, order};

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
/// Sizes in bytes: the header, an entry, the extensions' header, and the description of one extension.
const HEADER: usize = 48;
const ENTRY: usize = 24;
const EXTENSION_HEADER: usize = 8;
const SECTION: usize = 16;
/// `DL_CACHE_HWCAP_EXTENSION` and `DL_CACHE_HWCAP_ISA_LEVEL_MASK`.
const LEVEL_BIT: u64 = 1 << 62;
const MOST_ISA_LEVEL: u32 = (1 << 10) - 1;

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Type of library and required ABI, as [`CacheEntry::flags`](super::CacheEntry::flags).
    pub flags: u32,
    /// The library name. Any bytes but zero.
    pub name: Vec<u8>,
    /// The library's path. Any bytes but zero.
    pub path: Vec<u8>,
    /// The required processor features.
    pub hwcap: NewHwcap,
}

/// The processor features that a new entry requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewHwcap {
    /// Nothing.
    Any,
    /// A level.
    Level {
        /// Its name: that of its directory below `glibc-hwcaps`.
        name: Vec<u8>,
        /// The level that the library's own note requires, 0 to 1023: 0 baseline, 1 to 3 for x86-64-v2 to v4.
        isa_level: u32,
    },
    /// Bits of the scheme that glibc 2.37 dropped.
    Bits(u64),
}

/// Why entries cannot be written as a cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Offsets have 32 bits.
    #[error("the cache would exceed its format's limit of 4 GiB")]
    TooLarge,
    /// Strings end at the first zero byte.
    #[error("`{}` contains a zero byte", String::from_utf8_lossy(.0))]
    ZeroByte(Vec<u8>),
    /// It has ten bits.
    #[error("`{}` requires processor level {level}; the format's limit is 1023", String::from_utf8_lossy(path))]
    Level {
        /// The library.
        path: Vec<u8>,
        /// The level.
        level: u32,
    },
}

/// Collects entries for a cache.
#[derive(Clone, Debug, Default)]
pub struct CacheBuilder {
    generator: Vec<u8>,
    big_endian: bool,
    entries: Vec<NewEntry>,
    mentioned: BTreeSet<Vec<u8>>,
}

impl CacheBuilder {
    /// An empty cache; `generator` is the writing program's name for itself.
    pub fn new(generator: &[u8]) -> Self {
        Self { generator: generator.to_vec(), ..Self::default() }
    }

    /// Stores numbers big-endian: for s390x, powerpc64, sparc64, mips. A loader accepts only its own byte order.
    pub fn big_endian(mut self, big_endian: bool) -> Self {
        self.big_endian = big_endian;
        self
    }

    /// Adds an entry. Of entries equal in name, flags and level, the one added first wins.
    pub fn add(&mut self, entry: NewEntry) {
        self.entries.push(entry);
    }

    /// Stores a level name without an entry: `ldconfig` keeps the names of all level directories, including empty
    /// ones.
    pub fn mention(&mut self, name: &[u8]) {
        self.mentioned.insert(name.to_vec());
    }

    /// Number of entries so far.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Serialises the cache.
    ///
    /// # Errors
    /// If an entry exceeds the format's limits.
    pub fn write(mut self) -> Result<Vec<u8>, WriteError> {
        self.check()?;
        let characters = Characters::of_flags(self.entries.iter().map(|entry| entry.flags));
        order::sort(&mut self.entries, |entry| entry.name.as_slice(), |left, right| compare(left, right, characters));
        let levels: BTreeSet<Vec<u8>> =
            self.entries.iter().filter_map(|entry| level(entry).map(<[u8]>::to_vec)).collect();
        let levels: Vec<Vec<u8>> = levels.into_iter().collect();
        let mut strings = StringTable::default();
        for entry in &self.entries {
            strings.add(&entry.name);
            strings.add(&entry.path);
        }
        levels.iter().chain(&self.mentioned).for_each(|name| strings.add(name));
        let strings = strings.store();
        let mut out = Output { bytes: Vec::new(), big_endian: self.big_endian };
        out.cache(&self, &levels, &strings).ok_or(WriteError::TooLarge)?;
        Ok(out.bytes)
    }

    fn check(&self) -> Result<(), WriteError> {
        for entry in &self.entries {
            let level_name = level(entry).unwrap_or_default();
            for text in [entry.name.as_slice(), entry.path.as_slice(), level_name] {
                if text.contains(&0) {
                    return Err(WriteError::ZeroByte(text.to_vec()));
                }
            }
            if let NewHwcap::Level { isa_level, .. } = entry.hwcap
                && isa_level > MOST_ISA_LEVEL
            {
                return Err(WriteError::Level { path: entry.path.clone(), level: isa_level });
            }
        }
        match self.mentioned.iter().find(|name| name.contains(&0)) {
            Some(name) => Err(WriteError::ZeroByte(name.clone())),
            None => Ok(()),
        }
    }
}

fn level(entry: &NewEntry) -> Option<&[u8]> {
    match &entry.hwcap {
        NewHwcap::Level { name, .. } => Some(name),
        NewHwcap::Any | NewHwcap::Bits(_) => None,
    }
}

fn bits(entry: &NewEntry) -> u64 {
    match entry.hwcap {
        NewHwcap::Bits(bits) => bits,
        NewHwcap::Any | NewHwcap::Level { .. } => 0,
    }
}

/// The order of the file (`compare` in elf/cache.c). Flags are signed there.
fn compare(left: &NewEntry, right: &NewEntry, characters: Characters) -> Ordering {
    let by_level = match (level(left), level(right)) {
        (Some(left), Some(right)) => left.cmp(right),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    compare_names(&right.name, &left.name, characters)
        .then(right.flags.cast_signed().cmp(&left.flags.cast_signed()))
        .then(by_level)
        .then(bits(right).count_ones().cmp(&bits(left).count_ones()))
        .then(bits(right).cmp(&bits(left)))
}

struct Output {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Output {
    /// Header, entries, strings, extensions; none if an offset does not fit.
    fn cache(&mut self, builder: &CacheBuilder, levels: &[Vec<u8>], strings: &StoredStrings) -> Option<()> {
        let strings_start = builder.entries.len().checked_mul(ENTRY)?.checked_add(HEADER)?;
        let place = |text: &[u8]| strings_start.checked_add(strings.place(text)?);
        let extensions = strings_start.checked_add(strings.bytes.len())?.checked_next_multiple_of(4)?;
        self.bytes.extend_from_slice(MAGIC);
        self.number(builder.entries.len())?;
        self.number(strings.bytes.len())?;
        // The byte order (`cache_file_new_flags_endian_*`) and padding.
        self.bytes.extend_from_slice(&[if self.big_endian { 3 } else { 2 }, 0, 0, 0]);
        self.number(extensions)?;
        self.bytes.extend_from_slice(&[0; 12]);
        for entry in &builder.entries {
            self.word(entry.flags);
            self.number(place(&entry.name)?)?;
            self.number(place(&entry.path)?)?;
            self.word(0);
            self.long(match &entry.hwcap {
                NewHwcap::Any => 0,
                NewHwcap::Bits(bits) => *bits,
                NewHwcap::Level { name, isa_level } => {
                    let index = levels.binary_search(name).ok()?;
                    LEVEL_BIT | u64::from(*isa_level) << 32 | index as u64
                }
            });
        }
        self.bytes.extend_from_slice(&strings.bytes);
        self.bytes.resize(extensions, 0);
        self.extensions(builder, levels, extensions, place)
    }

    /// The generator (tag 0) and the names of levels (tag 1), whose content comes first.
    fn extensions(
        &mut self,
        builder: &CacheBuilder,
        levels: &[Vec<u8>],
        start: usize,
        place: impl Fn(&[u8]) -> Option<usize>,
    ) -> Option<()> {
        let sections = if levels.is_empty() { 1 } else { 2 };
        let names = start.checked_add(EXTENSION_HEADER + sections * SECTION)?;
        let names_size = levels.len().checked_mul(4)?;
        self.word(EXTENSION_MAGIC);
        self.number(sections)?;
        self.section(0, names.checked_add(names_size)?, builder.generator.len())?;
        if !levels.is_empty() {
            self.section(1, names, names_size)?;
        }
        for level in levels {
            self.number(place(level)?)?;
        }
        self.bytes.extend_from_slice(&builder.generator);
        u32::try_from(self.bytes.len()).ok().map(|_| ())
    }

    fn section(&mut self, tag: u32, offset: usize, size: usize) -> Option<()> {
        self.word(tag);
        self.word(0);
        self.number(offset)?;
        self.number(size)
    }

    fn number(&mut self, value: usize) -> Option<()> {
        self.word(u32::try_from(value).ok()?);
        Some(())
    }

    fn word(&mut self, value: u32) {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }

    fn long(&mut self, value: u64) {
        self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
    }
}
