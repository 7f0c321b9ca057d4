//! Processors that are online.

use std::fs;

/// Their numbers, ascending. A container may hide the list; then those that the C library counts.
pub(super) fn online() -> Vec<u32> {
    let listed = fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| parse(text.trim()));
    listed.filter(|numbers| !numbers.is_empty()).unwrap_or_else(counted)
}

fn counted() -> Vec<u32> {
    let count = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (0..u32::try_from(count).unwrap_or(1)).collect()
}

/// More than any kernel is built for (`CONFIG_NR_CPUS` is at most 8192).
const MOST: u32 = 65_536;

/// Parses `0-3,8,10-11`.
fn parse(list: &str) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last >= MOST {
            return None;
        }
        numbers.extend(first..=last);
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_ranges_and_gaps() {
        assert_eq!(parse("0"), Some(vec![0]));
        assert_eq!(parse("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        for odd in ["", "a", "0-", "0-4294967295", "1,,2"] {
            assert_eq!(parse(odd), None, "{odd:?}");
        }
        assert!(!online().is_empty());
    }
}
