//! What a start from an image reads besides the image: directories and names, which stay those of the originals, and files that are not covered.
//! As a prefetch plan for each program, kept in the image itself.
//!
//! Not obvious: nothing here depends on a device, so that the same starts give the same image. Whether the disk has a head that moves
//! is found out at the start.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use coldstart_image::HotOrder;
use coldstart_prefetch::{PlanInput, Strategy, plan_prefetch};
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::{FileUse, NameUse, PageRange, Touched, WorkingSet};

use crate::error::AppError;

/// Gaps of a few pages are read, as suits disks that answer in a millisecond, and 16 requests are under way.
const DEVICE: PlannedDevice =
    PlannedDevice { latency: Duration::from_millis(1), bandwidth: 250_000_000, parallel: 16, seeks: false };

/// The plans for the programs of an order, whose files take the place of their originals.
///
/// # Errors
/// If a plan is larger than its format allows.
pub(super) fn plans(hot: &HotOrder, starts: &[(&OsStr, &WorkingSet)]) -> Result<Vec<Vec<u8>>, AppError> {
    let covered: HashSet<&Path> = hot.runs.iter().map(|run| &*run.path).collect();
    let plan = |program: &OsStr| {
        let of_it = starts.iter().filter(|(name, _)| *name == program).map(|(_, set)| *set);
        let set = outside(&covered, of_it);
        if set.files.is_empty() && set.names.is_empty() {
            return Ok(Vec::new());
        }
        let input = PlanInput {
            working_set: &set,
            device: DEVICE,
            hot_start: None,
            recorded_at: 0,
            strategy: Some(Strategy::Blocking),
        };
        let mut plan = plan_prefetch(&input);
        // On a disk with a head they are read in this order; elsewhere all of a window are under way at the same time.
        plan.steps.sort_by_key(|step| (step.window, step.physical.unwrap_or(u64::MAX), step.first_use));
        Ok(plan.to_bytes()?)
    };
    hot.programs.iter().map(|program| plan(program)).collect()
}

/// What several starts of a program read of all but the covered files, each page and name once.
fn outside<'set>(covered: &HashSet<&Path>, sets: impl Iterator<Item = &'set WorkingSet>) -> WorkingSet {
    let mut all = WorkingSet::default();
    let mut files: BTreeMap<&Path, (&FileUse, BTreeMap<u64, Duration>)> = BTreeMap::new();
    let mut known: HashSet<&Path> = HashSet::new();
    for set in sets {
        for file in set.files.iter().filter(|file| !covered.contains(file.path.as_path())) {
            let (_, pages) = files.entry(&file.path).or_insert_with(|| (file, BTreeMap::new()));
            for touched in &file.touched {
                for page in touched.range.start.0..touched.range.end().0 {
                    let first = pages.entry(page).or_insert(touched.at);
                    *first = touched.at.min(*first);
                }
            }
        }
        let new = |name: &&'set NameUse| !covered.contains(name.path.as_path()) && known.insert(&name.path);
        all.names.extend(set.names.iter().filter(new).cloned());
        all.duration = all.duration.max(set.duration);
        all.source = set.source;
    }
    all.files = files
        .into_values()
        .map(|(file, pages)| {
            let touched = |(page, at)| PageRange::new(page, 1).map(|range| Touched { range, at });
            FileUse { touched: pages.into_iter().filter_map(touched).collect(), ..file.clone() }
        })
        .collect();
    all
}

#[cfg(test)]
mod tests {
    use coldstart_image::HotRun;
    use coldstart_profile::plan::{PlanView, TargetKind};
    use coldstart_profile::{FileIdentity, FileKind, NameKind};

    use super::*;

    fn file(path: &str, kind: FileKind, pages: &[u64]) -> FileUse {
        let touched = |&page: &u64| PageRange::new(page, 1).map(|range| Touched { range, at: Duration::ZERO });
        FileUse {
            path: path.into(),
            kind,
            identity: FileIdentity { size: 1 << 30, modified: 1 },
            device: 1,
            touched: pages.iter().filter_map(touched).collect(),
            extents: Vec::new(),
        }
    }

    fn set(files: Vec<FileUse>, names: &[&str]) -> WorkingSet {
        let name = |path: &&str| NameUse { path: path.into(), kind: NameKind::Found, at: Duration::ZERO };
        WorkingSet { files, names: names.iter().map(name).collect(), ..WorkingSet::default() }
    }

    #[test]
    fn each_program_has_what_its_starts_read_of_other_files_metadata_first() {
        let order = HotOrder {
            programs: vec!["a".into(), "b".into(), "c".into()],
            runs: vec![HotRun {
                path: Path::new("/covered").into(),
                pages: PageRange::new(0, 1).unwrap(),
                programs: 1,
            }],
            ..HotOrder::default()
        };
        let one = set(
            vec![file("/covered", FileKind::Regular, &[0]), file("/setting", FileKind::Regular, &[3])],
            &["/covered", "/missing"],
        );
        let two = set(vec![file("/dev/disk", FileKind::BlockDevice, &[900, 4])], &["/missing", "/other"]);
        let of_b = set(vec![file("/b", FileKind::Rewritten, &[7])], &[]);
        let starts = [(OsStr::new("a"), &one), (OsStr::new("b"), &of_b), (OsStr::new("a"), &two)];
        let plans = plans(&order, &starts).unwrap();
        let steps = |bytes: &[u8]| -> Vec<(String, Option<u64>)> {
            let plan = PlanView::read(bytes).unwrap();
            let step = |step: coldstart_profile::plan::Step| {
                let (path, kind) = plan.target(step.target).unwrap();
                assert_eq!(kind == TargetKind::BlockDevice, step.window == 0);
                (path.display().to_string(), step.pages.map(|pages| pages.start.0))
            };
            plan.steps().map(step).collect()
        };
        let expected = [
            ("/dev/disk", Some(4)),
            ("/dev/disk", Some(900)),
            ("/missing", None),
            ("/other", None),
            ("/setting", Some(3)),
        ];
        assert_eq!(steps(&plans[0]), expected.map(|(path, page)| (path.to_owned(), page)));
        assert_eq!(steps(&plans[1]), [("/b".to_owned(), Some(7))]);
        assert!(plans[2].is_empty());
    }
}
