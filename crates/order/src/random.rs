//! A random order, which any order worth its name has to beat.

use coldstart_profile::SplitMix64;

/// The same items in an order that only the seed decides (Fisher and Yates).
pub fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut random = SplitMix64::new(seed);
    for last in (1..items.len()).rev() {
        // The modulo favours small numbers by less than one in 2^40.
        let other = usize::try_from(random.next_number() % (last as u64).saturating_add(1)).unwrap_or(last);
        items.swap(last, other);
    }
    items
}

#[cfg(test)]
mod tests {
    use super::shuffled;

    #[test]
    fn all_stay_and_the_seed_decides() {
        let items: Vec<u32> = (0..1000).collect();
        let mut one = shuffled(items.clone(), 1);
        assert_eq!(one, shuffled(items.clone(), 1));
        assert_ne!(one, shuffled(items.clone(), 2));
        one.sort_unstable();
        assert_eq!(one, items);
    }
}
