//! Vtables and typeinfo in stripped files, by the shape of the words around them.
//!
//! Itanium C++ ABI, section 2.5.2: in front of a vtable's function pointers stand the distance to the top of the object
//! (zero, or negative in a secondary vtable) and the address of the typeinfo, which is zero in code built without run-time
//! type information. Section 2.9.5: a typeinfo begins with the address of a vtable of the ABI library and of the type's
//! name.
//!
//! A struct of two zeros and function pointers looks the same as a vtable without typeinfo. So those only count in
//! files that evidently contain C++: by a symbol's name, or by secondary vtables, whose distance is negative, unlike
//! in plain structs. They are reported as inferred all the same.

use std::collections::HashMap;

use coldstart_elf::{SymbolKind, Vaddr};

use super::Owner;
use super::regions::Regions;
use super::rust_vtables::RustVtables;
use super::type_names::is_type_name;
use crate::object::Object;
use crate::slots::{Slot, Target, Words};

/// The largest plausible distance from a secondary vtable's object to the top of the whole object, in bytes.
const FARTHEST_TOP: i64 = 1 << 24;

/// How many secondary vtables prove that a file contains C++.
const ENOUGH_SECONDARY_VTABLES: u32 = 8;

/// The largest plausible number of words in a typeinfo of multiple inheritance.
const MOST_BASES: u64 = 1 << 12;

/// The state of a walk over slots in ascending order.
pub(super) struct Shapes<'object, 'data> {
    object: &'object Object<'data>,
    regions: &'object Regions,
    words: Words<'object, 'data>,
    word: u64,
    /// Symbols of the ABI library's vtables that typeinfo begins with, and how many words such a typeinfo has.
    typeinfo_vtables: HashMap<u32, TypeinfoKind>,
    /// Whether the file evidently contains C++.
    is_cpp: bool,
    /// The vtable that may continue with the next slot: the address of its next function pointer.
    vtable_goes_on_at: Option<u64>,
    /// Vtables of another language.
    rust: RustVtables<'object, 'data>,
    /// The typeinfo that ends here.
    typeinfo_until: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TypeinfoKind {
    /// A fixed number of words.
    Words(u64),
    /// Two words, flags, a count, and two words for each base (`__vmi_class_type_info`).
    ManyBases,
}

/// The ABI library's vtables of typeinfo that is longer than two words.
const TYPEINFO_VTABLES: [(&[u8], TypeinfoKind); 4] = [
    (b"_ZTVN10__cxxabiv120__si_class_type_infoE", TypeinfoKind::Words(3)),
    (b"_ZTVN10__cxxabiv121__vmi_class_type_infoE", TypeinfoKind::ManyBases),
    (b"_ZTVN10__cxxabiv119__pointer_type_infoE", TypeinfoKind::Words(4)),
    (b"_ZTVN10__cxxabiv129__pointer_to_member_type_infoE", TypeinfoKind::Words(5)),
];

/// What vtables have in the place of functions that cannot be called.
const NEVER_CALLED: [&[u8]; 2] = [b"__cxa_pure_virtual", b"__cxa_deleted_virtual"];

impl<'object, 'data> Shapes<'object, 'data> {
    pub(super) fn new(object: &'object Object<'data>, regions: &'object Regions) -> Self {
        let symbols = object.dynamic_symbols;
        let kinds = symbols.iter().zip(0..).filter_map(|(symbol, index)| {
            let known = TYPEINFO_VTABLES.iter().find(|(name, _)| symbols.is_named(&symbol, name));
            let other = || symbols.name_begins(&symbol, b"_ZTVN10__cxxabiv1").then_some(TypeinfoKind::Words(2));
            Some((index, known.map(|(_, kind)| *kind).or_else(other)?))
        });
        let mut shapes = Self {
            object,
            regions,
            words: Words::new(&object.file),
            word: object.file.encoding().word_size(),
            typeinfo_vtables: kinds.collect(),
            is_cpp: has_cpp_names(object),
            vtable_goes_on_at: None,
            rust: RustVtables::new(object, regions),
            typeinfo_until: 0,
        };
        shapes.is_cpp = shapes.is_cpp || shapes.has_secondary_vtables();
        shapes
    }

