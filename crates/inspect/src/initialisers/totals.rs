//! Totals over all initialisers: the amount of code, and the distances between functions.

use std::ops::Range;

use serde::Serialize;

use super::Initialiser;
use crate::file_pages::{PAGE, READAHEAD_WINDOW, distinct_units, merged, total};

/// Sums over all functions that run before `main`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InitialiserTotals {
    /// Number of functions; those that run twice count twice.
    pub count: u64,
    /// Size of their code in bytes, as far as known, each byte counted once, without callees.
    pub code_bytes: u64,
    /// Functions of unknown size.
    pub functions_of_unknown_size: u64,
    /// Distinct 4 KiB file pages with their code. A function of unknown size counts for its first page.
    pub code_pages: u64,
    /// Distinct 128 KiB ranges of the file (the kernel's default readahead) with their code.
    pub readahead_windows: u64,
    /// Number of backward jumps: the next function is before the last one in the file.
    pub backward_jumps: u64,
    /// Total length of these jumps, in bytes from one function's beginning to the next one's.
    pub backward_jump_bytes: u64,
    /// Total length of all other steps, in bytes from one function's beginning to the next one's.
    pub forward_jump_bytes: u64,
}

impl InitialiserTotals {
    /// The totals of these functions, which are in execution order.
    pub fn of(functions: &[Initialiser]) -> Self {
        let mut totals = Self {
            count: functions.len() as u64,
            functions_of_unknown_size: functions.iter().filter(|function| function.bytes.is_none()).count() as u64,
            ..Default::default()
        };
        let offsets = functions.iter().filter_map(|function| function.file_offset);
        for (last, next) in offsets.clone().zip(offsets.skip(1)) {
            let distance = next.abs_diff(last);
            if next < last {
                totals.backward_jumps = totals.backward_jumps.saturating_add(1);
                totals.backward_jump_bytes = totals.backward_jump_bytes.saturating_add(distance);
            } else {
                totals.forward_jump_bytes = totals.forward_jump_bytes.saturating_add(distance);
            }
        }
        let known = functions.iter().filter_map(|function| code(function, function.bytes?));
        totals.code_bytes = total(&merged(known.collect()));
        let touched: Vec<Range<u64>> =
            functions.iter().filter_map(|function| code(function, function.bytes.unwrap_or(1).max(1))).collect();
        totals.code_pages = distinct_units(&touched, PAGE);
        totals.readahead_windows = distinct_units(&touched, READAHEAD_WINDOW);
        totals
    }
}

fn code(function: &Initialiser, bytes: u64) -> Option<Range<u64>> {
    let start = function.file_offset?;
    Some(start..start.saturating_add(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::{InitialiserKind, SizeSource};
    use super::*;

    fn function(file_offset: u64, bytes: Option<u64>) -> Initialiser {
        Initialiser {
            kind: InitialiserKind::InitArray,
            slot_address: Some(0),
            address: Some(file_offset),
            name: None,
            mangled_name: None,
            name_is_from: None,
            bytes,
            bytes_are_from: bytes.map(|_| SizeSource::Symbol),
            file_offset: Some(file_offset),
            page: Some(file_offset / PAGE),
        }
    }

    #[test]
    fn jumps_pages_and_bytes_are_summed() {
        let elsewhere = Initialiser { address: None, file_offset: None, page: None, ..function(0, None) };
        let functions = [
            function(0x1000, Some(0x10)),
            function(0x30ff0, Some(0x20)),
            elsewhere,
            function(0x2000, None),
            function(0x1000, Some(0x10)),
        ];
        let expected = InitialiserTotals {
            count: 5,
            code_bytes: 0x30,
            functions_of_unknown_size: 2,
            code_pages: 4,
            readahead_windows: 2,
            backward_jumps: 2,
            backward_jump_bytes: 0x2eff0 + 0x1000,
            forward_jump_bytes: 0x2fff0,
        };
        assert_eq!(InitialiserTotals::of(&functions), expected);
        assert_eq!(InitialiserTotals::of(&[]), InitialiserTotals::default());
    }
}
