//! Decoding a saved page cache. The bytes are untrusted.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coldstart_profile::{FileIdentity, PageRange, page_count};

use super::layout::{
    CHECKED_FROM, ENTRY_SIZE, HEADER_SIZE, MAGIC, RANGE_SIZE, VERSION, WHOLE_SYSTEM, entry, header, kind,
};
use super::{Origin, SavedFile, SavedFormatError, SavedPageCache};

/// The length stated in a header, if it is one.
pub(super) fn length(bytes: &[u8]) -> Result<u64, SavedFormatError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(SavedFormatError::NotSaved);
    }
    if bytes.len() < HEADER_SIZE {
        return Err(SavedFormatError::WrongLength { expected: HEADER_SIZE as u64, found: bytes.len() as u64 });
    }
    match u32_at(bytes, header::VERSION) {
        VERSION => Ok(u64_at(bytes, header::LENGTH)),
        found => Err(SavedFormatError::NewerVersion { found }),
    }
}

impl SavedPageCache {
    /// Checks and decodes the bytes of a file: magic, version, length, checksum, each record.
    ///
    /// Memory use is proportional to the number of bytes, whatever they contain.
    ///
    /// # Errors
    /// See [`SavedFormatError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SavedFormatError> {
        let asked = length(bytes)?;
        let found = bytes.len() as u64;
        let wrong_length = |expected| SavedFormatError::WrongLength { expected, found };
        if asked != found {
            return Err(wrong_length(asked));
        }
        let expected = u32_at(bytes, header::CHECKSUM);
        let checksum = crc32fast::hash(bytes.get(CHECKED_FROM..).unwrap_or_default());
        if checksum != expected {
            return Err(SavedFormatError::WrongChecksum { expected, found: checksum });
        }
        let table = |at, size| u64_at(bytes, at).checked_mul(size).ok_or(wrong_length(u64::MAX));
        let entries = table(header::ENTRIES, ENTRY_SIZE as u64)?;
        let ranges = table(header::RANGES, RANGE_SIZE as u64)?;
        let names = table(header::NAMES_LENGTH, 1)?;
        let total = [entries, ranges, names].iter().try_fold(HEADER_SIZE as u64, |sum, part| sum.checked_add(*part));
        match total {
            Some(total) if total == found => {}
            total => return Err(wrong_length(total.unwrap_or(u64::MAX))),
        }
        // The sum is the length of a slice, so every part fits `usize` and is there.
        let (_, rest) = bytes.split_at_checked(HEADER_SIZE).unwrap_or_default();
        let (entries, rest) = rest.split_at_checked(entries as usize).unwrap_or_default();
        let (ranges, names) = rest.split_at_checked(ranges as usize).unwrap_or_default();
        let mut reader = Reader { entries: entries.len(), ranges_length: ranges.len(), ranges, names };
        reader.read(bytes, entries)
    }
}

/// The undecoded part of the tables.
struct Reader<'bytes> {
    /// Length of the table of entries.
    entries: usize,
    /// Length of the table of ranges.
    ranges_length: usize,
    ranges: &'bytes [u8],
    names: &'bytes [u8],
}