    /// Whether there are a few vtables without typeinfo that belong to a part of an object.
    fn has_secondary_vtables(&mut self) -> bool {
        let mut found = 0;
        for (index, slot) in self.object.slots.iter().enumerate() {
            let Some(typeinfo) = slot.address.0.checked_sub(self.word) else { continue };
            if self.is_slot_before(index, typeinfo) || !self.is_function(slot.target) {
                continue;
            }
            let typeinfo = Slot { address: Vaddr(typeinfo), target: Target::Other };
            if self.words.at(typeinfo.address) == Some(0)
                && self.top_before(index, typeinfo).is_some_and(|distance| distance < 0)
            {
                found += 1;
                if found == ENOUGH_SECONDARY_VTABLES {
                    return true;
                }
            }
        }
        false
    }

    /// The class that the shape around a slot indicates; `index` is its number in ascending order. Call it in that
    /// order.
    pub(super) fn owner_of(&mut self, index: usize, slot: Slot) -> Option<Owner> {
        if !self.regions.is_relro(slot.address) {
            return None;
        }
        if slot.address.0 < self.typeinfo_until {
            return Some(Owner::Typeinfo);
        }
        let is_function = self.is_function(slot.target);
        if is_function && self.vtable_goes_on_at == Some(slot.address.0) {
            self.vtable_goes_on_at = slot.address.0.checked_add(self.word);
            return Some(Owner::Vtable);
        }
        if self.rust.contains(index, slot) {
            self.vtable_goes_on_at = None;
            return Some(Owner::Vtable);
        }
        if is_function {
            let begins = self.vtable_begins_without_typeinfo(index, slot);
            self.vtable_goes_on_at = begins.then(|| slot.address.0.saturating_add(self.word));
            return begins.then_some(Owner::Vtable);
        }
        if let Some(end) = self.typeinfo_end(index, slot) {
            self.typeinfo_until = end;
            return Some(Owner::Typeinfo);
        }
        // A pointer to typeinfo between the distance to the top and a function pointer: a vtable.
        let behind = slot.address.0.saturating_add(self.word);
        let is_followed = self
            .object
            .slots
            .get(index.saturating_add(1))
            .is_some_and(|next| next.address.0 == behind && self.is_function(next.target));
        if is_followed && self.top_before(index, slot).is_some() && self.is_typeinfo(slot.target) {
            self.vtable_goes_on_at = Some(behind);
            return Some(Owner::Vtable);
        }
        None
    }

    fn is_function(&self, target: Target) -> bool {
        match target {
            Target::Address(address) => self.regions.is_code(address),
            Target::Symbol(symbol) => {
                let symbols = self.object.dynamic_symbols;
                symbols.get(symbol).is_some_and(|symbol| match symbol.kind {
                    SymbolKind::Function | SymbolKind::IndirectFunction => true,
                    // Undefined symbols often have no type; these two are always objects.
                    SymbolKind::None => NEVER_CALLED.iter().any(|name| symbols.is_named(&symbol, name)),
                    _ => false,
                })
            }
            _ => false,
        }
    }

    /// Whether the two words before a function pointer are a distance to the top and a missing typeinfo.
    fn vtable_begins_without_typeinfo(&mut self, index: usize, slot: Slot) -> bool {
        if !self.is_cpp {
            return false;
        }
        let Some(typeinfo) = slot.address.0.checked_sub(self.word) else { return false };
        if self.is_slot_before(index, typeinfo) || self.words.at(Vaddr(typeinfo)) != Some(0) {
            return false;
        }
        self.top_before(index, Slot { address: Vaddr(typeinfo), target: Target::Other }).is_some()
    }

