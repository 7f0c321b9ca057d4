use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

fn start(program: &str, pages: &[(&str, u64)]) -> FirstTouches {
    let pages = pages.iter().map(|&(path, page)| (PathBuf::from(path), PageRange::new(page, 1).unwrap())).collect();
    FirstTouches { program: program.into(), pages }
}

fn pages_of(order: &HotOrder) -> Vec<(String, u64)> {
    let pages = |run: &HotRun| {
        let path = run.path.display().to_string();
        (run.pages.start.0..run.pages.end().0).map(|page| (path.clone(), page)).collect::<Vec<_>>()
    };
    order.runs.iter().flat_map(pages).collect()
}

#[test]
fn one_start_keeps_its_order_and_its_windows_have_runs() {
    let order = hot_order(&[start("a", &[("/x", 3), ("/y", 0), ("/x", 2), ("/x", 3)])]).unwrap();
    assert_eq!(pages_of(&order), [("/x".into(), 2), ("/x".into(), 3), ("/y".into(), 0)]);
    assert_eq!((order.runs.len(), order.programs), (2, vec![OsString::from("a")]));
    let long: Vec<(&str, u64)> = (0..100).map(|page| ("/x", 1000 - page)).collect();
    let order = pages_of(&hot_order(&[start("a", &long)]).unwrap());
    assert_eq!((order[0].1, order[31].1, order[32].1, order[99].1), (969, 1000, 937, 904));
}

#[test]
fn a_page_that_one_start_needs_early_is_early() {
    let many: Vec<(&str, u64)> = (0..200).map(|page| ("/x", page)).collect();
    let other: Vec<(&str, u64)> = [("/early", 0)].into_iter().chain(many.iter().copied()).collect();
    let order = pages_of(&hot_order(&[start("a", &many), start("a", &other)]).unwrap());
    let place = order.iter().position(|page| page.0 == "/early").unwrap();
    assert!(place < WINDOW, "{place}");
}

#[test]
fn what_all_programs_use_lies_first_and_each_programs_own_lies_together() {
    let starts = [
        start("a", &[("/a", 0), ("/libc", 0), ("/a", 1), ("/gtk", 0)]),
        start("b", &[("/libc", 0), ("/b", 0), ("/gtk", 0)]),
        start("c", &[("/c", 0), ("/libc", 0)]),
    ];
    let order = hot_order(&starts).unwrap();
    let names: Vec<(String, u64)> =
        order.runs.iter().map(|run| (run.path.display().to_string(), run.programs)).collect();
    let expected = [("/libc", 7), ("/gtk", 3), ("/a", 1), ("/b", 2), ("/c", 4)];
    assert_eq!(names, expected.map(|(path, programs)| (path.to_owned(), programs)));
}

#[test]
fn as_many_programs_as_a_mask_has_bits() {
    let starts = |count| (0..count).map(|number: u32| start(&number.to_string(), &[("/x", 0)])).collect::<Vec<_>>();
    assert_eq!(hot_order(&starts(64)).unwrap().runs[0].programs, u64::MAX);
    assert_eq!(hot_order(&starts(65)), None);
    assert_eq!(hot_order(&[]), Some(HotOrder::default()));
}

fn any_starts() -> impl Strategy<Value = Vec<FirstTouches>> {
    let touch = (0usize..4, 0u64..40, 1u64..4);
    let touches = (0usize..3, prop::collection::vec(touch, 0..80));
    prop::collection::vec(touches, 1..5).prop_map(|starts| {
        let files = ["/a", "/b", "/c", "/d"];
        let start = |(program, touches): (usize, Vec<(usize, u64, u64)>)| FirstTouches {
            program: ["p", "q", "r"][program].into(),
            pages: touches
                .into_iter()
                .map(|(file, start, count)| (files[file].into(), PageRange::new(start, count).unwrap()))
                .collect(),
        };
        starts.into_iter().map(start).collect()
    })
}

/// Pages of a start, each once, in order.
fn ranks(start: &FirstTouches) -> Vec<(String, u64)> {
    let mut seen = BTreeSet::new();
    let pages = start.pages.iter().flat_map(|(path, range)| {
        (range.start.0..range.end().0).map(|page| (path.display().to_string(), page)).collect::<Vec<_>>()
    });
    pages.filter(|page| seen.insert(page.clone())).collect()
}

proptest! {
    #[test]
    fn each_page_is_there_once_with_its_programs(starts in any_starts()) {
        let order = hot_order(&starts).unwrap();
        let mut expected: BTreeMap<(String, u64), u64> = BTreeMap::new();
        for start in &starts {
            let bit = order.programs.iter().position(|program| *program == start.program).unwrap();
            for page in ranks(start) {
                *expected.entry(page).or_default() |= 1 << bit;
            }
        }
        let mut found = BTreeMap::new();
        for run in &order.runs {
            for page in run.pages.start.0..run.pages.end().0 {
                prop_assert_eq!(found.insert((run.path.display().to_string(), page), run.programs), None);
            }
        }
        prop_assert_eq!(found, expected);
        // Most sharers first.
        prop_assert!(order.runs.is_sorted_by_key(|run| std::cmp::Reverse(run.programs.count_ones())));
    }

    /// The largest lateness of a page in a start of one program: as small as by earliest need, except for the windows.
    #[test]
    fn no_page_is_late_for_long(starts in any_starts()) {
        let starts: Vec<FirstTouches> =
            starts.into_iter().map(|start| FirstTouches { program: "p".into(), ..start }).collect();
        let order = pages_of(&hot_order(&starts).unwrap());
        let mut due: BTreeMap<(String, u64), usize> = BTreeMap::new();
        for start in &starts {
            for (rank, page) in ranks(start).into_iter().enumerate() {
                let known = due.entry(page).or_insert(rank);
                *known = (*known).min(rank);
            }
        }
        let mut dues: Vec<usize> = due.values().copied().collect();
        dues.sort_unstable();
        let best = dues.iter().enumerate().map(|(place, due)| place.saturating_sub(*due)).max().unwrap_or(0);
        let worst = order.iter().enumerate().map(|(place, page)| place.saturating_sub(due[page])).max().unwrap_or(0);
        prop_assert!(worst < best + WINDOW, "{} of {}", worst, best);
    }

    #[test]
    fn the_same_starts_give_the_same_order(starts in any_starts()) {
        prop_assert_eq!(hot_order(&starts), hot_order(&starts.clone()));
    }
}
