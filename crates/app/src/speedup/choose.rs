//! Which fixes pay, alone and together: pure functions over measured ratios.
//!
//! The choice may go by small differences, because it claims nothing: the set that is chosen is measured again, against the plain
//! start, and only that measurement is reported as its gain.

use crate::fix_kind::FixKind;

/// A fix, or several together, measured against the plain start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried {
    /// Positions in the list of fixes, in ascending order.
    pub(super) fixes: Vec<usize>,
    /// Time with it divided by the time without, cold; `None` if it was not measured or always failed.
    pub(super) ratio: Option<f64>,
    /// The same, hot; measured where a fix may pay there, and then of all that were measured with it.
    pub(super) hot: Option<f64>,
    /// Whether the program was found to be the same.
    pub(super) proven: bool,
}

impl Tried {
    /// By what it is compared: the ratio, or the geometric mean of both, so that cold and hot starts count alike.
    fn score(&self) -> Option<f64> {
        let cold = self.ratio?;
        Some(self.hot.map_or(cold, |hot| (cold * hot).sqrt()))
    }
}

/// A fix must save this share of the time, alone, to be tried together with others.
const LEAST_GAIN: f64 = 0.02;
/// A fix stays in a set only if the set without it is slower by this share.
const LEAST_LOSS: f64 = 0.02;

/// The sets worth a measurement, from fixes measured alone: all that pay together, and these without each of them. Of two fixes
/// of one kind the faster one counts. Empty unless at least two pay.
pub(super) fn sets_to_try(alone: &[Tried], kinds: &[FixKind]) -> Vec<Vec<usize>> {
    let paying = paying(alone, kinds);
    if paying.len() < 2 {
        return Vec::new();
    }
    let mut sets = vec![paying.clone()];
    if paying.len() > 2 {
        let without = |left_out: &usize| paying.iter().copied().filter(|fix| fix != left_out).collect::<Vec<_>>();
        sets.extend(paying.iter().map(without));
    }
    sets
}

fn paying(alone: &[Tried], kinds: &[FixKind]) -> Vec<usize> {
    let mut paying: Vec<(usize, f64)> = Vec::new();
    for tried in alone.iter().filter(|tried| tried.proven) {
        let (&[fix], Some(ratio)) = (tried.fixes.as_slice(), tried.ratio) else { continue };
        let kind = kinds.get(fix);
        let hot = tried.hot.filter(|_| kind.is_some_and(|kind| kind.pays_hot()));
        if ratio.min(hot.unwrap_or(ratio)) > 1.0 - LEAST_GAIN {
            continue;
        }
        let excludes = |other: usize| match (kinds.get(other), kind) {
            (Some(other), Some(kind)) => kind.excludes(*other),
            _ => false,
        };
        match paying.iter_mut().find(|(other, _)| excludes(*other)) {
            Some(other) if other.1 <= ratio => {}
            Some(other) => *other = (fix, ratio),
            None => paying.push((fix, ratio)),
        }
    }
    let mut fixes: Vec<usize> = paying.into_iter().map(|(fix, _)| fix).collect();
    fixes.sort_unstable();
    fixes
}

/// Fixes that can be in use together, in ascending order: of those that exclude one another, the first one in `order`.
pub(super) fn all_that_agree(order: &[usize], kinds: &[FixKind]) -> Vec<usize> {
    let mut set: Vec<usize> = Vec::new();
    for &fix in order {
        let Some(kind) = kinds.get(fix) else { continue };
        if !set.iter().filter_map(|&other| kinds.get(other)).any(|other| kind.excludes(*other)) {
            set.push(fix);
        }
    }
    set.sort_unstable();
    set
}

