//! The relocated words in ascending order, with their targets.
//!
//! A large file has a million of them and all parts of the inspection use them, so they are small (16 bytes each) and
//! sorted once. Linkers write most of them in order already.

use coldstart_elf::{
    DynamicRelocations, ElfFile, Relocation, RelocationClass, RelocationClasses, RelocationForm, RelocationTable, Vaddr,
};

/// The target of a relocated word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The load bias plus this address.
    Address(Vaddr),
    /// The dynamic symbol with this index.
    Symbol(u32),
    /// The result of the resolver at this address (`IRELATIVE`).
    Chosen(Vaddr),
    /// Something else: a thread-local module or offset.
    Other,
}

/// A relocated word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its address.
    pub address: Vaddr,
    /// Its target.
    pub target: Target,
}

/// A slot in 16 bytes: the kind of target is in the two highest bits of the address, which no program uses.
#[derive(Clone, Copy, Debug)]
struct Packed {
    address: u64,
    target: u64,
}

const KIND_SHIFT: u32 = 62;
const ADDRESS_BITS: u64 = (1 << KIND_SHIFT) - 1;

impl Packed {
    fn new(slot: Slot) -> Self {
        let (kind, target) = match slot.target {
            Target::Address(address) => (0, address.0),
            Target::Symbol(symbol) => (1, u64::from(symbol)),
            Target::Chosen(address) => (2, address.0),
            Target::Other => (3, 0),
        };
        Self { address: (slot.address.0 & ADDRESS_BITS) | (kind << KIND_SHIFT), target }
    }

    fn address(self) -> u64 {
        self.address & ADDRESS_BITS
    }

    fn unpack(self) -> Slot {
        let target = match self.address >> KIND_SHIFT {
            0 => Target::Address(Vaddr(self.target)),
            1 => Target::Symbol(self.target as u32),
            2 => Target::Chosen(Vaddr(self.target)),
            _ => Target::Other,
        };
        Slot { address: Vaddr(self.address()), target }
    }
}

/// All relocated words of an object, in ascending order of address.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    packed: Vec<Packed>,
}

impl Slots {
    /// Collects the slots of all tables. Relocations without effect and copies change no pointer and are left out.
    pub fn collect(file: &ElfFile<'_>, relocations: &DynamicRelocations<'_>) -> Self {
        let tables = relocations.all_tables().map(RelocationTable::len);
        // Each record was seen in the file, so this reserves less than the file's own size.
        let mut packed = Vec::with_capacity(tables.fold(0, usize::saturating_add));
        if let Some(relr) = &relocations.relr {
            let mut words = Words::new(file);
            packed.extend(relr.addresses().map(|address| {
                let target = Target::Address(Vaddr(words.at(address).unwrap_or(0)));
                Packed::new(Slot { address, target })
            }));
        }
        let mut classes = RelocationClasses::new(file.encoding().machine);
        for table in &relocations.android {
            // A few bytes can encode any number of relocations. More than the file has words add nothing.
            let most = file.size() / file.encoding().word_size();
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let mut words = Words::new(file);
            // Damage ends the table; the loader would refuse the file.
            for packed_relocation in table.iter().take(most).map_while(Result::ok) {
                let relocation = packed_relocation.relocation(file.encoding());
                let in_place = if relocation.addend.is_none() { words.at(relocation.offset) } else { None };
                let target = target(classes.of(relocation.kind), &relocation, in_place);
                packed.extend(target.map(|target| Packed::new(Slot { address: relocation.offset, target })));
            }
        }
        for table in relocations.all_tables() {
            let mut words = Words::new(file);
            let is_rel = table.form() == RelocationForm::Rel;
            table.for_each(|relocation| {
                let in_place = if is_rel { words.at(relocation.offset) } else { None };
                let target = target(classes.of(relocation.kind), &relocation, in_place);
                packed.extend(target.map(|target| Packed::new(Slot { address: relocation.offset, target })));
            });
        }
        if !packed.is_sorted_by_key(|slot| slot.address()) {
            // The stable sort merges the ascending runs that linkers write.
            packed.sort_by_key(|slot| slot.address());
        }
        Self { packed }
    }

    /// Number of relocated words; a word with two relocations counts twice.
    pub fn len(&self) -> usize {
        self.packed.len()
    }

    /// Whether nothing is relocated.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// All of them in ascending order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Slot> + DoubleEndedIterator {
        self.packed.iter().map(|packed| packed.unpack())
    }

    /// The slot at this index in ascending order.
    pub fn get(&self, index: usize) -> Option<Slot> {
        self.packed.get(index).map(|packed| packed.unpack())
    }

    /// The target of the word at `address`; `None` without a relocation.
    pub fn target_at(&self, address: Vaddr) -> Option<Target> {
        let index = self.packed.partition_point(|slot| slot.address() < address.0);
        self.get(index).filter(|slot| slot.address == address).map(|slot| slot.target)
    }
}

fn target(class: RelocationClass, relocation: &Relocation, in_place: Option<u64>) -> Option<Target> {
    let addend = || relocation.addend.map_or(in_place.unwrap_or(0), |addend| addend as u64);
    Some(match class {
        RelocationClass::Nothing | RelocationClass::Copy => return None,
        RelocationClass::Relative => Target::Address(Vaddr(addend())),
        RelocationClass::IndirectRelative => Target::Chosen(Vaddr(addend())),
        RelocationClass::ThreadLocal => Target::Other,
        _ if relocation.symbol != 0 => Target::Symbol(relocation.symbol),
        // Without a symbol, an absolute relocation is a relative one (PowerPC, ARM, MIPS).
        RelocationClass::Absolute => Target::Address(Vaddr(addend())),
        _ => Target::Other,
    })
}

/// The file's words by address, for lookups in roughly ascending order.
#[derive(Debug)]
pub(crate) struct Words<'file, 'data> {
    file: &'file ElfFile<'data>,
    /// The bytes of the last segment, and their address.
    last: (u64, &'data [u8]),
}

impl<'file, 'data> Words<'file, 'data> {
    pub(crate) fn new(file: &'file ElfFile<'data>) -> Self {
        Self { file, last: (0, &[]) }
    }

    /// The word at `address` in the file: 0 for zero-filled memory, `None` for unmapped addresses.
    pub(crate) fn at(&mut self, address: Vaddr) -> Option<u64> {
        let encoding = self.file.encoding();
        let within = |(start, bytes): (u64, &'data [u8])| {
            let distance = usize::try_from(address.0.checked_sub(start)?).ok()?;
            encoding.word(bytes.get(distance..)?)
        };
        if let Some(word) = within(self.last) {
            return Some(word);
        }
        let segment = self.file.segment_at(address)?;
        match self.file.memory_from(segment.address) {
            Some(bytes) => {
                self.last = (segment.address.0, bytes);
                Some(within(self.last).unwrap_or(0))
            }
            None => Some(0),
        }
    }
}
