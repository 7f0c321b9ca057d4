//! Which pages a start touches in a layout of the functions.
//!
//! A trace has pages. Of a function, those parts count as used that lie in touched pages, so that a large function is not
//! counted whole. A page's touch may be of a function that was called before it was traced: the address of the instruction
//! tells which.

use std::collections::{BTreeSet, HashSet};

use crate::calls::{ObjectCalls, PAGE};
use crate::functions::FunctionTable;

/// A used part of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// Index of the function.
    pub function: usize,
    /// Distance of its first byte from the function's address.
    pub from: u64,
    /// Distance of its end, exclusive.
    pub to: u64,
}

/// The code that a start used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeUse {
    /// Used parts of functions.
    pub extents: Vec<Extent>,
    /// Touched pages of code without a known function in use: they cannot be predicted, and count as they are.
    pub elsewhere: u64,
}

/// Where functions are in another layout.
pub trait Placement {
    /// The new address of a function; `None` if it is not there.
    fn address(&self, function: usize) -> Option<u64>;
}

impl<F: Fn(usize) -> Option<u64>> Placement for F {
    fn address(&self, function: usize) -> Option<u64> {
        self(function)
    }
}

impl CodeUse {
    /// From the calls and touches of a start. `address_of_page` returns the address of a page of the file, without load bias.
    pub fn of(calls: &ObjectCalls, table: &FunctionTable, address_of_page: impl Fn(u64) -> Option<u64>) -> Self {
        let mut used: HashSet<usize> = calls.calls.iter().filter_map(|address| table.starting_at(*address)).collect();
        let fetches = calls.code.pages.values().flatten();
        used.extend(fetches.filter_map(|address| table.containing(*address)));
        let mut extents = Vec::new();
        let mut elsewhere = 0_u64;
        for (page, fetches) in &calls.code.pages {
            let Some(start) = address_of_page(*page) else {
                elsewhere = elsewhere.saturating_add(1);
                continue;
            };
            let end = start.saturating_add(PAGE);
            let before = extents.len();
            // A function that began before the page, then those that begin in it.
            let mut index = table.all().partition_point(|function| function.address < start).saturating_sub(1);
            while let Some(function) = table.all().get(index).filter(|function| function.address < end) {
                let mut from = function.address.max(start);
                if function.address < start {
                    // Entered from its earlier part: the first fetch here tells where.
                    let fetched = fetches.iter().filter(|address| (from..function.end()).contains(*address)).min();
                    from = fetched.copied().unwrap_or(from);
                }
                let to = function.end().min(end);
                if used.contains(&index) && from < to {
                    let distance = |address: u64| address.saturating_sub(function.address);
                    extents.push(Extent { function: index, from: distance(from), to: distance(to) });
                }
                index = index.saturating_add(1);
            }
            if extents.len() == before {
                elsewhere = elsewhere.saturating_add(1);
            }
        }
        Self { extents, elsewhere }
    }
}

/// The number of pages that a start touches in a layout.
pub fn pages_of(used: &CodeUse, placement: &impl Placement) -> u64 {
    let mut pages = BTreeSet::new();
    for extent in &used.extents {
        if let Some(address) = placement.address(extent.function) {
            let first = address.saturating_add(extent.from) / PAGE;
            let last = address.saturating_add(extent.to).saturating_sub(1) / PAGE;
            pages.extend(first..=last);
        }
    }
    (pages.len() as u64).saturating_add(used.elsewhere)
}

#[cfg(test)]
mod tests {
    use coldstart_symbols::LinkerSymbol;

    use super::*;
    use crate::calls::TouchedCode;

    #[test]
    fn large_functions_count_with_the_touched_part() {
        let symbol = |address, size| LinkerSymbol {
            address,
            size,
            name: format!("f{address}").into_bytes(),
            is_local: false,
            is_function: true,
        };
        let table = FunctionTable::new(&[symbol(0x1000, 16), symbol(0x1ff0, 0x3000), symbol(0x9000, 16)]);
        let pages = [(1, vec![0x1000]), (2, vec![0x2ff0]), (20, vec![0x14000])].into_iter().collect();
        let calls = ObjectCalls { calls: vec![0x1000, 0x1ff0], code: TouchedCode { pages }, data: Vec::new() };
        let used = CodeUse::of(&calls, &table, |page| Some(page * PAGE));
        assert_eq!(used.elsewhere, 1);
        let extent = |function, from, to| Extent { function, from, to };
        assert_eq!(used.extents, [extent(0, 0, 16), extent(1, 0, 16), extent(1, 0x1000, 0x1010)]);
        assert_eq!(pages_of(&used, &|index: usize| table.all().get(index).map(|function| function.address)), 3);
        assert_eq!(pages_of(&used, &|_| Some(0x5000_u64)), 3);
        assert_eq!(pages_of(&used, &|_| None), 1);
    }
}
