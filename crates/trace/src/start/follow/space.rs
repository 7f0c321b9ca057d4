//! What is known of the memory of one process, or of several that share it.

use std::collections::HashMap;

use coldstart_profile::trace::PagesSeen;
use coldstart_sys::tracing::{ProcessMemory, RemoteCall};
use coldstart_sys::userfault::FaultAroundSwitch;

use super::functions::FileKey;
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
    pub(super) is_32_bit: bool,
    pub(super) call: Option<RemoteCall>,
    pub(super) switch: Option<FaultAroundSwitch>,
    /// Whether it was told that some mappings are not seen page by page.
    pub(super) told_shared: bool,
    pub(super) loader: Option<LoaderSign>,
    pub(super) second: Option<(u64, Stage)>,
    /// `AT_ENTRY`.
    pub(super) entry: u64,
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
        Self {
            process,
            memory: ProcessMemory::open(process).ok(),
            is_32_bit: self.is_32_bit,
            call: self.call,
            switch: None,
            told_shared: self.told_shared,
            loader: self.loader,
            second: None,
            entry: self.entry,
            main: None,
            last_linked: self.last_linked,
            slots: Slots::default(),
            breakpoints: self.breakpoints.clone(),
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

    /// In bytes.
    pub(super) fn word_size(&self) -> u64 {
        if self.is_32_bit { 4 } else { 8 }
    }

    pub(super) fn pages(&self) -> PagesSeen {
        if self.switch.is_some() { PagesSeen::Each } else { PagesSeen::FaultAround }
    }
}