    /// The distance to an object's top, in bytes, if the word before `slot` is not relocated and can be one.
    fn top_before(&mut self, index: usize, slot: Slot) -> Option<i64> {
        let top = slot.address.0.checked_sub(self.word)?;
        if self.is_slot_before(index, top) || !self.regions.is_relro(Vaddr(top)) {
            return None;
        }
        let distance = match (self.words.at(Vaddr(top))?, self.word) {
            (value, 4) => i64::from(value as u32 as i32),
            (value, _) => value as i64,
        };
        let is_possible = (-FARTHEST_TOP..=0).contains(&distance) && distance.unsigned_abs().is_multiple_of(self.word);
        is_possible.then_some(distance)
    }

    /// Whether one of the two slots before number `index` is at `address`.
    fn is_slot_before(&self, index: usize, address: u64) -> bool {
        (1..=2).any(|back| {
            let slot = index.checked_sub(back).and_then(|index| self.object.slots.get(index));
            slot.is_some_and(|slot| slot.address.0 == address)
        })
    }

    /// The end of the typeinfo that begins at this slot.
    fn typeinfo_end(&mut self, index: usize, slot: Slot) -> Option<u64> {
        let kind = match slot.target {
            Target::Symbol(symbol) => *self.typeinfo_vtables.get(&symbol)?,
            // With the ABI library linked in, its vtable is in our own read-only data.
            Target::Address(vtable) if self.regions.is_relro(vtable) && self.has_name_at(index, slot) => {
                let third = self.object.slots.get(index.saturating_add(2));
                let has_base = third.is_some_and(|third| {
                    Some(third.address.0) == slot.address.0.checked_add(self.word * 2) && self.is_typeinfo(third.target)
                });
                TypeinfoKind::Words(if has_base { 3 } else { 2 })
            }
            _ => return None,
        };
        let words = match kind {
            TypeinfoKind::Words(words) => words,
            TypeinfoKind::ManyBases => {
                // Two words, 4 bytes of flags, 4 bytes of count.
                let count = Vaddr(slot.address.0.checked_add(self.word * 2)?.checked_add(4)?);
                let bases = self.object.file.memory_bytes("a typeinfo", count, 4).ok()?;
                let bases = u64::from(self.object.file.encoding().u32(bases)?).min(MOST_BASES);
                2 + 8 / self.word + 2 * bases
            }
        };
        slot.address.0.checked_add(self.word.checked_mul(words)?)
    }

    /// Whether the slot after number `index` is adjacent and points to a type's name.
    fn has_name_at(&self, index: usize, slot: Slot) -> bool {
        let name = self.object.slots.get(index.saturating_add(1));
        name.is_some_and(|name| {
            Some(name.address.0) == slot.address.0.checked_add(self.word) && self.points_to_type_name(name.target)
        })
    }

    fn points_to_type_name(&self, target: Target) -> bool {
        let Target::Address(address) = target else { return false };
        self.object.file.memory_from(address).is_some_and(is_type_name)
    }

    /// Whether a pointer refers to typeinfo, here or, by its name, elsewhere.
    fn is_typeinfo(&self, target: Target) -> bool {
        match target {
            Target::Symbol(symbol) => {
                let symbols = self.object.dynamic_symbols;
                symbols.get(symbol).is_some_and(|symbol| symbols.name_begins(&symbol, b"_ZTI"))
            }
            Target::Address(address) => {
                let name = address.0.checked_add(self.word).and_then(|name| self.object.slots.target_at(Vaddr(name)));
                name.is_some_and(|name| self.points_to_type_name(name))
            }
            _ => false,
        }
    }
}

/// Whether a dynamic symbol has a name that only C++ has.
fn has_cpp_names(object: &Object<'_>) -> bool {
    const OTHERS: [&[u8]; 2] = [b"__cxa_pure_virtual", b"__gxx_personality_v0"];
    let symbols = object.dynamic_symbols;
    symbols
        .iter()
        .any(|symbol| symbols.name_begins(&symbol, b"_Z") || OTHERS.iter().any(|name| symbols.is_named(&symbol, name)))
}