impl Reader<'_> {
    fn read(&mut self, header: &[u8], entries: &[u8]) -> Result<SavedPageCache, SavedFormatError> {
        let origin = self.origin(header)?;
        let mut saved = SavedPageCache {
            origin,
            files: Vec::new(),
            devices: Vec::new(),
            directories: Vec::new(),
            links: Vec::new(),
        };
        for (number, record) in entries.chunks_exact(ENTRY_SIZE).enumerate() {
            let bad = |what| SavedFormatError::BadRecord { offset: (HEADER_SIZE + number * ENTRY_SIZE) as u64, what };
            let path = self.name(u32_at(record, entry::NAME_LENGTH)).ok_or(bad("its name exceeds the name table"))?;
            if !path.starts_with(b"/") || path.contains(&0) {
                return Err(bad("its name is not an absolute path"));
            }
            let path = PathBuf::from(OsString::from_vec(path));
            let kind = u32_at(record, entry::KIND);
            match kind {
                kind::FILE | kind::BLOCK_DEVICE => {
                    let file = self.file(record, path, &bad)?;
                    if kind == kind::FILE { &mut saved.files } else { &mut saved.devices }.push(file);
                }
                kind::DIRECTORY | kind::LINK if u64_at(record, entry::RANGES) != 0 => {
                    return Err(bad("pages of an entry without content"));
                }
                kind::DIRECTORY => saved.directories.push(path),
                kind::LINK => saved.links.push(path),
                _ => return Err(bad("an entry of unknown kind")),
            }
        }
        let behind = |table: usize, what| Err(SavedFormatError::BadRecord { offset: table as u64, what });
        if !self.ranges.is_empty() {
            return behind(
                HEADER_SIZE + self.entries + self.ranges_length - self.ranges.len(),
                "ranges without a file",
            );
        }
        if !self.names.is_empty() {
            return behind(header.len() - self.names.len(), "names without an entry");
        }
        Ok(saved)
    }

    fn origin(&mut self, bytes: &[u8]) -> Result<Origin, SavedFormatError> {
        let bad = SavedFormatError::BadRecord { offset: 0, what: "the kernel's name exceeds the name table" };
        let kernel = self.name(u32_at(bytes, header::KERNEL_LENGTH)).ok_or(bad)?;
        let boot_id = bytes.get(header::BOOT_ID..header::BOOT_ID + 16).and_then(|id| id.try_into().ok());
        Ok(Origin {
            saved_at: i64_at(bytes, header::SAVED_AT),
            boot_id: boot_id.unwrap_or_default(),
            kernel,
            base_page: u32_at(bytes, header::BASE_PAGE),
            is_whole_system: u32_at(bytes, header::FLAGS) & WHOLE_SYSTEM != 0,
            hidden_files: u64_at(bytes, header::HIDDEN_FILES),
            hidden_devices: u32_at(bytes, header::HIDDEN_DEVICES),
        })
    }

    fn file(
        &mut self,
        record: &[u8],
        path: PathBuf,
        bad: &dyn Fn(&'static str) -> SavedFormatError,
    ) -> Result<SavedFile, SavedFormatError> {
        let size = u64_at(record, entry::SIZE);
        let length =
            usize::try_from(u64_at(record, entry::RANGES)).ok().and_then(|count| count.checked_mul(RANGE_SIZE));
        let table = length.and_then(|length| self.ranges.split_at_checked(length));
        let (own, rest) = table.ok_or(bad("its ranges exceed the range table"))?;
        self.ranges = rest;
        if own.is_empty() {
            return Err(bad("a file without pages"));
        }
        // Byte offsets must fit `off_t`.
        if i64::try_from(size).is_err() {
            return Err(bad("a file larger than the maximum file size"));
        }
        let mut ranges: Vec<PageRange> = Vec::with_capacity(own.len() / RANGE_SIZE);
        for record in own.chunks_exact(RANGE_SIZE) {
            let range = PageRange::new(u64_at(record, 0), u64_at(record, 8)).ok_or(bad("a range without pages"))?;
            if range.end().0 > page_count(size) {
                return Err(bad("pages past the end of the file"));
            }
            if ranges.last().is_some_and(|last| range.start <= last.end()) {
                return Err(bad("ranges out of order or adjacent"));
            }
            ranges.push(range);
        }
        Ok(SavedFile {
            path,
            identity: FileIdentity { size, modified: i64_at(record, entry::MODIFIED) },
            device: u64_at(record, entry::DEVICE),
            inode: u64_at(record, entry::INODE),
            ranges,
        })
    }

    fn name(&mut self, length: u32) -> Option<Vec<u8>> {
        let (name, rest) = self.names.split_at_checked(usize::try_from(length).ok()?)?;
        self.names = rest;
        Some(name.to_vec())
    }
}

