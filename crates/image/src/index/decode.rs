//! Decoding an index. Nothing in it is trusted: sizes are checked against the bytes before anything is allocated.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coldstart_profile::FileIdentity;

use crate::entry::Origin;

use super::{Counts, Digest, HotFile, HotPages, Index, MAGIC, MOST_FRONT, Original, VERSION, record, size};

/// Why an index cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// Not an index.
    #[error("its index does not begin like one")]
    NotAnIndex,
    /// Of a newer coldstart.
    #[error("its index has version {0}, newer than this coldstart knows ({VERSION})")]
    NewerVersion(u32),
    /// Of an earlier coldstart.
    #[error("its index has version {0}, of an earlier coldstart")]
    OlderVersion(u32),
    /// Shorter or longer than it says.
    #[error("its index has {found} bytes, but its own numbers say {expected}")]
    Length {
        /// What there is.
        found: u64,
        /// What its counts need.
        expected: u64,
    },
    /// Changed since it was written.
    #[error("its index is damaged: {0} is not what was written")]
    Damaged(&'static str),
    /// A record with an impossible value.
    #[error("its index is damaged: {what} {number} is impossible")]
    Record {
        /// Kind of record.
        what: &'static str,
        /// Which one, from 0.
        number: usize,
    },
}

impl IndexError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAnIndex => None,
            Self::NewerVersion(_) => Some("use the coldstart that made the image, or make the image again"),
            _ => Some("make the image again with `coldstart image make`"),
        }
    }
}

coldstart_hint::hinted!(IndexError);

/// The length of the front part, from the first [`record::HEADER`] bytes.
pub(crate) fn front_length(header: &[u8]) -> Result<u64, IndexError> {
    let mut bytes = Bytes(header);
    if bytes.take(8) != Some(&MAGIC) {
        return Err(IndexError::NotAnIndex);
    }
    match bytes.u32() {
        Some(VERSION) => {}
        Some(version) if version > VERSION => return Err(IndexError::NewerVersion(version)),
        Some(version) => return Err(IndexError::OlderVersion(version)),
        None => return Err(IndexError::NotAnIndex),
    }
    bytes
        .u32()
        .zip(bytes.u64())
        .and_then(|_| bytes.u64())
        .filter(|length| *length <= MOST_FRONT)
        .ok_or(IndexError::Length { found: header.len() as u64, expected: record::HEADER })
}

/// Reads an index from its front part and its originals.
pub(crate) fn decode(front: &[u8], rest: &[u8]) -> Result<Index, IndexError> {
    let (mut index, header) = front_and_header(front)?;
    let (expected_front, expected) = size(&header.counts);
    if expected.checked_sub(expected_front) != Some(rest.len() as u64) {
        let found = (front.len() as u64).saturating_add(rest.len() as u64);
        return Err(IndexError::Length { found, expected });
    }
    if *blake3::hash(rest).as_bytes() != header.rest_digest {
        return Err(IndexError::Damaged("the table of originals"));
    }
    index.originals = originals(rest)?;
    Ok(index)
}

/// Reads an index without its originals, which a start does not need.
pub(crate) fn decode_front(front: &[u8]) -> Result<Index, IndexError> {
    front_and_header(front).map(|(index, _)| index)
}

fn front_and_header(front: &[u8]) -> Result<(Index, Header), IndexError> {
    let wrong_length = |expected| IndexError::Length { found: front.len() as u64, expected };
    let front_length = front_length(front)?;
    if front_length != front.len() as u64 {
        return Err(wrong_length(front_length));
    }
    let header = Header::read(front).ok_or_else(|| wrong_length(record::HEADER))?;
    if crc32fast::hash(front.get(16..).unwrap_or_default()) != header.checksum {
        return Err(IndexError::Damaged("its checksum"));
    }
    let (expected_front, expected) = size(&header.counts);
    if expected_front != front_length || expected != header.length {
        return Err(wrong_length(expected));
    }
    let end = header.hot_start.checked_add(header.hot_length).ok_or(IndexError::Damaged("the hot range"))?;
    let mut index = Index {
        metadata_length: header.metadata_length,
        hot: header.hot_start..end,
        metadata_digest: header.metadata_digest,
        packed: Some(header.packed).filter(|digest| *digest != [0; 16]),
        ..Index::default()
    };
    read_tables(front, &header.counts, &mut index).ok_or_else(|| wrong_length(expected))??;
    Ok((index, header))
}

struct Header {
    checksum: u32,
    length: u64,
    metadata_length: u64,
    hot_start: u64,
    hot_length: u64,
    metadata_digest: Digest,
    rest_digest: Digest,
    counts: Counts,
    packed: [u8; 16],
}

