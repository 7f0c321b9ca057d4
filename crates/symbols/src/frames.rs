//! The unwind tables (`.eh_frame`), read completely: the code range of each entry.
//!
//! `coldstart_elf::UnwindTable` looks up one address; here all entries are needed, of files with hundreds of
//! thousands, so they are read in one pass and only their ranges are kept. What a newcomer would not guess: the entry
//! of a signal trampoline begins one byte *before* the code, in the middle of padding, because unwinders look one
//! byte before a return address (glibc `sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c`). Such entries are marked by
//! an `S` in their common part.
//!
//! LSB Core, "Exception Frames".

use std::collections::HashMap;

use coldstart_elf::{ElfFile, Encoding, UnwindTable, Vaddr};

/// Bytes of the longest list of what an entry holds besides. All letters there are (`zPLRSBG`) are fewer.
const LONGEST_AUGMENTATION: usize = 16;

/// All unwind entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frames {
    /// Where the tables begin.
    pub(super) address: u64,
    /// Their size in bytes, as far as they can be read.
    pub(super) size: u64,
    /// The entries with a size, ascending by start.
    pub(super) list: Vec<Frame>,
}

/// The code range of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frame {
    /// First address, without load bias.
    pub(super) start: u64,
    /// End of the range (exclusive).
    pub(super) end: u64,
    /// Whether it is for code that the kernel returns to: its start is not an instruction.
    pub(super) is_signal: bool,
}

/// The common part of entries (a common information entry).
#[derive(Clone, Copy, Debug)]
struct Common {
    form: u8,
    is_signal: bool,
}

impl Frames {
    /// Reads them; `None` where there are none. What is malformed ends the reading, or is left out.
    pub(super) fn read(file: &ElfFile<'_>) -> Option<Self> {
        let address = UnwindTable::parse(file).ok()??.address();
        let bytes = file.memory_from(address)?;
        let section = file.section(".eh_frame").filter(|section| section.header.address == address);
        let size = section.and_then(|section| usize::try_from(section.header.file_size()).ok());
        // Without a section a zero is the end; with one, there may be more after it.
        let reader = Reader {
            bytes: size.and_then(|size| bytes.get(..size)).unwrap_or(bytes),
            address,
            encoding: file.encoding(),
        };
        Some(reader.read(size.is_some()))
    }

    /// The entry with the nearest start at or below an address, if it contains the address.
    pub(super) fn at(&self, address: u64) -> Option<Frame> {
        let behind = self.list.partition_point(|frame| frame.start <= address);
        self.list.get(behind.checked_sub(1)?).copied().filter(|frame| address < frame.end)
    }
}

struct Reader<'data> {
    bytes: &'data [u8],
    address: Vaddr,
    encoding: Encoding,
}

