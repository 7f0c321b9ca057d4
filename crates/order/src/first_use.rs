//! The order of first use over several starts.
//!
//! One start has one order of first calls. Of several, a function counts with its earliest place: what any of them needs first
//! comes first. What more starts use comes before what fewer do, where they need it equally early.

use std::collections::HashMap;

/// Merges orders of first use into one.
pub fn first_use(starts: &[Vec<usize>]) -> Vec<usize> {
    let mut places: HashMap<usize, (usize, usize)> = HashMap::new();
    for start in starts {
        for (place, item) in start.iter().enumerate() {
            let (earliest, missing) = places.entry(*item).or_insert((place, starts.len()));
            *earliest = (*earliest).min(place);
            *missing = missing.saturating_sub(1);
        }
    }
    let mut order: Vec<(usize, usize, usize)> =
        places.into_iter().map(|(item, (earliest, missing))| (earliest, missing, item)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, _, item)| item).collect()
}

#[cfg(test)]
mod tests {
    use super::first_use;

    #[test]
    fn one_start_keeps_its_order_and_several_are_merged_by_the_earliest_place() {
        assert_eq!(first_use(&[vec![5, 1, 9]]), [5, 1, 9]);
        assert_eq!(first_use(&[vec![5, 1, 9], vec![5, 7, 1]]), [5, 1, 7, 9]);
        assert!(first_use(&[]).is_empty());
    }
}
