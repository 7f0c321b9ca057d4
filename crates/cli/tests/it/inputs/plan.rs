//! A prefetch plan for a test, with targets that are put into it by hand.

use std::path::Path;
use std::time::Duration;

use coldstart_profile::plan::{PlanSummary, PlannedDevice, PrefetchPlan, Step, Target, TargetKind};
use coldstart_profile::{FileIdentity, PageRange};

/// The bytes of a plan that reads the first page of each file before the program starts, though the files are not what was
/// recorded; and that looks up a name which is not there, as programs do.
pub(crate) fn plan_of(files: &[&Path]) -> Vec<u8> {
    let kind = TargetKind::File(FileIdentity { size: 4096, modified: 1 });
    let mut targets: Vec<Target> = files.iter().map(|path| Target { path: path.to_path_buf(), kind }).collect();
    targets.push(Target { path: "/nowhere/to/be/found".into(), kind: TargetKind::Name });
    let step = |number: usize| Step {
        target: number as u32,
        window: 0,
        pages: if number < files.len() { PageRange::new(0, 1) } else { None },
        first_use: Duration::ZERO,
        physical: None,
    };
    let device = PlannedDevice { latency: Duration::from_millis(1), bandwidth: 1 << 30, parallel: 1, seeks: false };
    let summary = PlanSummary {
        recorded_at: 0,
        recorded_start: Duration::from_secs(1),
        hot_start: Duration::ZERO,
        windows_before_start: u32::MAX,
        threads: 1,
        chunk_pages: 1,
        device,
        predicted_replay: Duration::from_secs(1),
        predicted_start: Duration::ZERO,
    };
    let command = vec!["true".into()];
    PrefetchPlan { summary, command, targets, steps: (0..=files.len()).map(step).collect() }.to_bytes().unwrap()
}
