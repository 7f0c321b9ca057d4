//! Vtables of Rust's trait objects in stripped files, by their shape.
//!
//! The layout by rustc (`compiler/rustc_middle/src/ty/vtable.rs`; an implementation detail, unchanged since Rust
//! 1.0): the drop function, or null since 1.81 if there is nothing to drop; the size; the alignment, a power of two
//! that divides the size; then the methods. Size and alignment are plain numbers, so they are not relocated.
//!
//! A C struct of a function, two numbers and functions can look the same. So these only count in files that evidently
//! contain Rust: with many candidates of a kind that other languages hardly have.

use coldstart_elf::Vaddr;

use super::regions::Regions;
use crate::object::Object;
use crate::slots::{Slot, Target, Words};

/// How many clear candidates prove that a file contains Rust.
const ENOUGH_CANDIDATES: u32 = 16;
/// The largest plausible alignment, in bytes.
const LARGEST_ALIGNMENT: u64 = 4096;
/// The largest plausible size, in bytes.
const LARGEST_SIZE: u64 = 1 << 31;

/// The state of a walk over slots in ascending order.
pub(super) struct RustVtables<'object, 'data> {
    object: &'object Object<'data>,
    regions: &'object Regions,
    words: Words<'object, 'data>,
    word: u64,
    is_rust: bool,
    /// Where the next method of the current vtable would be.
    goes_on_at: Option<u64>,
}

impl<'object, 'data> RustVtables<'object, 'data> {
    pub(super) fn new(object: &'object Object<'data>, regions: &'object Regions) -> Self {
        let mut vtables = Self {
            object,
            regions,
            words: Words::new(&object.file),
            word: object.file.encoding().word_size(),
            is_rust: false,
            goes_on_at: None,
        };
        vtables.is_rust = vtables.has_clear_candidates();
        vtables
    }

    /// Whether a slot belongs to a vtable; `index` is its number in ascending order. Call it in that order.
    pub(super) fn contains(&mut self, index: usize, slot: Slot) -> bool {
        if !self.is_rust {
            return false;
        }
        if !self.is_code(slot) {
            // Pointers to supertrait vtables are among the methods.
            let goes_on = self.goes_on_at == Some(slot.address.0) && self.is_vtable(slot.target);
            self.goes_on_at = slot.address.0.checked_add(self.word).filter(|_| goes_on);
            return goes_on;
        }
        // Vtables are often adjacent: a slot followed by a size and an alignment begins the next one.
        self.goes_on_at = if self.head_behind(index, slot).is_some() {
            self.word.checked_mul(3).and_then(|head| slot.address.0.checked_add(head))
        } else if self.goes_on_at == Some(slot.address.0) || self.has_head_before(index, slot) {
            slot.address.0.checked_add(self.word)
        } else {
            None
        };
        self.goes_on_at.is_some()
    }

    /// Whether a pointer refers to a vtable: a size and an alignment followed by a method.
    fn is_vtable(&mut self, target: Target) -> bool {
        let Target::Address(vtable) = target else { return false };
        let Some(method) = self.word.checked_mul(3).and_then(|head| vtable.checked_add(head)) else { return false };
        let is_method = self.object.slots.target_at(method).is_some_and(|target| match target {
            Target::Address(address) => self.regions.is_code(address),
            _ => false,
        });
        is_method && self.head_at(vtable.0.saturating_add(self.word)).is_some()
    }

    fn is_code(&self, slot: Slot) -> bool {
        matches!(slot.target, Target::Address(address) if self.regions.is_code(address))
    }

    /// Size and alignment after a drop function, followed by a method.
    fn head_behind(&mut self, index: usize, drop: Slot) -> Option<(u64, u64)> {
        let method = self.object.slots.get(index.checked_add(1)?)?;
        let method_address = drop.address.0.checked_add(self.word.checked_mul(3)?)?;
        if method.address.0 != method_address || !self.is_code(method) {
            return None;
        }
        self.head_at(drop.address.0.checked_add(self.word)?)
    }

    /// Whether null, a size and an alignment are before a method.
    fn has_head_before(&mut self, index: usize, method: Slot) -> bool {
        let Some(drop) = self.word.checked_mul(3).and_then(|head| method.address.0.checked_sub(head)) else {
            return false;
        };
        let before = index.checked_sub(1).and_then(|before| self.object.slots.get(before));
        if before.is_some_and(|before| before.address.0 >= drop) || self.words.at(Vaddr(drop)) != Some(0) {
            return false;
        }
        self.regions.is_relro(Vaddr(drop)) && self.head_at(drop.saturating_add(self.word)).is_some()
    }

    /// A plausible pair of size and alignment.
    fn head_at(&mut self, address: u64) -> Option<(u64, u64)> {
        let size = self.words.at(Vaddr(address))?;
        let alignment = self.words.at(Vaddr(address.checked_add(self.word)?))?;
        let is_possible = alignment.is_power_of_two()
            && alignment <= LARGEST_ALIGNMENT
            && size <= LARGEST_SIZE
            && size.is_multiple_of(alignment);
        is_possible.then_some((size, alignment))
    }

    /// Whether there are enough vtables of word-aligned values with a drop function.
    fn has_clear_candidates(&mut self) -> bool {
        let mut found = 0;
        for (index, slot) in self.object.slots.iter().enumerate() {
            if self.is_code(slot)
                && self.regions.is_relro(slot.address)
                && let Some((size, alignment)) = self.head_behind(index, slot)
                && size > 0
                && alignment == self.word
            {
                found += 1;
                if found == ENOUGH_CANDIDATES {
                    return true;
                }
            }
        }
        false
    }
}
