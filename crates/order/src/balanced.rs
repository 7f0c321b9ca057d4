//! Balanced partitioning: an order of functions that keeps the pages of all starts few.
//!
//! "Optimizing Function Layout for Mobile Applications" (Hoag, Lee, Mestre, Pupyrev; arXiv 2211.09285, sections 3 and 4). The
//! functions of each start's first 1, 2, 4, ... calls form a group (a *utility* there). The functions are cut into two halves
//! so that groups are split as little as possible, and each half again, until a single function is left. Within each cut,
//! functions that gain most by it are exchanged in pairs. Without a random choice: the same starts give the same order.

use std::collections::HashMap;

/// How often pairs are exchanged at most, for one cut.
const ROUNDS: usize = 40;
/// So many functions stay in the order in which they came: they share a page.
const SMALLEST: usize = 4;
/// No cut is deeper than this: 2^40 functions.
const DEEPEST: usize = 40;

/// Orders the functions of several starts, each in the order of its first calls.
pub fn balanced(starts: &[Vec<usize>]) -> Vec<usize> {
    let first_use = super::first_use::first_use(starts);
    let mut nodes: Vec<Node> = first_use.iter().map(|item| Node { item: *item, groups: Vec::new() }).collect();
    let place: HashMap<usize, usize> = first_use.iter().enumerate().map(|(place, item)| (*item, place)).collect();
    let mut group = 0;
    for start in starts {
        let mut size = 1_usize;
        while size < start.len().saturating_mul(2) {
            for item in start.iter().take(size) {
                if let Some(node) = place.get(item).and_then(|place| nodes.get_mut(*place)) {
                    node.groups.push(group);
                }
            }
            group = group.saturating_add(1);
            size = size.saturating_mul(2);
        }
    }
    let mut counts = Counts { left: vec![0; group], right: vec![0; group] };
    cut(&mut nodes, 0, &mut counts);
    nodes.into_iter().map(|node| node.item).collect()
}

/// A function, and the groups that it is in.
#[derive(Debug)]
struct Node {
    item: usize,
    groups: Vec<usize>,
}

/// How many functions of each group are on each side. All zero between two cuts.
struct Counts {
    left: Vec<u32>,
    right: Vec<u32>,
}

impl Counts {
    fn side(&mut self, is_left: bool) -> &mut Vec<u32> {
        if is_left { &mut self.left } else { &mut self.right }
    }

    fn add(&mut self, node: &Node, is_left: bool) {
        let side = self.side(is_left);
        for group in &node.groups {
            if let Some(count) = side.get_mut(*group) {
                *count = count.saturating_add(1);
            }
        }
    }

    fn take(&mut self, node: &Node, is_left: bool) {
        let side = self.side(is_left);
        for group in &node.groups {
            if let Some(count) = side.get_mut(*group) {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// How much better the cut is with the node on the other side.
    fn gain(&self, node: &Node, is_left: bool) -> f64 {
        let (from, to) = if is_left { (&self.left, &self.right) } else { (&self.right, &self.left) };
        let gain = |group: &usize| match (from.get(*group), to.get(*group)) {
            (Some(from), Some(to)) => cost(*from, *to) - cost(from.saturating_sub(1), to.saturating_add(1)),
            _ => 0.0,
        };
        node.groups.iter().map(gain).sum()
    }
}

/// The cost of a group with so many functions on each side: lowest when it is on one (the paper's log cost).
fn cost(left: u32, right: u32) -> f64 {
    let side = |count: u32| f64::from(count) * (f64::from(count) + 1.0).log2();
    -(side(left) + side(right))
}

fn cut(nodes: &mut [Node], depth: usize, counts: &mut Counts) {
    if nodes.len() <= SMALLEST || depth >= DEEPEST {
        return;
    }
    let middle = nodes.len() / 2;
    let (left, right) = nodes.split_at_mut(middle);
    left.iter().for_each(|node| counts.add(node, true));
    right.iter().for_each(|node| counts.add(node, false));
    for _ in 0..ROUNDS {
        if exchange(left, right, counts) == 0 {
            break;
        }
    }
    left.iter().for_each(|node| counts.take(node, true));
    right.iter().for_each(|node| counts.take(node, false));
    cut(left, depth.saturating_add(1), counts);
    cut(right, depth.saturating_add(1), counts);
}

/// Exchanges pairs as long as both together gain; returns how many.
fn exchange(left: &mut [Node], right: &mut [Node], counts: &mut Counts) -> usize {
    let from_left = by_gain(left, true, counts);
    let from_right = by_gain(right, false, counts);
    let mut exchanged = 0_usize;
    for ((gain, left_index), (other, right_index)) in from_left.into_iter().zip(from_right) {
        if gain + other <= 1e-9 {
            break;
        }
        let (Some(one), Some(two)) = (left.get_mut(left_index), right.get_mut(right_index)) else { continue };
        // Earlier exchanges have changed what these gain.
        let before = counts.gain(one, true) + counts.gain(two, false);
        if before <= 1e-9 {
            continue;
        }
        counts.take(one, true);
        counts.add(one, false);
        counts.take(two, false);
        counts.add(two, true);
        std::mem::swap(one, two);
        exchanged = exchanged.saturating_add(1);
    }
    exchanged
}

/// What each node gains on the other side, most first; in the order of the nodes where it is equal.
fn by_gain(nodes: &[Node], is_left: bool, counts: &Counts) -> Vec<(f64, usize)> {
    let gain = |(index, node): (usize, &Node)| (counts.gain(node, is_left), index);
    let mut gains: Vec<(f64, usize)> = nodes.iter().enumerate().map(gain).collect();
    gains.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    gains
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::balanced;

    /// Blocks of 8 functions, as pages, that a start uses.
    fn pages(order: &[usize], start: &[usize]) -> usize {
        let used: BTreeSet<usize> = start.iter().copied().collect();
        order.chunks(8).filter(|page| page.iter().any(|item| used.contains(item))).count()
    }

    #[test]
    fn functions_of_the_same_starts_come_together() {
        // Three starts with a common part; in the order of first use their own parts are interleaved.
        let start = |number: usize| (0..64).chain((0..256).map(|item| 1000 * (number + 1) + item)).collect();
        let starts: Vec<Vec<usize>> = (0..3).map(start).collect();
        let (balanced, first_use) = (balanced(&starts), crate::first_use::first_use(&starts));
        for start in &starts {
            assert!(pages(&balanced, start) <= 44, "{}", pages(&balanced, start));
            assert!(pages(&first_use, start) > 90);
        }
    }

    proptest! {
        #[test]
        fn every_function_is_listed_once(starts in prop::collection::vec(prop::collection::vec(0_usize..60, 0..60), 0..4)) {
            let starts: Vec<Vec<usize>> = starts.into_iter().map(|mut start| {
                let mut seen = BTreeSet::new();
                start.retain(|item| seen.insert(*item));
                start
            }).collect();
            let order = balanced(&starts);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let all: Vec<usize> = starts.iter().flatten().copied().collect::<BTreeSet<_>>().into_iter().collect();
            prop_assert_eq!(sorted, all);
        }
    }
}
