//! The encoding of the undo data: consecutive LEB128 numbers, deflated.

use std::io::{Read, Write};

use coldstart_elf::{FileOffset, FileSpan};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::{Held, Origin, Step, Undo};
use crate::script::WordPatch;

/// Format version, and that of undo data with bound records, which earlier versions of this program cannot read.
const FORM: u8 = 2;
const FORM_WITH_BOUND: u8 = 3;
/// Limit on the unpacked size, in bytes. Headers and version tables of the largest known files take a few kilobytes.
const MOST: u64 = 64 << 20;

const COPY: u64 = 0;
const CHANGED: u64 = 1;
const BYTES: u64 = 2;
const ZEROS: u64 = 3;
const RELATIVES: u64 = 4;
const BOUND: u64 = 5;
/// Represents the offset of the section headers.
const SECTION_HEADERS: u64 = u64::MAX;

/// The differences that turn `new` into `old`, 8 bytes at a time as little-endian numbers: fields that grew by the same
/// amount give the same bytes, which pack well. What is longer in `old` counts against zeros.
pub(super) fn differences(old: &[u8], new: &[u8]) -> Vec<u8> {
    combine(old, new, u64::wrapping_sub)
}

/// `new` with the differences added.
pub(crate) fn changed(new: &[u8], differences: &[u8]) -> Vec<u8> {
    combine(differences, new, u64::wrapping_add)
}

fn combine(first: &[u8], second: &[u8], operation: fn(u64, u64) -> u64) -> Vec<u8> {
    let mut result = Vec::with_capacity(first.len());
    let mut others = second.chunks(8);
    for chunk in first.chunks(8) {
        let other = others.next().unwrap_or(&[]);
        let value = operation(number(chunk), number(other)).to_le_bytes();
        result.extend(value.iter().take(chunk.len()));
    }
    result
}

fn number(chunk: &[u8]) -> u64 {
    chunk.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// Encodes the note's content; `None` if it exceeds the limit for decoding.
pub(crate) fn encode(undo: &Undo) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    put(&mut plain, undo.size);
    plain.extend(undo.digest);
    put(&mut plain, u64::from(undo.held == Held::Zeros));
    put(&mut plain, undo.order.len() as u64);
    let mut next = 0_u64;
    for number in &undo.order {
        // Unordered tables mostly consist of ordered runs.
        put(&mut plain, zigzag(u64::from(*number).wrapping_sub(next)));
        next = u64::from(*number).wrapping_add(1);
    }
    put(&mut plain, undo.steps.len() as u64);
    let mut copied_to = 0_u64;
    for step in &undo.steps {
        match step {
            Step::Copy(range) => {
                put(&mut plain, COPY);
                // Most copies continue at the end of the last one.
                put(&mut plain, zigzag(range.start().0.wrapping_sub(copied_to)));
                put(&mut plain, range.size());
                copied_to = range.end().0;
            }
            Step::Changed(place, differences) => {
                put(&mut plain, CHANGED);
                let place = match place {
                    Origin::At(place) => place.0,
                    Origin::SectionHeaders => SECTION_HEADERS,
                };
                put(&mut plain, place);
                put(&mut plain, differences.len() as u64);
                plain.extend(differences);
            }
            Step::Bytes(bytes) => {
                put(&mut plain, BYTES);
                put(&mut plain, bytes.len() as u64);
                plain.extend(bytes);
            }
            Step::Zeros(size) => {
                put(&mut plain, ZEROS);
                put(&mut plain, *size);
            }
            Step::Relatives(count) => {
                put(&mut plain, RELATIVES);
                put(&mut plain, *count);
            }
            Step::Bound(kind, symbols) => {
                put(&mut plain, BOUND);
                put(&mut plain, u64::from(*kind));
                put(&mut plain, symbols.len() as u64);
                // Linkers sort these records by their symbols.
                let mut last = 0_u64;
                for symbol in symbols {
                    put(&mut plain, zigzag(u64::from(*symbol).wrapping_sub(last)));
                    last = u64::from(*symbol);
                }
            }
        }
    }
    put(&mut plain, undo.words.len() as u64);
    let mut last = 0_u64;
    for word in &undo.words {
        put(&mut plain, word.at.0.wrapping_sub(last));
        put(&mut plain, word.value);
        last = word.at.0;
    }
    if plain.len() as u64 > MOST {
        return None;
    }
    let has_bound = undo.steps.iter().any(|step| matches!(step, Step::Bound(..)));
    let form = if has_bound { FORM_WITH_BOUND } else { FORM };
    let mut encoder = DeflateEncoder::new(vec![form], Compression::best());
    // Writing to memory does not fail.
    let _ = encoder.write_all(&plain);
    encoder.finish().ok()
}