impl Reader<'_> {
    fn read(&self, passes_zeros: bool) -> Frames {
        let mut list = Vec::new();
        let mut shared: HashMap<usize, Option<Common>> = HashMap::new();
        let mut last: Option<(usize, Option<Common>)> = None;
        let mut at = 0_usize;
        while let Some(length) = self.bytes.get(at..).and_then(|bytes| self.encoding.u32(bytes)) {
            let body = at.saturating_add(4);
            if length == 0 {
                at = body;
                if passes_zeros { continue } else { break }
            }
            // The form for entries of more than 4 GiB is not in use, and its length stands elsewhere.
            let Some(end) = usize::try_from(length).ok().and_then(|length| body.checked_add(length)) else { break };
            if length == u32::MAX || end > self.bytes.len() {
                break;
            }
            at = end;
            let Some(distance) = self.bytes.get(body..end).and_then(|bytes| self.encoding.u32(bytes)) else { continue };
            // 0 marks what entries share; else it is the way back to it.
            let Some(common_at) = usize::try_from(distance)
                .ok()
                .filter(|distance| *distance > 0)
                .and_then(|distance| body.checked_sub(distance))
            else {
                continue;
            };
            let common = match last {
                Some((known_at, known)) if known_at == common_at => known,
                _ => *shared.entry(common_at).or_insert_with(|| self.common(common_at)),
            };
            last = Some((common_at, common));
            list.extend(common.and_then(|common| self.frame(common, body.saturating_add(4), end)));
        }
        // Nearly in order already, which the stable sort makes use of.
        list.sort();
        Frames { address: self.address.0, size: at as u64, list }
    }

    fn frame(&self, common: Common, at: usize, end: usize) -> Option<Frame> {
        let bytes = self.bytes.get(at..end)?;
        let (start, used) = value(common.form, bytes, self.encoding)?;
        let (length, _) = value(common.form & 0x07, bytes.get(used..)?, self.encoding)?;
        let base = match common.form & 0xf0 {
            // absptr and pcrel; others need addresses that are known at run time only.
            0x00 => 0,
            0x10 => self.address.0.wrapping_add(at as u64),
            _ => return None,
        };
        let mask = if self.encoding.word_size() == 4 { u64::from(u32::MAX) } else { u64::MAX };
        let start = base.wrapping_add(start) & mask;
        let end = start.checked_add(length)?;
        (start < end).then_some(Frame { start, end, is_signal: common.is_signal })
    }

    /// The common information entry at `at`.
    fn common(&self, at: usize) -> Option<Common> {
        let length = usize::try_from(self.encoding.u32(self.bytes.get(at..)?)?).ok()?;
        let body = at.checked_add(4)?;
        let bytes = self.bytes.get(body..body.checked_add(length)?)?;
        if self.encoding.u32(bytes)? != 0 {
            return None;
        }
        let version = *bytes.get(4)?;
        // A few letters; a hostile file could make each reading long.
        let letters = bytes.get(5..)?;
        let augmentation = letters.get(..LONGEST_AUGMENTATION).unwrap_or(letters).split(|byte| *byte == 0).next()?;
        let mut rest = bytes.get(5_usize.checked_add(augmentation.len())?.checked_add(1)?..)?;
        if augmentation.is_empty() {
            return Some(Common { form: 0, is_signal: false });
        }
        let letters = augmentation.strip_prefix(b"z")?;
        // Factors of code and data, the register of the return address, the length of what follows.
        skip_leb(&mut rest)?;
        skip_leb(&mut rest)?;
        if version == 1 {
            rest = rest.get(1..)?
        } else {
            skip_leb(&mut rest)?
        }
        skip_leb(&mut rest)?;
        let mut common = Common { form: 0, is_signal: false };
        for letter in letters {
            match letter {
                b'R' => (common.form, rest) = rest.split_first().map(|(form, rest)| (*form, rest))?,
                b'L' => rest = rest.get(1..)?,
                b'P' => {
                    let (form, behind) = rest.split_first()?;
                    let (_, used) = value(form & 0x0f, behind, self.encoding)?;
                    rest = behind.get(used..)?;
                }
                b'S' => common.is_signal = true,
                // AArch64: return addresses are signed with key B; memory is tagged.
                b'B' | b'G' => {}
                _ => return None,
            }
        }
        Some(common)
    }
}

fn skip_leb(bytes: &mut &[u8]) -> Option<()> {
    let end = bytes.iter().position(|byte| byte & 0x80 == 0)?;
    *bytes = bytes.get(end.checked_add(1)?..)?;
    Some(())
}

/// The number in this form (`DW_EH_PE_*`) and the bytes it takes; negative ones as two's complement.
fn value(form: u8, bytes: &[u8], encoding: Encoding) -> Option<(u64, usize)> {
    Some(match form & 0x0f {
        0x00 => (encoding.word(bytes)?, usize::try_from(encoding.word_size()).ok()?),
        0x02 => (u64::from(encoding.u16(bytes)?), 2),
        0x0a => (i64::from(encoding.u16(bytes)? as i16) as u64, 2),
        0x03 => (u64::from(encoding.u32(bytes)?), 4),
        0x0b => (i64::from(encoding.u32(bytes)? as i32) as u64, 4),
        0x04 | 0x0c => {
            let bytes = bytes.first_chunk::<8>()?;
            let value = match encoding.byte_order {
                coldstart_elf::ByteOrder::Little => u64::from_le_bytes(*bytes),
                coldstart_elf::ByteOrder::Big => u64::from_be_bytes(*bytes),
            };
            (value, 8)
        }
        _ => return None,
    })
}
