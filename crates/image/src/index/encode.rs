//! Encoding an index.

use std::os::unix::ffi::OsStrExt;

use super::{Index, MAGIC, VERSION, size};

/// The bytes of an index: the front part, then the originals.
pub(crate) fn encode(index: &Index) -> (Vec<u8>, Vec<u8>) {
    let counts = index.counts();
    let (front_length, length) = size(&counts);
    let mut rest = Vec::with_capacity((length - front_length) as usize);
    for original in &index.originals {
        rest.extend_from_slice(&original.number.to_le_bytes());
        rest.extend_from_slice(&original.identity.size.to_le_bytes());
        rest.extend_from_slice(&original.identity.modified.to_le_bytes());
        rest.extend_from_slice(&original.digest);
    }
    let mut front = Vec::with_capacity(front_length as usize);
    front.extend_from_slice(&MAGIC);
    front.extend_from_slice(&VERSION.to_le_bytes());
    // The checksum.
    front.extend_from_slice(&[0; 4]);
    for number in
        [length, front_length, index.metadata_length, index.hot.start, index.hot.end.saturating_sub(index.hot.start)]
    {
        front.extend_from_slice(&number.to_le_bytes());
    }
    front.extend_from_slice(&index.metadata_digest);
    front.extend_from_slice(blake3::hash(&rest).as_bytes());
    for count in [counts.programs, counts.trees, counts.files, counts.runs, counts.originals, counts.names] {
        front.extend_from_slice(&count.to_le_bytes());
    }
    front.extend_from_slice(&index.packed.unwrap_or_default());
    front.extend_from_slice(&counts.outside.to_le_bytes());
    front.extend_from_slice(&[0; 4]);
    let names: Vec<&[u8]> = (index.programs.iter().map(|name| name.as_bytes()))
        .chain(index.trees.iter().map(|path| path.as_os_str().as_bytes()))
        .chain(index.files.iter().map(|file| file.path.as_os_str().as_bytes()))
        .collect();
    for (number, program) in index.programs.iter().enumerate() {
        let outside = index.outside.get(number).map_or(0, Vec::len);
        for length in [program.len(), outside] {
            front.extend_from_slice(&(length as u32).to_le_bytes());
        }
    }
    for tree in &index.trees {
        front.extend_from_slice(&(tree.as_os_str().len() as u32).to_le_bytes());
    }
    for file in &index.files {
        front.extend_from_slice(&file.number.to_le_bytes());
        front.extend_from_slice(&(file.path.as_os_str().len() as u32).to_le_bytes());
        front.extend_from_slice(&[0; 4]);
        let (inode, changed) = file.origin.map_or((0, 0), |origin| (origin.inode, origin.changed));
        front.extend_from_slice(&inode.to_le_bytes());
        front.extend_from_slice(&changed.to_le_bytes());
        front.extend_from_slice(&file.identity.size.to_le_bytes());
        front.extend_from_slice(&file.identity.modified.to_le_bytes());
    }
    for run in &index.runs {
        front.extend_from_slice(&run.programs.to_le_bytes());
        for number in [run.file, run.start, run.pages, run.packed] {
            front.extend_from_slice(&number.to_le_bytes());
        }
    }
    for bytes in names.into_iter().chain(index.outside.iter().map(Vec::as_slice)) {
        front.extend_from_slice(bytes);
    }
    let checksum = crc32fast::hash(&front[16..]);
    front[12..16].copy_from_slice(&checksum.to_le_bytes());
    (front, rest)
}

/// The UUID of an image whose index begins with these bytes: their digest, as version 8 of RFC 9562.
pub(crate) fn uuid(front: &[u8]) -> [u8; 16] {
    let mut uuid = [0; 16];
    uuid.copy_from_slice(&blake3::hash(front).as_bytes()[..16]);
    uuid[6] = (uuid[6] & 0x0f) | 0x80;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
    uuid
}