/// Decodes a note's content; the error is the reason.
pub(crate) fn decode(content: &[u8]) -> Result<Undo, &'static str> {
    let (form, packed) = content.split_first().ok_or("empty")?;
    if ![FORM, FORM_WITH_BOUND].contains(form) {
        return Err("unknown version");
    }
    let mut plain = Vec::new();
    let unpacked = DeflateDecoder::new(packed).take(MOST).read_to_end(&mut plain);
    unpacked.map_err(|_| "it cannot be decompressed")?;
    let mut reader = Reader(&plain);
    reader.undo().ok_or("truncated or damaged")
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn undo(&mut self) -> Option<Undo> {
        let size = self.number()?;
        let digest = self.bytes(32)?.try_into().ok()?;
        let held = if self.number()? == 0 { Held::Same } else { Held::Zeros };
        let mut order = Vec::new();
        let mut next = 0_u64;
        for _ in 0..self.number()? {
            let number = u32::try_from(next.wrapping_add(unzigzag(self.number()?))).ok()?;
            order.push(number);
            next = u64::from(number).wrapping_add(1);
        }
        let mut steps = Vec::new();
        let mut copied_to = 0;
        for _ in 0..self.number()? {
            steps.push(self.step(&mut copied_to)?);
        }
        let mut words = Vec::new();
        let mut last = 0_u64;
        for _ in 0..self.number()? {
            last = last.wrapping_add(self.number()?);
            words.push(WordPatch { at: FileOffset(last), value: self.number()? });
        }
        Some(Undo { size, digest, held, order, steps, words })
    }

    fn step(&mut self, copied_to: &mut u64) -> Option<Step> {
        Some(match self.number()? {
            COPY => {
                let start = copied_to.wrapping_add(unzigzag(self.number()?));
                let range = FileSpan::new(FileOffset(start), self.number()?).ok()?;
                *copied_to = range.end().0;
                Step::Copy(range)
            }
            CHANGED => {
                let place = origin(self.number()?);
                let size = self.number()?;
                Step::Changed(place, self.bytes(size)?.to_vec())
            }
            BYTES => {
                let size = self.number()?;
                Step::Bytes(self.bytes(size)?.to_vec())
            }
            ZEROS => Step::Zeros(self.number()?),
            RELATIVES => Step::Relatives(self.number()?),
            BOUND => {
                let kind = u32::try_from(self.number()?).ok()?;
                let mut symbols = Vec::new();
                let mut last = 0_u64;
                for _ in 0..self.number()? {
                    last = last.wrapping_add(unzigzag(self.number()?));
                    symbols.push(u32::try_from(last).ok()?);
                }
                Step::Bound(kind, symbols)
            }
            _ => return None,
        })
    }

    fn bytes(&mut self, size: u64) -> Option<&[u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(size).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes(1)?.first()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }
}

fn origin(number: u64) -> Origin {
    if number == SECTION_HEADERS { Origin::SectionHeaders } else { Origin::At(FileOffset(number)) }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Zigzag encoding.
fn zigzag(distance: u64) -> u64 {
    let distance = distance as i64;
    ((distance << 1) ^ (distance >> 63)) as u64
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (any::<u32>(), any::<u32>())
                .prop_map(|(start, size)| Step::Copy(FileSpan::new(FileOffset(start.into()), size.into()).unwrap())),
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..40))
                .prop_map(|(place, bytes)| Step::Changed(origin(place), bytes)),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(Step::Bytes),
            any::<u64>().prop_map(Step::Zeros),
            any::<u64>().prop_map(Step::Relatives),
            (any::<u32>(), proptest::collection::vec(any::<u32>(), 0..20))
                .prop_map(|(kind, symbols)| Step::Bound(kind, symbols)),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            size: u64,
            digest: [u8; 32],
            zeros: bool,
            order in proptest::collection::vec(any::<u32>(), 0..20),
            steps in proptest::collection::vec(step(), 0..20),
            words in proptest::collection::vec(any::<(u64, u64)>(), 0..20),
        ) {
            let words = words.into_iter().map(|(at, value)| WordPatch { at: FileOffset(at), value }).collect();
            let undo = Undo { size, digest, held: if zeros { Held::Zeros } else { Held::Same }, order, steps, words };
            prop_assert_eq!(decode(&encode(&undo).unwrap()), Ok(undo));
        }

        #[test]
        fn differences_lead_back(old in proptest::collection::vec(any::<u8>(), 0..99), new in proptest::collection::vec(any::<u8>(), 0..99)) {
            prop_assert_eq!(changed(&new, &differences(&old, &new)), old);
        }

        #[test]
        fn damaged_notes_are_errors_or_other_notes(mut content in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&content);
            if let Some(first) = content.first_mut() {
                *first = FORM;
            }
            let _ = decode(&content);
        }
    }
}
