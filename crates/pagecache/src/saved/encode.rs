//! Encoding a saved page cache.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::layout::{
    CHECKED_FROM, ENTRY_SIZE, HEADER_SIZE, MAGIC, RANGE_SIZE, VERSION, WHOLE_SYSTEM, entry, header, kind,
};
use super::{SavedFile, SavedFormatError, SavedPageCache};

/// The tables as they grow.
#[derive(Default)]
struct Tables {
    entries: Vec<u8>,
    ranges: Vec<u8>,
    names: Vec<u8>,
}

impl SavedPageCache {
    /// The bytes of its file.
    ///
    /// # Errors
    /// [`SavedFormatError::TooLong`] for a name of 4 GiB.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SavedFormatError> {
        let mut tables = Tables::default();
        tables.names.extend_from_slice(&self.origin.kernel);
        for (kind, files) in [(kind::FILE, &self.files), (kind::BLOCK_DEVICE, &self.devices)] {
            for file in files {
                tables.add(kind, &file.path, Some(file))?;
            }
        }
        for (kind, paths) in [(kind::DIRECTORY, &self.directories), (kind::LINK, &self.links)] {
            for path in paths {
                tables.add(kind, path, None)?;
            }
        }
        let mut bytes = vec![0; HEADER_SIZE];
        put(&mut bytes, 0, &MAGIC);
        put(&mut bytes, header::VERSION, &VERSION.to_le_bytes());
        self.put_origin(&mut bytes)?;
        put(&mut bytes, header::ENTRIES, &((tables.entries.len() / ENTRY_SIZE) as u64).to_le_bytes());
        put(&mut bytes, header::RANGES, &((tables.ranges.len() / RANGE_SIZE) as u64).to_le_bytes());
        put(&mut bytes, header::NAMES_LENGTH, &(tables.names.len() as u64).to_le_bytes());
        for table in [&tables.entries, &tables.ranges, &tables.names] {
            bytes.extend_from_slice(table);
        }
        let length = bytes.len() as u64;
        put(&mut bytes, header::LENGTH, &length.to_le_bytes());
        let checksum = crc32fast::hash(bytes.get(CHECKED_FROM..).unwrap_or_default());
        put(&mut bytes, header::CHECKSUM, &checksum.to_le_bytes());
        Ok(bytes)
    }

    fn put_origin(&self, bytes: &mut [u8]) -> Result<(), SavedFormatError> {
        let origin = &self.origin;
        let flags = if origin.is_whole_system { WHOLE_SYSTEM } else { 0 };
        put(bytes, header::FLAGS, &flags.to_le_bytes());
        put(bytes, header::BASE_PAGE, &origin.base_page.to_le_bytes());
        put(bytes, header::SAVED_AT, &origin.saved_at.to_le_bytes());
        put(bytes, header::BOOT_ID, &origin.boot_id);
        put(bytes, header::HIDDEN_FILES, &origin.hidden_files.to_le_bytes());
        put(bytes, header::HIDDEN_DEVICES, &origin.hidden_devices.to_le_bytes());
        put(bytes, header::KERNEL_LENGTH, &length(&origin.kernel)?.to_le_bytes());
        Ok(())
    }
}

impl Tables {
    fn add(&mut self, kind: u32, path: &Path, file: Option<&SavedFile>) -> Result<(), SavedFormatError> {
        let name = path.as_os_str().as_bytes();
        let mut record = [0; ENTRY_SIZE];
        put(&mut record, entry::KIND, &kind.to_le_bytes());
        put(&mut record, entry::NAME_LENGTH, &length(name)?.to_le_bytes());
        if let Some(file) = file {
            put(&mut record, entry::SIZE, &file.identity.size.to_le_bytes());
            put(&mut record, entry::MODIFIED, &file.identity.modified.to_le_bytes());
            put(&mut record, entry::DEVICE, &file.device.to_le_bytes());
            put(&mut record, entry::INODE, &file.inode.to_le_bytes());
            put(&mut record, entry::RANGES, &(file.ranges.len() as u64).to_le_bytes());
            for range in &file.ranges {
                self.ranges.extend_from_slice(&range.start.0.to_le_bytes());
                self.ranges.extend_from_slice(&range.count.to_le_bytes());
            }
        }
        self.entries.extend_from_slice(&record);
        self.names.extend_from_slice(name);
        Ok(())
    }
}

fn length(name: &[u8]) -> Result<u32, SavedFormatError> {
    u32::try_from(name.len()).map_err(|_| SavedFormatError::TooLong { length: name.len() as u64 })
}

/// Callers write inside records of fixed size, so the place is always there.
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}
