//! Ranges of memory that the file itself classifies: sections, and tables of the dynamic table.

use std::ops::Range;

use coldstart_elf::{RelocationClass, RelocationClasses, SegmentKind, Tag, Vaddr};

use super::Owner;
use crate::object::Object;

/// The classified ranges of an object's memory.
#[derive(Debug)]
pub(super) struct Regions {
    /// Sorted; not overlapping in well-formed files.
    owned: Vec<(Range<u64>, Owner)>,
    code: Vec<Range<u64>>,
    /// The largest range of `code`; nearly all code is in it.
    main_code: Range<u64>,
    relro: Range<u64>,
    /// Words that are GOT entries by their relocation type; kept only without sections.
    got_words: Vec<u64>,
}

impl Regions {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let sections = || object.file.sections().iter().filter(|section| section.header.is_loaded());
        let range = |start: u64, size: u64| start..start.saturating_add(size);
        let mut owned: Vec<(Range<u64>, Owner)> = Vec::new();
        for section in sections() {
            if let Some(owner) = owner_of_section(section.name) {
                owned.push((range(section.header.address.0, section.header.size), owner));
            }
        }
        for (start, size) in [
            (Tag::PREINIT_ARRAY, Tag::PREINIT_ARRAYSZ),
            (Tag::INIT_ARRAY, Tag::INIT_ARRAYSZ),
            (Tag::FINI_ARRAY, Tag::FINI_ARRAYSZ),
        ] {
            if let (Some(start), Some(size)) = (object.tag(start), object.tag(size)) {
                owned.push((range(start, size), Owner::InitArray));
            }
        }
        owned.retain(|(range, _)| !range.is_empty());
        owned.sort_by_key(|(range, _)| (range.start, range.end));
        let mut code: Vec<Range<u64>> = sections()
            .filter(|section| section.header.is_executable())
            .map(|section| range(section.header.address.0, section.header.size))
            .collect();
        if code.is_empty() {
            // Without sections, constants in an executable segment are indistinguishable from code.
            let segments = object.file.load_segments().filter(|segment| segment.is_executable());
            code = segments.map(|segment| segment.address.0..segment.end().0).collect();
        }
        code.sort_by_key(|range| range.start);
        let relro = object.file.segment(SegmentKind::Relro);
        let relro = relro.map_or(0..0, |segment| segment.address.0..segment.end().0);
        let has_got = owned.iter().any(|(_, owner)| *owner == Owner::GlobalOffsetTable);
        let got_words = if has_got { Vec::new() } else { got_words(object) };
        let main_code = code.iter().max_by_key(|range| range.end - range.start).cloned().unwrap_or_default();
        Self { owned, code, main_code, relro, got_words }
    }

    /// Classes of words, for lookups in ascending order.
    pub(super) fn in_order(&self) -> OwnedInOrder<'_> {
        OwnedInOrder { regions: self, same: 0..0, owner: None }
    }

    /// The class of a word by the file's ranges, and the address range in which the result is the same.
    fn range_at(&self, address: u64) -> (Option<Owner>, Range<u64>) {
        let end = self.owned.partition_point(|(range, _)| range.start <= address);
        let next = self.owned.get(end).map_or(u64::MAX, |(range, _)| range.start);
        let before = self.owned.get(..end).unwrap_or_default();
        match before.iter().rev().take(4).find(|(range, _)| range.contains(&address)) {
            Some((range, owner)) => (Some(*owner), address..range.end.min(next)),
            None => (None, address..next),
        }
    }

    /// Whether `address` is in code.
    #[inline]
    pub(super) fn is_code(&self, address: Vaddr) -> bool {
        if self.main_code.contains(&address.0) {
            return true;
        }
        let end = self.code.partition_point(|range| range.start <= address.0);
        end.checked_sub(1).and_then(|last| self.code.get(last)).is_some_and(|range| range.contains(&address.0))
    }

    /// Whether `address` is read-only after relocation, as vtables are. Without a RELRO part, always true.
    pub(super) fn is_relro(&self, address: Vaddr) -> bool {
        self.relro.is_empty() || self.relro.contains(&address.0)
    }
}

/// See [`Regions::in_order`].
pub(super) struct OwnedInOrder<'regions> {
    regions: &'regions Regions,
    /// The range in which `owner` is valid.
    same: Range<u64>,
    owner: Option<Owner>,
}

impl OwnedInOrder<'_> {
    /// The class of a word, if the file tells.
    pub(super) fn owner_at(&mut self, address: Vaddr) -> Option<Owner> {
        if !self.same.contains(&address.0) {
            (self.owner, self.same) = self.regions.range_at(address.0);
        }
        self.owner.or_else(|| {
            let is_got_word = self.regions.got_words.binary_search(&address.0).is_ok();
            is_got_word.then_some(Owner::GlobalOffsetTable)
        })
    }
}

fn owner_of_section(name: &[u8]) -> Option<Owner> {
    const ARRAYS: [&[u8]; 5] = [b".preinit_array", b".init_array", b".fini_array", b".ctors", b".dtors"];
    if ARRAYS.iter().any(|array| name.starts_with(array)) {
        return Some(Owner::InitArray);
    }
    (name == b".got" || name.starts_with(b".got.")).then_some(Owner::GlobalOffsetTable)
}

fn got_words(object: &Object<'_>) -> Vec<u64> {
    let mut classes = RelocationClasses::new(object.file.encoding().machine);
    let mut words = Vec::new();
    for table in object.relocations.all_tables() {
        table.for_each(|relocation| {
            if matches!(classes.of(relocation.kind), RelocationClass::GlobalData | RelocationClass::JumpSlot) {
                words.push(relocation.offset.0);
            }
        });
    }
    words.sort_unstable();
    words
}