/// Callers pass offsets inside records of fixed size, so the bytes are always there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at.saturating_add(4)).and_then(|slice| slice.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at.saturating_add(8)).and_then(|slice| slice.try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    bytes.get(at..at.saturating_add(8)).and_then(|slice| slice.try_into().ok()).map_or(0, i64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    fn small() -> SavedPageCache {
        let ranges =
            |list: &[(u64, u64)]| list.iter().filter_map(|&(start, count)| PageRange::new(start, count)).collect();
        let file = |path: &[u8], size, list| SavedFile {
            path: OsString::from_vec(path.to_vec()).into(),
            identity: FileIdentity { size, modified: -7 },
            device: 0xfe00,
            inode: 12,
            ranges: ranges(list),
        };
        SavedPageCache {
            origin: Origin {
                saved_at: 1_790_000_000,
                kernel: b"6.18.0".to_vec(),
                base_page: 4096,
                ..Origin::default()
            },
            files: vec![file(b"/a\nb\xff", 40_000, &[(0, 3), (5, 5)]), file(b"/c", 1, &[(0, 1)])],
            devices: vec![file(b"/dev/sda", 1 << 40, &[(77, 1)])],
            directories: vec!["/".into(), "/usr".into()],
            links: vec!["/lib".into()],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let saved = small();
        assert_eq!(SavedPageCache::from_bytes(&saved.to_bytes().unwrap()), Ok(saved));
    }

    #[test]
    fn each_cut_and_each_flipped_byte_is_noticed() {
        let bytes = small().to_bytes().unwrap();
        for length in 0..bytes.len() {
            assert!(SavedPageCache::from_bytes(&bytes[..length]).is_err(), "cut to {length}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x40;
            assert!(SavedPageCache::from_bytes(&damaged).is_err(), "byte {at} flipped");
        }
        let longer = [&bytes[..], b"x"].concat();
        let wrong = SavedFormatError::WrongLength { expected: bytes.len() as u64, found: longer.len() as u64 };
        assert_eq!(SavedPageCache::from_bytes(&longer), Err(wrong));
    }

    /// The bytes with a right checksum.
    fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let length = bytes.len() as u64;
        bytes[header::LENGTH..header::LENGTH + 8].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32fast::hash(&bytes[CHECKED_FROM..]);
        bytes[header::CHECKSUM..header::CHECKSUM + 4].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    #[test]
    fn lies_are_refused_with_their_place() {
        let bytes = small().to_bytes().unwrap();
        let with = |at: usize, value: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            SavedPageCache::from_bytes(&sealed(bytes)).unwrap_err().to_string()
        };
        let first_range = HEADER_SIZE + 6 * ENTRY_SIZE;
        let huge = (1u64 << 63).to_le_bytes();
        assert_eq!(
            with(header::VERSION, &9u32.to_le_bytes()),
            "it has format version 9; this coldstart reads versions up to 1"
        );
        for at in [header::ENTRIES, header::RANGES, header::NAMES_LENGTH] {
            assert!(with(at, &huge).starts_with("it should be "), "{at}");
        }
        assert_eq!(with(HEADER_SIZE, &[4]), "it is damaged at byte 128: an entry of unknown kind");
        assert_eq!(
            with(HEADER_SIZE + entry::RANGES, &huge),
            "it is damaged at byte 128: its ranges exceed the range table"
        );
        assert_eq!(
            with(HEADER_SIZE + entry::NAME_LENGTH, &[255; 4]),
            "it is damaged at byte 128: its name exceeds the name table"
        );
        assert_eq!(
            with(HEADER_SIZE + entry::SIZE, &[255; 8]),
            "it is damaged at byte 128: a file larger than the maximum file size"
        );
        assert_eq!(with(first_range + 8, &huge), "it is damaged at byte 128: pages past the end of the file");
        assert_eq!(with(first_range + 8, &[5]), "it is damaged at byte 128: ranges out of order or adjacent");
        assert_eq!(with(first_range + 8, &[0]), "it is damaged at byte 128: a range without pages");
        assert_eq!(with(HEADER_SIZE, &[2]), "it is damaged at byte 128: pages of an entry without content");
    }

    #[test]
    fn what_is_no_file_is_not_read() {
        assert!(matches!(SavedPageCache::read(Path::new("/dev/zero")), Err(super::super::SavedError::NotAFile { .. })));
        assert!(matches!(SavedPageCache::read(Path::new("/")), Err(super::super::SavedError::NotAFile { .. })));
    }

    fn any_file() -> impl Strategy<Value = SavedFile> {
        let path = prop::collection::vec(1u8.., 0..20);
        let ranges = prop::collection::vec((1u64..1 << 20, 1u64..1 << 20), 1..9);
        (path, ranges, any::<i64>(), any::<u64>(), any::<u64>(), 0u64..4096).prop_map(
            |(path, gaps, modified, device, inode, short)| {
                let mut page = 0;
                let mut ranges = Vec::new();
                for (gap, count) in gaps {
                    ranges.extend(PageRange::new(page + gap, count));
                    page += gap + count;
                }
                let path = PathBuf::from(OsString::from_vec([b"/", &path[..]].concat()));
                let identity = FileIdentity { size: page * 4096 - short, modified };
                SavedFile { path, identity, device, inode, ranges }
            },
        )
    }

    fn any_paths() -> impl Strategy<Value = Vec<PathBuf>> {
        prop::collection::vec("/[a-zä\n ]{0,9}".prop_map(PathBuf::from), 0..6)
    }

    proptest! {
        #[test]
        fn round_trip(
            files in prop::collection::vec(any_file(), 0..9), devices in prop::collection::vec(any_file(), 0..3),
            directories in any_paths(), links in any_paths(), kernel in prop::collection::vec(any::<u8>(), 0..30),
            (saved_at, boot_id, base_page) in any::<(i64, [u8; 16], u32)>(),
            (is_whole_system, hidden_files, hidden_devices) in any::<(bool, u64, u32)>(),
        ) {
            let origin = Origin { saved_at, boot_id, kernel, base_page, is_whole_system, hidden_files, hidden_devices };
            let saved = SavedPageCache { origin, files, devices, directories, links };
            prop_assert_eq!(SavedPageCache::from_bytes(&saved.to_bytes().unwrap()), Ok(saved));
        }

        #[test]
        fn any_bytes_behind_a_right_checksum_are_survived(tail in prop::collection::vec(any::<u8>(), 0..400), counts in prop::collection::vec(0u64..4, 3)) {
            let mut bytes = vec![0; HEADER_SIZE];
            bytes[..8].copy_from_slice(&MAGIC);
            bytes[header::VERSION] = 1;
            let names = (tail.len() as u64).saturating_sub(counts[0] * ENTRY_SIZE as u64 + counts[1] * RANGE_SIZE as u64);
            for (at, count) in [header::ENTRIES, header::RANGES, header::NAMES_LENGTH].into_iter().zip([counts[0], counts[1], names]) {
                bytes[at..at + 8].copy_from_slice(&count.to_le_bytes());
            }
            bytes.extend(tail);
            if let Ok(saved) = SavedPageCache::from_bytes(&sealed(bytes)) {
                prop_assert_eq!(SavedPageCache::from_bytes(&saved.to_bytes().unwrap()), Ok(saved));
            }
        }
    }
}
