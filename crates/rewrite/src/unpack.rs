//! Undoing an edit: the original, byte for byte, from our note.

use coldstart_elf::{ElfFile, FileOffset, FileSpan, Position, RelocationForm, RelrTable, Tag, Vaddr};
use serde::Serialize;

use crate::anatomy::relative_kind;
use crate::changed::Change;
use crate::layout::{part, word_bytes};
use crate::note::identity::{Identity, digest, identify};
use crate::note::{self, About};
use crate::payload::Payload;
use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch, end_of};
use crate::undo::{Held, Origin, Step, Undo, changed, decode};
use coldstart_prove::Source;

/// Runs of zeros from this size on become a hole instead of bytes in memory.
const LARGE: u64 = 1 << 16;

/// How to restore an original.
#[derive(Clone, Debug)]
pub struct UnpackPlan {
    /// The original's script.
    pub script: Script,
    /// Size of the original in bytes.
    pub size: u64,
    /// BLAKE3 of the original.
    pub digest: [u8; 32],
    /// Data appended to the rewritten file, kept after the original.
    pub payload: Option<Payload>,
    /// The edits.
    pub about: About,
}

/// What to do with a file that was changed after it was rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChangedFile {
    /// Refuse it.
    #[default]
    Refuse,
    /// Keep appended bytes after the original; refuse other changes.
    KeepPayload,
    /// Restore the original, if possible, and drop the changes.
    Discard,
}

/// The verified properties of a restored file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Restored {
    /// Size of the file in bytes.
    pub size: u64,
    /// BLAKE3 of its content in hexadecimal, the same as the original's.
    pub blake3: String,
}

impl UnpackPlan {
    /// The original in memory, verified by its digest; `rewritten` is the file that was planned for.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn restore(&self, rewritten: &[u8]) -> Result<Vec<u8>, Refusal> {
        let restored = self.script.to_vec(rewritten).map_err(|error| Refusal::CannotUndo(error.to_string()))?;
        self.check(Source::in_memory(&restored))?;
        Ok(restored)
    }

    /// Verifies the restored file, with the data kept after it.
    ///
    /// # Errors
    /// [`Refusal::CannotUndo`] if it differs.
    pub fn check(&self, restored: Source<'_>) -> Result<Restored, Refusal> {
        let wrong = || Refusal::CannotUndo("the restored file differs from the original".to_owned());
        let original = part(restored.bytes, FileSpan::first(self.size)).ok_or_else(wrong)?;
        let digest = digest(original, restored.release);
        if digest != self.digest || !self.fits(restored.bytes.get(original.len()..)) {
            return Err(wrong());
        }
        Ok(Restored { size: self.size, blake3: blake3::Hash::from_bytes(digest).to_hex().to_string() })
    }

    /// Whether this is what is to be after the original.
    fn fits(&self, behind: Option<&[u8]>) -> bool {
        let (Some(behind), Some(payload)) = (behind, &self.payload) else { return behind == Some(&[]) };
        let gap = payload.to.since(FileOffset(self.size)).ok().and_then(|gap| usize::try_from(gap).ok());
        let Some((gap, kept)) = gap.and_then(|gap| behind.split_at_checked(gap)) else { return false };
        gap.iter().all(|byte| *byte == 0) && digest(kept, &|_| {}) == payload.digest
    }
}

