//! Code addresses written by relative relocations: functions whose address is taken, but also jump labels.

use coldstart_elf::{ElfFile, RelocationClass, RelocationClasses, Vaddr};

/// An upper bound for real programs (Chromium has half a million relocations); limits memory for hostile files.
const MOST: usize = 1 << 22;

/// The addresses written by relative relocations that `is_wanted` accepts, ascending.
pub(super) fn relocation_targets(file: &ElfFile<'_>, is_wanted: impl Fn(u64) -> bool) -> Vec<u64> {
    let mut targets = Vec::new();
    let Ok(Some(dynamic)) = file.dynamic() else { return targets };
    let Ok(relocations) = file.dynamic_relocations(&dynamic) else { return targets };
    let encoding = file.encoding();
    // Where the record has no addend, the word to be changed holds it.
    let word_at =
        |address: Vaddr| encoding.word(file.memory_bytes("a relocated word", address, encoding.word_size()).ok()?);
    let mut add = |target: Option<u64>| {
        if targets.len() < MOST {
            targets.extend(target.filter(|target| is_wanted(*target)));
        }
    };
    let mut classes = RelocationClasses::new(encoding.machine);
    for table in relocations.all_tables() {
        table.for_each(|relocation| {
            if classes.of(relocation.kind) == RelocationClass::Relative {
                add(relocation.addend.map_or_else(|| word_at(relocation.offset), |addend| u64::try_from(addend).ok()));
            }
        });
    }
    if let Some(relr) = &relocations.relr {
        relr.addresses().for_each(|address| add(word_at(address)));
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}
