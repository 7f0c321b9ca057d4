//! First calls of functions: breakpoints in memory, removed at the first hit.
//!
//! A breakpoint in the middle of an instruction would silently change the program: the caller proves each to be the
//! beginning of one. They are written over the mapped code, of which the kernel makes a private copy; the file never changes.

use std::collections::{HashMap, HashSet};

use coldstart_analyse::NoteKind;
use coldstart_host::process::Mapping;
use coldstart_sys::tracing::Registers;

use super::memory::Memory;
use super::standing::Standing;

const PAGE: u64 = 4096;
const BREAKPOINT: u8 = 0xcc;
const PROT_EXEC: u64 = 4;

/// A file by its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in super::super) struct FileKey {
    /// `major << 20 | minor`.
    pub(in super::super) device: u64,
    pub(in super::super) inode: u64,
}

impl FileKey {
    /// Of the file that is mapped.
    pub(super) fn of(mapping: &Mapping) -> Self {
        Self { device: mapping.device.to_kernel(), inode: mapping.inode }
    }
}

/// Files and the places in them, in bytes and ascending, where functions begin.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct ArmedFunctions {
    files: HashMap<FileKey, Vec<u64>>,
}

impl ArmedFunctions {
    /// Adds a file's functions.
    pub(in super::super) fn add(&mut self, file: FileKey, mut offsets: Vec<u64>) {
        offsets.sort_unstable();
        offsets.dedup();
        if !offsets.is_empty() {
            self.files.insert(file, offsets);
        }
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}

/// A breakpoint in memory.
#[derive(Clone, Copy, Debug)]
struct MemoryBreakpoint {
    original: u8,
    is_armed: bool,
    file: FileKey,
    offset: u64,
}

/// Of one memory: its breakpoints by address.
#[derive(Debug, Default)]
pub(super) struct Breakpoints {
    placed: HashMap<u64, MemoryBreakpoint>,
    /// Whether it handles SIGTRAP itself, so that no breakpoints may be put into its memory.
    pub(super) handles_trap: bool,
}

impl Breakpoints {
    /// The copy that a fork has.
    pub(super) fn forked(&self) -> Self {
        // One that was met in the meantime is gone here, but the copy may have been made before.
        let still_armed = |(&at, breakpoint): (&u64, &MemoryBreakpoint)| {
            (at, MemoryBreakpoint { is_armed: breakpoint.is_armed || !self.handles_trap, ..*breakpoint })
        };
        Self { placed: self.placed.iter().map(still_armed).collect(), handles_trap: self.handles_trap }
    }
}

pub(super) fn is_code(protection: u64) -> bool {
    protection & PROT_EXEC != 0
}

/// Detects first calls of functions.
pub(super) struct Functions {
    wanted: ArmedFunctions,
    /// Those already called, in any process.
    met: HashSet<(FileKey, u64)>,
}

impl Functions {
    pub(super) fn new(wanted: ArmedFunctions) -> Self {
        Self { wanted, met: HashSet::new() }
    }

    pub(super) fn are_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Writes breakpoints over the functions of a file in a mapped range, unless they were met already.
    pub(super) fn arm(
        &self,
        memory: &Memory,
        breakpoints: &mut Breakpoints,
        file: FileKey,
        (address, length, offset): (u64, u64, u64),
    ) {
        let Some(offsets) = self.wanted.files.get(&file).filter(|_| !breakpoints.handles_trap) else { return };
        let end = offset.saturating_add(length);
        let from = offsets.partition_point(|&place| place < offset);
        let to = offsets.partition_point(|&place| place < end);
        let wanted = offsets.get(from..to).unwrap_or_default();
        for page in wanted.chunk_by(|one, other| one / PAGE == other / PAGE) {
            let Some(first) = page.first() else { continue };
            let page_at = address.wrapping_add((first / PAGE * PAGE).wrapping_sub(offset));
            let mut bytes = [0; PAGE as usize];
            if memory.read(page_at, &mut bytes).is_none() {
                continue;
            }
            let mut armed = Vec::with_capacity(page.len());
            for &place in page.iter().filter(|&&place| !self.met.contains(&(file, place))) {
                let inside = usize::try_from(place % PAGE).unwrap_or(0);
                let Some(byte) = bytes.get_mut(inside).filter(|byte| **byte != BREAKPOINT) else { continue };
                let breakpoint = MemoryBreakpoint { original: *byte, is_armed: true, file, offset: place };
                *byte = BREAKPOINT;
                armed.push((page_at.wrapping_add(place % PAGE), breakpoint));
            }
            if memory.write(page_at, &bytes).is_some() {
                breakpoints.placed.extend(armed);
            }
        }
    }

    /// Removes all remaining breakpoints.
    pub(super) fn disarm(
        &self,
        standing: &Standing<'_>,
        memory: &mut Memory,
        breakpoints: &mut Breakpoints,
    ) -> std::io::Result<()> {
        let thread = standing.thread;
        let armed: Vec<(u64, MemoryBreakpoint)> =
            breakpoints.placed.iter().filter(|(_, one)| one.is_armed).map(|(&at, &one)| (at, one)).collect();
        for (address, breakpoint) in armed {
            let is_there = memory.mapped_at(thread, address) == Some((breakpoint.file, breakpoint.offset));
            if is_there && memory.byte(thread, address) == Some(BREAKPOINT) {
                memory.set_byte(standing.tracer(), thread, address, breakpoint.original)?;
            }
            // Another thread may have met it just now.
            breakpoints.placed.insert(address, MemoryBreakpoint { is_armed: false, ..breakpoint });
        }
        Ok(())
    }

    /// Whether a breakpoint instruction that was just executed is one of them; it is taken away then.
    ///
    /// What is known may be out of date: memory may have been unmapped since, and other code, with breakpoints of its own, may stand there.
    pub(super) fn called(
        &mut self,
        standing: &Standing<'_>,
        memory: &mut Memory,
        breakpoints: &mut Breakpoints,
        mut registers: Registers,
    ) -> std::io::Result<bool> {
        let thread = standing.thread;
        let address = registers.instruction_pointer().wrapping_sub(1);
        let Some(breakpoint) = breakpoints.placed.get(&address).copied() else { return Ok(false) };
        let stands = (breakpoint.file, breakpoint.offset);
        if breakpoint.is_armed && memory.mapped_at(thread, address) == Some(stands) {
            memory.set_byte(standing.tracer(), thread, address, breakpoint.original)?;
        } else if memory.byte(thread, address) == Some(BREAKPOINT) {
            breakpoints.placed.remove(&address);
            return Ok(false);
        }
        // Else another thread has met it at the same time, and it is taken away already.
        breakpoints.placed.insert(address, MemoryBreakpoint { is_armed: false, ..breakpoint });
        registers.set_instruction_pointer(address);
        standing.tracer().set_registers(thread, &registers)?;
        if self.met.insert(stands) {
            standing.note(NoteKind::Function { address });
        }
        Ok(true)
    }
}