/// Plans the restoration of the file before our edit. `changed` says what to do if it was changed since.
///
/// # Errors
/// If the file has no note of ours, or one without undo data, or is not the one that we wrote.
pub fn plan_unpack(file: &ElfFile<'_>, changed: ChangedFile) -> Result<UnpackPlan, Refusal> {
    let appended_at = match (identify(file).ok_or(Refusal::NotOurs)?, changed) {
        (Identity::Intact, _) => None,
        (Identity::Unrecorded, _) => return Err(Refusal::Unrecorded),
        (Identity::Changed { change: Change::Appended { size_before, .. } }, ChangedFile::KeepPayload) => {
            Some(size_before)
        }
        (Identity::Changed { change: Change::Appended { .. } | Change::Edited { .. } }, ChangedFile::Discard) => None,
        (Identity::Changed { change }, _) => return Err(Refusal::ChangedSince(change)),
    };
    let note = note::read(file).ok_or(Refusal::NotOurs)?;
    let content = note.undo.ok_or(Refusal::NoWayBack(note.about.way_back))?;
    let undo = decode(content).map_err(|problem| Refusal::CannotUndo(problem.to_owned()))?;
    let mut restorer = Restorer::new(file, &undo)?;
    let mut pieces = restorer.pieces(&undo)?;
    let patches = restorer.patches(&undo)?;
    let end = FileOffset(undo.size);
    if end_of(&pieces) != Ok(end) {
        return Err(misfit());
    }
    let payload = appended_at.map(|from| Payload::place(file.bytes(), FileOffset(from), undo.size)).transpose()?;
    if let Some(payload) = &payload {
        pieces.push(Piece::Hole(payload.to.since(end)?));
        pieces.push(Piece::Copy(FileSpan::between(payload.from, FileOffset(file.size()))?));
    }
    let script = Script::new(file.encoding(), pieces, patches)?;
    Ok(UnpackPlan { script, size: undo.size, digest: undo.digest, payload, about: note.about })
}

fn misfit() -> Refusal {
    Refusal::CannotUndo("its steps do not match the file".to_owned())
}

struct Restorer<'file, 'data> {
    file: &'file ElfFile<'data>,
    /// The words that RELR relocates, in the order of the old records.
    addresses: Vec<Vaddr>,
    /// Number of records restored so far.
    told: usize,
    /// The words among them of records with symbols.
    bound: Vec<Vaddr>,
    /// Format of the table, if the dynamic table has it.
    form: Option<RelocationForm>,
}

/// The words that a stub applies, without the zero at their end.
fn words_of_stub<'data>(file: &ElfFile<'data>) -> Option<RelrTable<'data>> {
    let header = &file.section(".coldstart.words")?.header;
    let words = file.section_bytes(header).ok()?;
    let size = usize::try_from(file.encoding().word_size()).ok()?;
    Some(RelrTable::new(words.get(..words.len().checked_sub(size)?)?, header.offset, file.encoding()))
}

impl<'file, 'data> Restorer<'file, 'data> {
    fn new(file: &'file ElfFile<'data>, undo: &Undo) -> Result<Self, Refusal> {
        let dynamic = file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
        let relr = file.dynamic_relocations(&dynamic)?.relr.or_else(|| words_of_stub(file));
        let form = match (dynamic.get(Tag::REL), dynamic.get(Tag::RELA)) {
            (Some(_), None) => Some(RelocationForm::Rel),
            (None, Some(_)) => Some(RelocationForm::Rela),
            _ => None,
        };
        let mut addresses: Vec<Vaddr> = relr.map(|relr| relr.addresses().collect()).unwrap_or_default();
        if !undo.order.is_empty() {
            let in_order = undo.order.iter().map(|number| addresses.get(*number as usize).copied());
            addresses = in_order.collect::<Option<_>>().ok_or_else(misfit)?;
        }
        Ok(Self { file, addresses, told: 0, bound: Vec::new(), form })
    }

    fn pieces(&mut self, undo: &Undo) -> Result<Vec<Piece>, Refusal> {
        let mut pieces = Vec::with_capacity(undo.steps.len());
        for step in &undo.steps {
            pieces.push(match step {
                Step::Copy(range) if range.end().0 <= self.file.size() => Piece::Copy(*range),
                Step::Copy(_) => return Err(misfit()),
                Step::Changed(place, differences) => {
                    let place = match place {
                        Origin::At(place) => *place,
                        Origin::SectionHeaders => self.file.header().sections_offset,
                    };
                    let rest = usize::try_from(place.0).ok().and_then(|place| self.file.bytes().get(place..));
                    let rest = rest.ok_or_else(misfit)?;
                    let new = rest.get(..differences.len()).unwrap_or(rest);
                    Piece::Bytes(changed(new, differences))
                }
                Step::Bytes(bytes) => Piece::Bytes(bytes.clone()),
                Step::Zeros(size) if *size >= LARGE => Piece::Hole(*size),
                Step::Zeros(size) => Piece::Bytes(vec![0; *size as usize]),
                Step::Relatives(count) => Piece::Bytes(self.records(*count)?),
                Step::Bound(kind, symbols) => Piece::Bytes(self.bound_records(*kind, symbols)?),
            });
        }
        Ok(pieces)
    }