/// The best of all that was measured, fixes alone and sets: the fastest, or one with fewer fixes that is nearly as fast. `None` if
/// nothing is proven and measured.
pub(super) fn best(tried: &[Tried]) -> Option<&Tried> {
    let measured = || tried.iter().filter(|tried| tried.proven).filter_map(|tried| Some((tried, tried.score()?)));
    let (_, fastest) = measured().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let near = measured().filter(|(_, ratio)| *ratio <= fastest * (1.0 + LEAST_LOSS));
    near.min_by(|(a, x), (b, y)| a.fixes.len().cmp(&b.fixes.len()).then(x.total_cmp(y))).map(|(tried, _)| tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [FixKind; 4] = [FixKind::Bind, FixKind::Pack, FixKind::Prefetch, FixKind::Prefetch];

    fn tried(fixes: &[usize], ratio: f64) -> Tried {
        Tried { fixes: fixes.to_vec(), ratio: Some(ratio), hot: None, proven: true }
    }

    #[test]
    fn all_that_pay_are_tried_together_and_without_each() {
        let alone = [tried(&[0], 0.9), tried(&[1], 0.95), tried(&[2], 0.5), tried(&[3], 0.4)];
        assert_eq!(sets_to_try(&alone, &KINDS), [vec![0, 1, 3], vec![1, 3], vec![0, 3], vec![0, 1]]);
        let alone = [tried(&[0], 0.99), tried(&[1], 0.95), tried(&[2], 0.4), tried(&[3], 0.5)];
        assert_eq!(sets_to_try(&alone, &KINDS), [vec![1, 2]], "one of a kind, and none that gains too little");
    }

    #[test]
    fn of_an_image_and_a_plan_the_faster_one_is_tried_with_others() {
        let kinds = [FixKind::Bind, FixKind::Image, FixKind::Prefetch];
        let alone = [tried(&[0], 0.9), tried(&[1], 0.3), tried(&[2], 0.5)];
        assert_eq!(sets_to_try(&alone, &kinds), [vec![0, 1]]);
    }

    #[test]
    fn of_fixes_that_exclude_one_another_the_first_is_taken() {
        let kinds = [FixKind::Bind, FixKind::Index, FixKind::Image, FixKind::Prefetch, FixKind::Prefetch];
        assert_eq!(all_that_agree(&[4, 2, 1, 3, 0], &kinds), [0, 1, 4]);
        assert_eq!(all_that_agree(&[2, 4, 3], &kinds), [2]);
        assert!(all_that_agree(&[], &kinds).is_empty());
    }

    #[test]
    fn an_index_that_pays_in_hot_starts_alone_is_tried_with_a_plan_and_kept() {
        let kinds = [FixKind::Index, FixKind::Prefetch];
        let with_hot = |fixes: &[usize], ratio, hot| Tried { hot: Some(hot), ..tried(fixes, ratio) };
        let alone = [with_hot(&[0], 1.0, 0.5), with_hot(&[1], 0.3, 1.0)];
        assert_eq!(sets_to_try(&alone, &kinds), [vec![0, 1]]);
        let together = [with_hot(&[1], 0.3, 1.0), with_hot(&[0, 1], 0.31, 0.5)];
        assert_eq!(best(&together).unwrap().fixes, [0, 1]);
        // A plan saves reading only.
        assert!(sets_to_try(&[with_hot(&[0], 0.9, 0.9), with_hot(&[1], 1.0, 0.9)], &kinds).is_empty());
    }

    #[test]
    fn one_that_pays_needs_no_set() {
        let alone = [tried(&[0], 1.2), tried(&[1], 1.0), tried(&[2], 0.5), tried(&[3], 0.4)];
        assert!(sets_to_try(&alone, &KINDS).is_empty());
        assert_eq!(best(&alone).unwrap().fixes, [3]);
    }

    #[test]
    fn a_fix_without_proof_or_times_is_out() {
        let mut alone = [tried(&[0], 0.5), tried(&[1], 0.6), tried(&[2], 0.7)];
        alone[0].proven = false;
        alone[1].ratio = None;
        assert!(sets_to_try(&alone, &KINDS).is_empty());
        assert_eq!(best(&alone).unwrap().fixes, [2]);
        alone[2].proven = false;
        assert_eq!(best(&alone), None);
    }

    #[test]
    fn a_fix_that_adds_nothing_is_left_out_of_the_set() {
        let tried_so_far = [tried(&[1], 0.95), tried(&[2], 0.4), tried(&[1, 2], 0.396)];
        assert_eq!(best(&tried_so_far).unwrap().fixes, [2]);
        let tried_so_far = [tried(&[1], 0.95), tried(&[2], 0.4), tried(&[1, 2], 0.38)];
        assert_eq!(best(&tried_so_far).unwrap().fixes, [1, 2]);
    }

    #[test]
    fn where_nothing_pays_the_least_bad_is_measured() {
        let alone = [tried(&[1], 1.08), tried(&[2], 1.01)];
        assert_eq!(best(&alone).unwrap().fixes, [2]);
    }
}
