//! First calls of functions: breakpoints in memory that are met once.
//!
//! A breakpoint in the middle of an instruction would silently make another program of it: who arms them proves each to be the
//! beginning of one. They are written over the mapped code, of which the kernel makes a private copy; the file never changes.

use std::cell::RefCell;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use coldstart_sys::tracing::Registers;

use super::super::note::NoteKind;
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

/// The file behind a process's descriptor.
pub(super) fn file_behind(process: u32, descriptor: i32) -> Option<FileKey> {
    let metadata = std::fs::metadata(format!("/proc/{process}/fd/{descriptor}")).ok()?;
    let device = u64::from(rustix::fs::major(metadata.dev())) << 20 | u64::from(rustix::fs::minor(metadata.dev()));
    Some(FileKey { device, inode: metadata.ino() })
}

impl Follower<'_> {
    /// Writes breakpoints over the functions of a file in a mapped range, unless they were met already.
    pub(super) fn arm(&self, space: &mut Space, file: FileKey, address: u64, length: u64, offset: u64) {
        let Some(offsets) = self.options.functions.files.get(&file) else { return };
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

    /// Whether a SIGTRAP came from one of them; it is taken away then.
    pub(super) fn function_called(
        &mut self,
        thread: u32,
        space: &Rc<RefCell<Space>>,
        mut registers: Registers,
        at: u64,
    ) -> std::io::Result<bool> {
        let address = registers.instruction_pointer().wrapping_sub(1);
        let (file, offset) = {
            let mut space = space.borrow_mut();
            let space = &mut *space;
            let Some(breakpoint) = space.breakpoints.get_mut(&address) else { return Ok(false) };
            // Two threads may meet it at once; the second finds it taken away already.
            if breakpoint.is_armed
                && let Some(memory) = &space.memory
            {
                memory.write(address, &[breakpoint.original])?;
                breakpoint.is_armed = false;
            }
            (breakpoint.file, breakpoint.offset)
        };
        registers.set_instruction_pointer(address);
        self.tracer.set_registers(thread, &registers)?;
        if self.met.insert((file, offset)) {
            self.note(thread, at, NoteKind::Function { address });
        }
        Ok(true)
    }
}