    /// The format and type of the architecture's relative relocations; the table itself may have been removed with
    /// its last record.
    fn kind(&self) -> Result<(RelocationForm, u32), Refusal> {
        let (form, kind) = relative_kind(self.file.encoding().machine)?;
        Ok((self.form.unwrap_or(form), kind))
    }

    /// The words of the next records.
    fn next(&mut self, count: u64) -> Result<&[Vaddr], Refusal> {
        let end = usize::try_from(count).ok().and_then(|count| self.told.checked_add(count)).ok_or_else(misfit)?;
        let start = std::mem::replace(&mut self.told, end);
        self.addresses.get(start..end).ok_or_else(misfit)
    }

    /// The next records of relative relocations.
    fn records(&mut self, count: u64) -> Result<Vec<u8>, Refusal> {
        let (form, kind) = self.kind()?;
        let file = self.file;
        let encoding = file.encoding();
        let mut bytes = Vec::new();
        for address in self.next(count)? {
            bytes.extend(word_bytes(encoding, address.0));
            bytes.extend(word_bytes(encoding, kind.into()));
            if form == RelocationForm::Rela {
                bytes.extend(file.memory_bytes("a relocated word", *address, encoding.word_size())?);
            }
        }
        Ok(bytes)
    }

    /// The next records with symbols, in the type `kind`. The addend is what the word has in addition to the value of a symbol of the
    /// file's own; with the others, which pure virtual functions have, it is 0.
    fn bound_records(&mut self, kind: u32, symbols: &[u32]) -> Result<Vec<u8>, Refusal> {
        let (form, _) = self.kind()?;
        let file = self.file;
        let encoding = file.encoding();
        let dynamic = file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
        let table = file.dynamic_symbols(&dynamic)?;
        let shift = if encoding.word_size() == 4 { 8 } else { 32 };
        let addresses = self.next(symbols.len() as u64)?.to_vec();
        let mut bytes = Vec::new();
        for (address, number) in addresses.iter().zip(symbols) {
            bytes.extend(word_bytes(encoding, address.0));
            bytes.extend(word_bytes(encoding, (u64::from(*number) << shift) | u64::from(kind)));
            if form == RelocationForm::Rela {
                let word = file.memory_bytes("a relocated word", *address, encoding.word_size())?;
                let word = encoding.word(word).ok_or_else(misfit)?;
                let symbol = table.get(*number).ok_or_else(misfit)?;
                let addend = if symbol.is_defined() { word.wrapping_sub(symbol.value.0) } else { 0 };
                bytes.extend(word_bytes(encoding, addend));
            }
        }
        self.bound.extend(addresses);
        Ok(bytes)
    }

    /// The words with their old values: the listed ones, and those whose value follows from their kind.
    fn patches(&self, undo: &Undo) -> Result<Vec<WordPatch>, Refusal> {
        let mut patches = undo.words.clone();
        let zeros = if undo.held == Held::Zeros { &self.addresses } else { &self.bound };
        for address in zeros {
            let at = self.file.offset_of(*address).ok_or_else(misfit)?;
            if undo.words.binary_search_by_key(&at, |word| word.at).is_err() {
                patches.push(WordPatch { at, value: 0 });
            }
        }
        patches.sort_by_key(|patch| patch.at);
        Ok(patches)
    }
}
