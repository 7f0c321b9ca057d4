//! What is known of the memory of one process, or of several that share it.

use std::collections::HashMap;

use coldstart_profile::trace::PagesSeen;
use coldstart_sys::tracing::{ProcessMappings, ProcessMemory, RemoteCall, Tracer, read_byte};
use coldstart_sys::userfault::FaultAroundSwitch;

use super::functions::FileKey;
use super::image::maps;
use super::initialisers::Slots;

/// Where the loader says that its list changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoaderSign {
    /// `_dl_debug_state`: called at each change.
    pub(super) brk: u64,
    /// `_r_debug`; 0 if only the program's own pointer to it is known.
    pub(super) debug: u64,
}

/// What the second breakpoint stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    ProgramEntry,
    LibcStart,
    Main,
}

/// When an initialiser was called, by the processor's counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct InitialiserCall {
    pub(super) process: u32,
    pub(super) address: u64,
    pub(super) bias: u64,
    pub(super) counter: u64,
}

/// A breakpoint in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryBreakpoint {
    pub(super) original: u8,
    pub(super) is_armed: bool,
    pub(super) file: FileKey,
    pub(super) offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Space {
    pub(super) process: u32,
    pub(super) memory: Option<ProcessMemory>,
    mappings: Option<ProcessMappings>,
    pub(super) is_32_bit: bool,
    pub(super) call: Option<RemoteCall>,
    pub(super) switch: Option<FaultAroundSwitch>,
    /// Whether it was told that some mappings are not seen page by page.
    pub(super) told_shared: bool,
    pub(super) loader: Option<LoaderSign>,
    pub(super) second: Option<(u64, Stage)>,
    /// Its program's `main`, as far as its entry code says.
    pub(super) main: Option<u64>,
    /// The last of the loader's list that is known.
    pub(super) last_linked: Option<u64>,
    pub(super) slots: Slots,
    pub(super) breakpoints: HashMap<u64, MemoryBreakpoint>,
    /// Whether it handles SIGTRAP itself, so that no breakpoints may be put into its memory.
    pub(super) handles_trap: bool,
}

impl Space {
    pub(super) fn new(process: u32) -> Self {
        Self { process, ..Self::default() }
    }

    /// The copy that a fork has: initialisers that were called before are its parent's.
    pub(super) fn forked(&self, process: u32) -> Self {
        // One that was met in the meantime is gone here, but the copy may have been made before.
        let still_armed = |(&at, breakpoint): (&u64, &MemoryBreakpoint)| {
            (at, MemoryBreakpoint { is_armed: breakpoint.is_armed || !self.handles_trap, ..*breakpoint })
        };
        let breakpoints = self.breakpoints.iter().map(still_armed).collect();
        Self {
            process,
            memory: ProcessMemory::open(process).ok(),
            mappings: None,
            is_32_bit: self.is_32_bit,
            call: self.call,
            switch: None,
            told_shared: self.told_shared,
            loader: self.loader,
            second: None,
            main: None,
            last_linked: self.last_linked,
            slots: Slots::default(),
            breakpoints,
            handles_trap: self.handles_trap,
        }
    }

    /// A word of the program's own size.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let memory = self.memory.as_ref()?;
        if self.is_32_bit {
            let mut bytes = [0; 4];
            memory.read(address, &mut bytes).ok()?;
            Some(u64::from(u32::from_ne_bytes(bytes)))
        } else {
            let mut bytes = [0; 8];
            memory.read(address, &mut bytes).ok()?;
            Some(u64::from_ne_bytes(bytes))
        }
    }

    /// The file that is mapped at an address, and what of it stands there. The process's first thread may be gone: the kernel is asked of one
    /// that stands still.
    pub(super) fn mapped_at(&mut self, thread: u32, address: u64) -> Option<(FileKey, u64)> {
        if self.mappings.is_none() {
            self.mappings = ProcessMappings::open(thread).ok();
        }
        match self.mappings.as_ref().and_then(|mappings| mappings.at(address).ok()) {
            Some(mapping) => {
                let mapping = mapping.filter(|mapping| mapping.inode != 0)?;
                Some((FileKey { device: mapping.device, inode: mapping.inode }, mapping.offset))
            }
            // Before Linux 6.11 the kernel cannot be asked about one address.
            None => {
                let line = maps(thread).into_iter().find(|line| (line.start..line.end).contains(&address))?;
                let offset = line.offset.saturating_add(address.saturating_sub(line.start));
                (line.inode != 0).then_some((FileKey::of(&line), offset))
            }
        }
    }

    /// A byte of a stopped thread's memory; `None` where nothing is mapped. Through the open memory, if there is one: that takes half the time.
    pub(super) fn byte(&self, thread: u32, address: u64) -> Option<u8> {
        let Some(memory) = &self.memory else { return read_byte(thread, address) };
        let mut byte = [0];
        memory.read(address, &mut byte).ok()?;
        let [byte] = byte;
        Some(byte)
    }

    /// Writes a byte over a stopped thread's memory.
    pub(super) fn set_byte(&self, tracer: &Tracer, thread: u32, address: u64, byte: u8) -> std::io::Result<()> {
        match &self.memory {
            Some(memory) => memory.write(address, &[byte]),
            None => tracer.write_byte(thread, address, byte),
        }
    }

    /// In bytes.
    pub(super) fn word_size(&self) -> u64 {
        if self.is_32_bit { 4 } else { 8 }
    }

    /// Whether its stages are met by breakpoints.
    pub(super) fn is_watched(&self) -> bool {
        self.loader.is_some() || self.second.is_some()
    }

    pub(super) fn pages(&self) -> PagesSeen {
        if self.switch.is_some() { PagesSeen::Each } else { PagesSeen::FaultAround }
    }
}
