//! Properties of a join, over made-up recordings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use coldstart_profile::plan::{PlanSummary, PlanView, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use coldstart_profile::{FileIdentity, PageRange};
use proptest::prelude::*;

use super::{Merged, Survey};
use crate::{PlanInput, plan_prefetch};

const DISK: &str = "/dev/disk";

/// Pages by path.
type Pages = BTreeSet<(PathBuf, u64)>;

fn identity(version: u64) -> FileIdentity {
    FileIdentity { size: 1 << 22, modified: version as i64 }
}

/// Gaps and counts of pages.
type Runs = Vec<(u64, u64)>;

/// A recording: files with a version and runs of pages (gap, count), on a disk.
#[derive(Clone, Debug)]
struct Made {
    files: Vec<(u8, u64, Runs)>,
    disk: u64,
    recorded_at: i64,
}

impl Made {
    fn plan(&self) -> PrefetchPlan {
        let mut plan = PrefetchPlan {
            summary: PlanSummary {
                recorded_at: self.recorded_at,
                recorded_start: Duration::from_secs(3),
                hot_start: Duration::from_millis(500),
                windows_before_start: 0,
                threads: 4,
                chunk_pages: 128,
                device: PlannedDevice {
                    latency: Duration::from_millis(1),
                    bandwidth: 250_000_000,
                    parallel: 32,
                    seeks: false,
                },
                predicted_replay: Duration::ZERO,
                predicted_start: Duration::ZERO,
            },
            command: vec!["program".into(), format!("{}", self.recorded_at).into()],
            targets: vec![
                Target { path: DISK.into(), kind: TargetKind::BlockDevice },
                Target { path: "/name".into(), kind: TargetKind::Name },
            ],
            steps: vec![
                Step {
                    target: 0,
                    window: 0,
                    pages: PageRange::new(self.disk, 1),
                    first_use: Duration::ZERO,
                    physical: None,
                },
                Step { target: 1, window: 0, pages: None, first_use: Duration::from_millis(1), physical: None },
            ],
        };
        for (number, (name, version, runs)) in self.files.iter().enumerate() {
            let target = plan.targets.len() as u32;
            plan.targets.push(Target { path: format!("/f{name}").into(), kind: TargetKind::File(identity(*version)) });
            let mut start = 0;
            for (gap, count) in runs {
                start += gap;
                plan.steps.push(Step {
                    target,
                    window: number as u32,
                    pages: PageRange::new(start, *count),
                    first_use: Duration::from_millis(start % 97),
                    physical: Some((1 << 30) + (self.disk << 24) + (u64::from(*name) << 20) + start * 4096),
                });
                start += count;
            }
        }
        plan
    }

    fn pages(&self, version: u64) -> Pages {
        pages_of(
            &Made { files: self.files.iter().filter(|file| file.1 == version).cloned().collect(), ..self.clone() }
                .plan(),
        )
    }
}

/// The file pages of a plan.
fn pages_of(plan: &PrefetchPlan) -> Pages {
    let mut found = Pages::new();
    for step in &plan.steps {
        let target = &plan.targets[step.target as usize];
        if let (Some(pages), TargetKind::File(_)) = (step.pages, target.kind) {
            found.extend((pages.start.0..pages.end().0).map(|page| (target.path.clone(), page)));
        }
    }
    found
}

fn merge(plans: &[PrefetchPlan], share: u8) -> Merged {
    let bytes: Vec<Vec<u8>> = plans.iter().map(|plan| plan.to_bytes().unwrap()).collect();
    let views = || bytes.iter().map(|bytes| PlanView::read(bytes).unwrap());
    let mut survey = Survey::default();
    views().for_each(|plan| survey.add(&plan));
    let mut join = survey.settle().unwrap();
    views().for_each(|plan| join.add(&plan));
    join.finish(Some(share))
}

fn touched(merged: &Merged) -> Pages {
    let files = merged.working_set.files.iter().filter(|file| file.path.to_str() != Some(DISK));
    files
        .flat_map(|file| {
            let pages = file.touched.iter().flat_map(|touched| touched.range.start.0..touched.range.end().0);
            pages.map(|page| (file.path.clone(), page))
        })
        .collect()
}

fn replanned(merged: &Merged) -> PrefetchPlan {
    plan_prefetch(&PlanInput {
        working_set: &merged.working_set,
        device: merged.device,
        hot_start: merged.hot_start,
        recorded_at: merged.recorded_at,
        strategy: None,
    })
}

fn made(versions: u64) -> impl Strategy<Value = Made> {
    let runs = prop::collection::vec((0u64..40, 1u64..40), 1..6);
    let files = prop::collection::btree_map(0u8..4, (0..versions, runs), 1..4);
    (files, 0u64..2, 0i64..3).prop_map(|(files, disk, recorded_at)| Made {
        files: files.into_iter().map(|(name, (version, runs))| (name, version, runs)).collect(),
        disk,
        recorded_at,
    })
}

