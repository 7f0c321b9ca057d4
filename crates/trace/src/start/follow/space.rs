//! What is known of the memory of one process, or of several that share it: a part for each that looks at it.

use super::functions::Breakpoints;
use super::initialisers::Slots;
use super::memory::Memory;
use super::pages::SeenPages;
use super::stages::StagePoints;

#[derive(Debug, Default)]
pub(super) struct Space {
    pub(super) memory: Memory,
    pub(super) stages: StagePoints,
    pub(super) slots: Slots,
    pub(super) pages: SeenPages,
    pub(super) breakpoints: Breakpoints,
}

impl Space {
    pub(super) fn new(process: u32) -> Self {
        Self { memory: Memory::new(process), ..Self::default() }
    }

    /// The copy that a fork has: initialisers that were called before are its parent's.
    pub(super) fn forked(&self, process: u32) -> Self {
        Self {
            memory: self.memory.forked(process),
            stages: self.stages.forked(),
            slots: Slots::default(),
            pages: self.pages.forked(),
            breakpoints: self.breakpoints.forked(),
        }
    }
}
