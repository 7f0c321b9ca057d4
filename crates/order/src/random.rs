//! A random order, which any order worth its name has to beat.

/// The same items in an order that only the seed decides (Fisher and Yates).
pub fn shuffled<T>(mut items: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed;
    for last in (1..items.len()).rev() {
        // The modulo favours small numbers by less than one in 2^40.
        let other = usize::try_from(next(&mut state) % (last as u64).saturating_add(1)).unwrap_or(last);
        items.swap(last, other);
    }
    items
}

/// SplitMix64 (Steele, Lea, Flood 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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