proptest! {
    #[test]
    fn the_order_of_recordings_is_irrelevant(recordings in prop::collection::vec(made(3), 1..6), share in 1u8..=100, turn in 0usize..6) {
        let plans: Vec<_> = recordings.iter().map(Made::plan).collect();
        let mut turned = plans.clone();
        turned.rotate_left(turn % plans.len());
        let merged = merge(&plans, share);
        prop_assert_eq!(&merged, &merge(&turned, share));
        turned.reverse();
        prop_assert_eq!(merged, merge(&turned, share));
    }

    #[test]
    fn a_page_is_kept_if_enough_recordings_have_it(recordings in prop::collection::vec(made(1), 1..6), share in 1u8..=100) {
        let plans: Vec<_> = recordings.iter().map(Made::plan).collect();
        let merged = merge(&plans, share);
        let mut counts: BTreeMap<_, u64> = BTreeMap::new();
        for page in recordings.iter().flat_map(|made| made.pages(0)) {
            *counts.entry(page).or_default() += 1;
        }
        let all = counts.len() as u64;
        let wanted: Pages =
            counts.into_iter().filter(|(_, count)| count * 100 >= u64::from(share) * plans.len() as u64).map(|(page, _)| page).collect();
        let kept = touched(&merged);
        prop_assert_eq!(&kept, &wanted);
        if recordings.iter().all(|made| made.disk == recordings[0].disk) {
            prop_assert_eq!(merged.left_out_bytes, (all - kept.len() as u64) * 4096);
        }
        prop_assert!(pages_of(&replanned(&merged)).is_superset(&wanted));
    }

    #[test]
    fn the_same_start_again_changes_nothing(recording in made(1), times in 1usize..5) {
        let plan = recording.plan();
        let once = merge(std::slice::from_ref(&plan), 50);
        let again = merge(&vec![plan.clone(); times], 50);
        prop_assert_eq!(&once.working_set, &again.working_set);
        prop_assert_eq!(touched(&once), pages_of(&plan));
        prop_assert_eq!(once.on_other_disks + again.on_other_disks, 0);
        // Where the pages are is known for each.
        for file in &once.working_set.files {
            let located: u64 = file.extents.iter().map(|extent| extent.length / 4096).sum();
            let pages: u64 = file.touched.iter().map(|touched| touched.range.count).sum();
            prop_assert!(file.path.to_str() == Some(DISK) || located == pages);
        }
    }
}

#[test]
fn of_several_versions_most_recordings_decide_and_only_they_count() {
    let made = |version, runs: &[(u64, u64)]| {
        Made { files: vec![(0, version, runs.to_vec())], disk: 0, recorded_at: version as i64 }.plan()
    };
    let merged = merge(&[made(1, &[(0, 4)]), made(1, &[(0, 2)]), made(2, &[(8, 8)])], 100);
    assert_eq!(touched(&merged).len(), 2, "two of two starts with this version used two pages");
    assert_eq!((merged.other_versions.len(), merged.other_versions[0].others), (1, 1));
    assert_eq!(merged.other_versions[0].kept, identity(1));
    let merged = merge(&[made(1, &[(0, 4)]), made(2, &[(8, 8)])], 50);
    assert_eq!(merged.other_versions[0].kept, identity(2), "of two the later one");
}

#[test]
fn metadata_blocks_and_offsets_are_those_of_one_disk() {
    let made =
        |disk, recorded_at| Made { files: vec![(0, 0, vec![(0, 8)]), (1, 0, vec![(0, 8)])], disk, recorded_at }.plan();
    let merged = merge(&[made(5, 1), made(7, 2), made(5, 3)], 50);
    assert_eq!(merged.on_other_disks, 1);
    let files = &merged.working_set.files;
    let metadata = files.iter().find(|file| file.path.to_str() == Some(DISK)).unwrap();
    assert_eq!(metadata.touched.iter().map(|touched| touched.range.start.0).collect::<Vec<_>>(), [5]);
    let data = files.iter().find(|file| file.path.to_str() == Some("/f1")).unwrap();
    assert_eq!(data.extents[0].physical, (1 << 30) + (5 << 24) + (1 << 20));
    // Of two disks the later recording's.
    let merged = merge(&[made(5, 1), made(7, 2)], 50);
    let metadata = merged.working_set.files.iter().find(|file| file.path.to_str() == Some(DISK)).unwrap();
    assert_eq!(metadata.touched[0].range.start.0, 7);
}

#[test]
fn a_thousand_recordings_take_the_memory_of_their_pages() {
    // Each start uses the same 2,000 runs and a few pages of its own, in a file of its own.
    let made = |number: u64| {
        let shared = (0, 0, vec![(1, 1); 2000]);
        let own = (1, 0, vec![(number, 3)]);
        Made { files: vec![shared, own], disk: 0, recorded_at: number as i64 }.plan().to_bytes().unwrap()
    };
    let mut survey = Survey::default();
    (0..1000).for_each(|number| survey.add(&PlanView::read(&made(number)).unwrap()));
    let mut join = survey.settle().unwrap();
    (0..1000).for_each(|number| join.add(&PlanView::read(&made(number)).unwrap()));
    let merged = join.finish(None);
    let pages = |name: &str| {
        let file = merged.working_set.files.iter().find(|file| file.path.to_str() == Some(name));
        file.map_or(0, |file| file.touched.iter().map(|touched| touched.range.count).sum())
    };
    assert_eq!((merged.share, pages("/f0"), pages("/f1")), (35, 2000, 0));
    assert_eq!(merged.left_out_bytes, 1002 * 4096);
}
