//! The touched share of each section.

use serde::Serialize;

use super::pages::UsedPages;
use crate::PAGE_SIZE;
use crate::trace::{ObjectSection, TracedObject};

/// How much of a section was touched. A page that two sections share counts for both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SectionFigures {
    /// Place in [`TracedObject::sections`].
    pub section: usize,
    /// Pages that hold bytes of it.
    pub pages: u64,
    /// Of these, touched.
    pub touched: u64,
    /// Of the touched ones, neither written to nor executed, or it is not known.
    pub only_read: u64,
    /// Of the touched ones, written to.
    pub written: u64,
    /// Of the touched ones, executed.
    pub executed: u64,
    /// Symbols of the trace that are in it: those of what the start touched.
    pub symbols: u64,
    /// Of these, functions.
    pub functions: u64,
}

/// Of each section of an object that takes memory, in its order.
pub(super) fn of_object(object: &TracedObject, used: &UsedPages) -> Vec<SectionFigures> {
    let symbols: Vec<u64> = object.symbols.iter().map(|symbol| symbol.address).collect();
    let functions = object.symbols.iter().filter(|symbol| symbol.is_function);
    let functions: Vec<u64> = functions.map(|symbol| symbol.address).collect();
    let sections = object.sections.iter().enumerate().filter(|(_, section)| takes_memory(section));
    let figures = sections.map(|(place, section)| {
        let mut figures = if section.is_zero_filled { of_zeros(section, used) } else { of_bytes(section, used) };
        figures.section = place;
        figures.symbols = within(&symbols, section);
        figures.functions = within(&functions, section);
        figures
    });
    figures.collect()
}

/// `.tbss` is a recipe for each thread's own memory and takes none itself: its addresses are those of what follows.
fn takes_memory(section: &ObjectSection) -> bool {
    let is_recipe = section.is_zero_filled && (section.name == ".tbss" || section.name.starts_with(".tbss."));
    section.size > 0 && !is_recipe
}

fn of_bytes(section: &ObjectSection, used: &UsedPages) -> SectionFigures {
    let (start, end) = pages_of(section.offset, section.size);
    let touched = used.touched.within(start, end);
    SectionFigures {
        pages: end.saturating_sub(start),
        touched,
        only_read: touched.saturating_sub(used.more_than_read.within(start, end)),
        written: used.written.within(start, end),
        executed: used.executed.within(start, end),
        ..SectionFigures::default()
    }
}

/// Where it begins inside a page, the front of that page is the end of the file's data: the page is named by its
/// place there.
fn of_zeros(section: &ObjectSection, used: &UsedPages) -> SectionFigures {
    let (start, end) = pages_of(section.address, section.size);
    let begins_inside = !section.address.is_multiple_of(PAGE_SIZE);
    let front = begins_inside.then_some(section.offset / PAGE_SIZE);
    let of_front =
        |pages: &super::page_set::PageSet| front.map_or(0, |page| pages.within(page, page.saturating_add(1)));
    // Never both: either way the page counts once.
    let both = |zeros: &super::page_set::PageSet, pages| {
        let own_front = if begins_inside { zeros.within(start, start.saturating_add(1)) } else { 0 };
        zeros.within(start, end).saturating_sub(own_front).saturating_add(own_front.max(of_front(pages)))
    };
    let (touched, written) = (both(&used.zeros_touched, &used.touched), both(&used.zeros_written, &used.written));
    SectionFigures {
        pages: end.saturating_sub(start),
        touched,
        only_read: touched.saturating_sub(written),
        written,
        ..SectionFigures::default()
    }
}

/// The pages that hold `size` bytes from `start`: the first, and the one after the last.
fn pages_of(start: u64, size: u64) -> (u64, u64) {
    (start / PAGE_SIZE, start.saturating_add(size).div_ceil(PAGE_SIZE))
}

/// How many of the ascending addresses are in a section.
fn within(addresses: &[u64], section: &ObjectSection) -> u64 {
    let below = |address: u64| addresses.partition_point(|other| *other < address) as u64;
    below(section.address.saturating_add(section.size)).saturating_sub(below(section.address))
}

#[cfg(test)]
mod tests {
    use super::super::pages::PageUse;
    use super::super::testing::{event, object, section, touch};
    use super::*;
    use crate::trace::{EventKind, ObjectSymbol, Touch};

    #[test]
    fn a_page_of_two_sections_counts_for_both() {
        let mut pages = PageUse::default();
        let executed = EventKind::Touch(Touch { execute: true, ..Touch::default() });
        let wrote = Touch { write: Some(true), ..Touch::default() };
        let zeros = EventKind::Touch(Touch { zero_filled: true, ..wrote });
        for event in [event(0, 1, executed), touch(1, 2), event(2, 3, EventKind::Touch(wrote)), event(3, 0x14, zeros)] {
            pages.add(&event);
        }
        let mut object = object(0);
        object.sections = vec![
            section(".text", 0x1000, 0x1000, 0x1800),
            section(".rodata", 0x2800, 0x2800, 0x10),
            section(".data", 0x13000, 0x3000, 0x800),
            ObjectSection { is_zero_filled: true, ..section(".tbss", 0x13800, 0x3800, 0x40) },
            ObjectSection { is_zero_filled: true, ..section(".bss", 0x13800, 0x3800, 0x2800) },
        ];
        let symbol = |address, is_function| ObjectSymbol { address, size: 4, name: "x".to_owned(), is_function };
        object.symbols = vec![symbol(0x1000, true), symbol(0x27ff, false), symbol(0x2800, false)];
        let (_, used) = pages.finish(None);
        let found = of_object(&object, &used);
        let rows: Vec<_> = found
            .iter()
            .map(|f| (f.section, f.pages, f.touched, f.only_read, f.written, f.executed, f.symbols, f.functions))
            .collect();
        let expected = [
            (0, 2, 2, 1, 0, 1, 2, 1),
            (1, 1, 1, 1, 0, 0, 1, 0),
            (2, 1, 1, 0, 1, 0, 0, 0),
            // Its first page is the last of .data; 0x14 is its second.
            (4, 3, 2, 0, 2, 0, 0, 0),
        ];
        assert_eq!(rows, expected);
    }
}