impl Header {
    fn read(front: &[u8]) -> Option<Self> {
        let mut bytes = Bytes(front.get(8..usize::try_from(record::HEADER).ok()?)?);
        let _version = bytes.u32()?;
        let checksum = bytes.u32()?;
        let length = bytes.u64()?;
        let _front_length = bytes.u64()?;
        let (metadata_length, hot_start, hot_length) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let (metadata_digest, rest_digest) = (bytes.digest()?, bytes.digest()?);
        let (programs, trees, files) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
        let (runs, originals, names) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
        let packed = bytes.take(16)?.first_chunk().copied()?;
        let counts = Counts { programs, trees, files, runs, originals, names, outside: bytes.u32()? };
        Some(Self {
            checksum,
            length,
            metadata_length,
            hot_start,
            hot_length,
            metadata_digest,
            rest_digest,
            counts,
            packed,
        })
    }
}

/// `None` where the bytes end too early, which the lengths have excluded.
fn read_tables(front: &[u8], counts: &Counts, index: &mut Index) -> Option<Result<(), IndexError>> {
    let mut bytes = Bytes(front.get(usize::try_from(record::HEADER).ok()?..)?);
    let lengths = |count: u32, bytes: &mut Bytes| (0..count).map(|_| bytes.u32()).collect::<Option<Vec<u32>>>();
    let programs = (0..counts.programs).map(|_| bytes.u32().zip(bytes.u32())).collect::<Option<Vec<(u32, u32)>>>()?;
    let trees = lengths(counts.trees, &mut bytes)?;
    let mut files = Vec::new();
    for _ in 0..counts.files {
        let (number, length, _) = (bytes.u64()?, bytes.u32()?, bytes.u32()?);
        let (inode, changed) = (bytes.u64()?, bytes.u64()?.cast_signed());
        let identity = FileIdentity { size: bytes.u64()?, modified: bytes.u64()?.cast_signed() };
        files.push((number, length, identity, (inode != 0).then_some(Origin { inode, changed })));
    }
    for number in 0..counts.runs {
        let run = HotPages {
            programs: bytes.u64()?,
            file: bytes.u32()?,
            start: bytes.u32()?,
            pages: bytes.u32()?,
            packed: bytes.u32()?,
        };
        let fits = run.start.checked_add(run.pages).is_some() && run.pages > 0 && run.file < counts.files;
        if !fits {
            return Some(Err(IndexError::Record { what: "run", number: number as usize }));
        }
        index.runs.push(run);
    }
    // The lengths of names and plans are not covered by the counts.
    let mut name = |length: u32| bytes.take(usize::try_from(length).ok()?).map(<[u8]>::to_vec);
    for (number, &(length, _)) in programs.iter().enumerate() {
        match name(length) {
            Some(name) => index.programs.push(OsString::from_vec(name)),
            None => return Some(Err(IndexError::Record { what: "program", number })),
        }
    }
    for (number, length) in trees.into_iter().enumerate() {
        match name(length) {
            Some(name) => index.trees.push(PathBuf::from(OsString::from_vec(name))),
            None => return Some(Err(IndexError::Record { what: "tree", number })),
        }
    }
    for (number, (inode, length, identity, origin)) in files.into_iter().enumerate() {
        match name(length) {
            Some(name) => {
                let path = PathBuf::from(OsString::from_vec(name));
                index.files.push(HotFile { number: inode, path, identity, origin });
            }
            None => return Some(Err(IndexError::Record { what: "hot file", number })),
        }
    }
    for (number, (_, length)) in programs.into_iter().enumerate() {
        match name(length) {
            Some(plan) => index.outside.push(plan),
            None => return Some(Err(IndexError::Record { what: "plan", number })),
        }
    }
    match bytes.0 {
        [] => Some(Ok(())),
        _ => Some(Err(IndexError::Damaged("the length of its names"))),
    }
}

fn originals(rest: &[u8]) -> Result<Vec<Original>, IndexError> {
    let mut bytes = Bytes(rest);
    let mut originals: Vec<Original> =
        Vec::with_capacity(rest.len().checked_div(record::ORIGINAL as usize).unwrap_or(0));
    while let Some(number) = bytes.u64() {
        let broken = IndexError::Record { what: "original", number: originals.len() };
        let (Some(size), Some(modified), Some(digest)) = (bytes.u64(), bytes.u64(), bytes.digest()) else {
            return Err(broken);
        };
        if originals.last().is_some_and(|last| last.number >= number) {
            return Err(broken);
        }
        let identity = FileIdentity { size, modified: modified.cast_signed() };
        originals.push(Original { number, identity, digest });
    }
    Ok(originals)
}

/// Bytes that are taken from the front.
struct Bytes<'bytes>(&'bytes [u8]);

impl<'bytes> Bytes<'bytes> {
    fn take(&mut self, length: usize) -> Option<&'bytes [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().copied().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().copied().map(u64::from_le_bytes)
    }

    fn digest(&mut self) -> Option<Digest> {
        self.take(32)?.first_chunk().copied()
    }
}
