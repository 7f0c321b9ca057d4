//! First calls of functions: breakpoints in memory that are met once.
//!
//! A breakpoint in the middle of an instruction would silently make another program of it: who arms them proves each to be the
//! beginning of one. They are written over the mapped code, of which the kernel makes a private copy; the file never changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_sys::tracing::Registers;

use super::Follower;
use super::space::{MemoryBreakpoint, Space};

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

pub(super) fn is_code(protection: u64) -> bool {
    protection & PROT_EXEC != 0
}

impl Follower<'_> {
    /// Writes breakpoints over the functions of a file in a mapped range, unless they were met already.
    pub(super) fn arm(&self, space: &mut Space, file: FileKey, address: u64, length: u64, offset: u64) {
        let Some(offsets) = self.options.functions.files.get(&file).filter(|_| !space.handles_trap) else { return };
        let end = offset.saturating_add(length);
        let from = offsets.partition_point(|&place| place < offset);
        let to = offsets.partition_point(|&place| place < end);
        let wanted = offsets.get(from..to).unwrap_or_default();
        for page in wanted.chunk_by(|one, other| one / PAGE == other / PAGE) {
            let Some(first) = page.first() else { continue };
            let page_at = address.wrapping_add((first / PAGE * PAGE).wrapping_sub(offset));
            let Some(memory) = &space.memory else { return };
            let mut bytes = [0; PAGE as usize];
            if memory.read(page_at, &mut bytes).is_err() {
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
            if memory.write(page_at, &bytes).is_ok() {
                space.breakpoints.extend(armed);
            }
        }
    }

    /// Takes all breakpoints away, as far as they are still there.
    pub(super) fn disarm(&self, thread: u32, space: &mut Space) -> std::io::Result<()> {
        let armed: Vec<(u64, MemoryBreakpoint)> =
            space.breakpoints.iter().filter(|(_, one)| one.is_armed).map(|(&at, &one)| (at, one)).collect();
        for (address, breakpoint) in armed {
            let is_there = space.mapped_at(thread, address) == Some((breakpoint.file, breakpoint.offset));
            if is_there && space.byte(thread, address) == Some(BREAKPOINT) {
                space.set_byte(&self.tracer, thread, address, breakpoint.original)?;
            }
            // Another thread may have met it just now.
            space.breakpoints.insert(address, MemoryBreakpoint { is_armed: false, ..breakpoint });
        }
        Ok(())
    }

    /// Whether a breakpoint instruction that was just executed is one of them; it is taken away then.
    ///
    /// What is known may be out of date: memory may have been unmapped since, and other code, with breakpoints of its own, may stand there.
    pub(super) fn function_called(
        &mut self,
        thread: u32,
        space: &Rc<RefCell<Space>>,
        mut registers: Registers,
        at: u64,
    ) -> std::io::Result<bool> {
        let address = registers.instruction_pointer().wrapping_sub(1);
        let mut space = space.borrow_mut();
        let Some(breakpoint) = space.breakpoints.get(&address).copied() else { return Ok(false) };
        let stands = (breakpoint.file, breakpoint.offset);
        if breakpoint.is_armed && space.mapped_at(thread, address) == Some(stands) {
            space.set_byte(&self.tracer, thread, address, breakpoint.original)?;
        } else if space.byte(thread, address) == Some(BREAKPOINT) {
            space.breakpoints.remove(&address);
            return Ok(false);
        }
        // Else another thread has met it at the same time, and it is taken away already.
        space.breakpoints.insert(address, MemoryBreakpoint { is_armed: false, ..breakpoint });
        drop(space);
        registers.set_instruction_pointer(address);
        self.tracer.set_registers(thread, &registers)?;
        if self.met.insert(stands) {
            self.note(thread, at, NoteKind::Function { address });
        }
        Ok(true)
    }
}
