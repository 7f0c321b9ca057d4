//! Whether two builds have the same functions, and how far one follows a list.

use std::collections::HashMap;

use crate::functions::FunctionTable;

/// The differences between two builds, by name and size, with repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SymbolChanges {
    /// Names with the same size in both.
    pub same: u64,
    /// Names in both with another size.
    pub resized: u64,
    /// Names only in the old one.
    pub removed: u64,
    /// Names only in the new one.
    pub added: u64,
}

impl SymbolChanges {
    /// Whether both have the same functions of the same sizes.
    pub fn is_same(&self) -> bool {
        self.resized == 0 && self.removed == 0 && self.added == 0
    }
}

/// Compares two builds.
pub fn symbol_changes(old: &FunctionTable, new: &FunctionTable) -> SymbolChanges {
    let (old, new) = (sizes(old), sizes(new));
    let mut changes = SymbolChanges::default();
    let add = |to: &mut u64, count: usize| *to = to.saturating_add(count as u64);
    for (name, before) in &old {
        let after = new.get(name).map(Vec::as_slice).unwrap_or_default();
        // Both are ascending.
        let mut rest = after.iter().peekable();
        let mut same = 0_usize;
        for size in before {
            while rest.next_if(|other| *other < size).is_some() {}
            if rest.next_if(|other| *other == size).is_some() {
                same = same.saturating_add(1);
            }
        }
        let both = before.len().min(after.len());
        add(&mut changes.same, same);
        add(&mut changes.resized, both.saturating_sub(same));
        add(&mut changes.removed, before.len().saturating_sub(after.len()));
        add(&mut changes.added, after.len().saturating_sub(before.len()));
    }
    for (_, after) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
        add(&mut changes.added, after.len());
    }
    changes
}

/// The sizes of each name's functions, ascending; 0 if unknown.
fn sizes(table: &FunctionTable) -> HashMap<&[u8], Vec<u64>> {
    let mut sizes: HashMap<&[u8], Vec<u64>> = HashMap::new();
    for function in table.all() {
        for name in &function.names {
            sizes.entry(name).or_default().push(if function.is_size_known { function.size } else { 0 });
        }
    }
    sizes.values_mut().for_each(|sizes| sizes.sort_unstable());
    sizes
}

/// The length of the longest stretch of addresses that never descend.
pub fn longest_run(addresses: impl IntoIterator<Item = u64>) -> u64 {
    let (mut longest, mut run, mut last) = (0_u64, 0_u64, 0_u64);
    for address in addresses {
        run = if address >= last { run.saturating_add(1) } else { 1 };
        longest = longest.max(run);
        last = address;
    }
    longest
}

#[cfg(test)]
mod tests {
    use coldstart_symbols::LinkerSymbol;

    use super::*;

    #[test]
    fn multisets_are_compared_and_runs_are_found() {
        let table = |functions: &[(&str, u64)]| {
            let symbol = |(at, (name, size)): (usize, &(&str, u64))| LinkerSymbol {
                address: at as u64 * 64,
                size: *size,
                name: name.as_bytes().to_vec(),
                is_local: true,
                is_function: true,
            };
            FunctionTable::new(&functions.iter().enumerate().map(symbol).collect::<Vec<_>>())
        };
        let old = table(&[("a", 8), ("init", 4), ("init", 9), ("gone", 1)]);
        assert!(symbol_changes(&old, &table(&[("init", 9), ("gone", 1), ("init", 4), ("a", 8)])).is_same());
        let changes = symbol_changes(&old, &table(&[("init", 9), ("init", 5), ("a", 8), ("new", 3), ("init", 1)]));
        assert_eq!(changes, SymbolChanges { same: 2, resized: 1, removed: 1, added: 2 });
        assert_eq!(longest_run([1, 5, 3, 4, 4, 9, 2]), 4);
        assert_eq!(longest_run([]), 0);
    }
}
