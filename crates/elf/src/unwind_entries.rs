//! All entries of unwind tables, in one pass.

use std::collections::HashMap;
use std::ops::Range;

use gimli::{BaseAddresses, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice, RunTimeEndian, UnwindSection};

use crate::address::Vaddr;
use crate::encoding::Encoding;

pub(crate) type Reader<'data> = EndianSlice<'data, RunTimeEndian>;
type Common<'data> = CommonInformationEntry<Reader<'data>>;

/// Bytes of the longest list of what an entry holds besides, with the zero at its end. All letters there are (`zPLRSBG`) are fewer.
const LONGEST_AUGMENTATION: usize = 16;

/// An entry of the unwind tables: a function, or a part of one that was moved apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwindEntry {
    /// Its code, without load bias. May be empty: code that the linker dropped.
    pub range: Range<Vaddr>,
    /// Whether it is for code that the kernel returns to. Its range begins one byte *before* the code, in the middle of padding, because unwinders
    /// look one byte before a return address (glibc `sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c`).
    pub is_signal_trampoline: bool,
}

/// Reads all entries, each part that they share once. Each item may be an entry that is malformed: its offset, and why.
pub(crate) struct Entries<'a, 'data> {
    bytes: &'data [u8],
    frames: &'a EhFrame<Reader<'data>>,
    bases: &'a BaseAddresses,
    encoding: Encoding,
    /// Whether a zero is passed over instead of ending the entries.
    passes_zeros: bool,
    /// Bytes read so far.
    at: usize,
    /// Whether nothing more can be found.
    ended: bool,
    shared: HashMap<usize, gimli::Result<Common<'data>>>,
    /// The one used last: entries that share one mostly follow each other.
    last: Option<(usize, Common<'data>)>,
}

impl<'a, 'data> Entries<'a, 'data> {
    pub(crate) fn new(
        bytes: &'data [u8],
        frames: &'a EhFrame<Reader<'data>>,
        bases: &'a BaseAddresses,
        encoding: Encoding,
        passes_zeros: bool,
    ) -> Self {
        Self { bytes, frames, bases, encoding, passes_zeros, at: 0, ended: false, shared: HashMap::new(), last: None }
    }

    /// Bytes of the entries read so far.
    pub(crate) fn size(&self) -> usize {
        self.at
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.encoding.u32(self.bytes.get(at..)?)
    }

    /// The entry at `at`, which is `distance` bytes (from the word behind its length) behind what it shares with others.
    fn entry(&mut self, at: usize, distance: u32) -> gimli::Result<UnwindEntry> {
        let end = || gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(at as u64));
        let common_at = at.saturating_add(4).checked_sub(distance as usize).ok_or_else(end)?;
        let common = self.shared_at(common_at)?;
        let is_signal_trampoline = common.is_signal_trampoline();
        let entry = self.frames.fde_from_offset(self.bases, EhFrameOffset(at), move |_, _, _| Ok(common.clone()))?;
        let start = Vaddr(entry.initial_address());
        // One that reaches past the last address has no code.
        let end = start.checked_add(entry.len()).unwrap_or(start);
        Ok(UnwindEntry { range: start..end, is_signal_trampoline })
    }

    /// What entries share that stands at `at`, read once.
    fn shared_at(&mut self, at: usize) -> gimli::Result<Common<'data>> {
        if let Some((known_at, known)) = &self.last
            && *known_at == at
        {
            return Ok(known.clone());
        }
        let known = match self.shared.get(&at) {
            Some(known) => known.clone(),
            None => {
                let read = self.common(at);
                self.shared.insert(at, read.clone());
                read
            }
        }?;
        self.last = Some((at, known.clone()));
        Ok(known)
    }

    fn common(&self, at: usize) -> gimli::Result<Common<'data>> {
        // A list that ends far away would be read to its end by each of many such entries.
        let augmentation = at.checked_add(9).and_then(|at| self.bytes.get(at..)).unwrap_or_default();
        if !augmentation.iter().take(LONGEST_AUGMENTATION).any(|letter| *letter == 0) {
            return Err(gimli::Error::UnknownAugmentation);
        }
        self.frames.cie_from_offset(self.bases, EhFrameOffset(at))
    }
}

impl Iterator for Entries<'_, '_> {
    type Item = Result<UnwindEntry, (usize, gimli::Error)>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended && self.at < self.bytes.len() {
            let at = self.at;
            let cut_off = gimli::Error::UnexpectedEof(gimli::ReaderOffsetId(at as u64));
            let length = self.u32(at);
            let body = at.saturating_add(4);
            if length == Some(0) {
                self.at = body;
                self.ended = !self.passes_zeros;
                continue;
            }
            // u32::MAX marks the form for entries of more than 4 GiB, which is not in use.
            let end = length.filter(|length| *length < u32::MAX).and_then(|length| body.checked_add(length as usize));
            let Some(end) = end.filter(|end| *end <= self.bytes.len()) else {
                self.ended = true;
                return Some(Err((at, cut_off)));
            };
            self.at = end;
            match self.bytes.get(body..end).and_then(|bytes| self.encoding.u32(bytes)) {
                // What entries share.
                Some(0) => {}
                Some(distance) => return Some(self.entry(at, distance).map_err(|problem| (at, problem))),
                None => return Some(Err((at, cut_off))),
            }
        }
        None
    }
}
