//! Several plans as one.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_import::FleetTable;
use coldstart_output::{Inputs, OutputTarget};
use coldstart_prefetch::{Merged, PlanInput, Strategy, Survey, plan_prefetch, worthwhile_share};
use coldstart_profile::plan::{MOST_BYTES, PrefetchPlan};
use coldstart_profile::{JsonPath, printable};
use serde::Serialize;

use super::exact::used_by;
use super::recorder::Planner;
use super::{read_plan, view_plan, write_plan};
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::observer::Observer;
use crate::text::{counted, counted_are};
use crate::trace::is_fleet_table;
use crate::writing::{try_out, write_file};

/// Which plans are merged, and how.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// The plans' files; or one fleet table.
    pub plans: Vec<PathBuf>,
    /// The merged plan's file.
    pub output: PathBuf,
    /// The share of the recordings, in percent, that must have a page; `None` for the one that pays on the device.
    pub share: Option<u8>,
    /// When to read; `None` for the predicted faster way.
    pub strategy: Option<Strategy>,
    /// Replace a file even if it is not a plan.
    pub force: bool,
}

/// A merged plan.
#[derive(Clone, Debug, Serialize)]
pub struct MergeOutcome {
    /// Its file.
    #[serde(skip)]
    pub path: PathBuf,
    /// It.
    #[serde(skip)]
    pub merged_plan: PrefetchPlan,
    #[serde(flatten)]
    plan: JsonPath,
    /// Number of recordings; of a fleet table, of hosts with this build of the program.
    pub recordings: u32,
    /// The share of recordings that a page needed, in percent; missing where all recordings are one and the same.
    pub share_percent: Option<u8>,
    /// "blocking", before the program starts, or "concurrent", in parallel with it.
    pub strategy: &'static str,
    /// Bytes that it reads.
    pub bytes: u64,
    /// Reads that it makes.
    pub reads: u64,
    /// Files of which it reads pages.
    pub files: usize,
    /// Names that it looks up.
    pub names: u64,
    /// Bytes of pages that too few recordings have.
    pub left_out_bytes: u64,
    /// Names that too few recordings have.
    pub left_out_names: u64,
    /// Files of which recordings have several versions.
    pub versions: Vec<FileVersions>,
    /// Recordings of another disk: offsets and metadata blocks are not theirs.
    pub on_other_disks: u32,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// A file of which recordings have several versions.
#[derive(Clone, Debug, Serialize)]
pub struct FileVersions {
    /// Its path.
    #[serde(flatten)]
    pub path: JsonPath,
    /// Size of the planned version.
    pub size: u64,
    /// Modification time of the planned version: nanoseconds since 1970-01-01 UTC.
    pub modified: i64,
    /// Number of recordings with another one.
    pub other_recordings: u32,
}

/// Merges plans and writes the result. The plans are read one after the other, twice.
///
/// # Errors
/// If a plan cannot be read or is invalid, or the result cannot be written.
pub fn merge(options: &MergeOptions, observer: &dyn Observer) -> Result<MergeOutcome, AppError> {
    let mut inputs = Inputs::default();
    for plan in &options.plans {
        inputs.add(format!("the plan `{}`", printable(plan)), plan);
    }
    let place = OutputTarget::new(&options.output, kinds::PLAN, options.force)?.not_over(inputs);
    try_out([&place])?;
    let outcome = match options.survey()? {
        Surveyed::Fleet(table) => options.of_fleet(&table, &place)?,
        Surveyed::Same(bytes) => {
            let plan = view_plan(place.path(), &bytes)?.to_plan();
            write_file(&place, &bytes)?;
            MergeOutcome::new(place.path(), plan, options.plans.len())
        }
        Surveyed::Different(survey) => {
            let merged = options.join(survey)?;
            let plan = plan_prefetch(&PlanInput {
                working_set: &merged.working_set,
                device: merged.device,
                hot_start: merged.hot_start,
                recorded_at: merged.recorded_at,
                strategy: options.strategy,
            });
            write_plan(&place, &plan)?;
            MergeOutcome::new(place.path(), plan, options.plans.len()).with(&merged)
        }
    };
    outcome.notes.iter().for_each(|note| observer.note(note));
    Ok(outcome)
}

enum Surveyed {
    /// Not plans, but what an engine made of the starts of many hosts.
    Fleet(FleetTable),
    /// All plans are the same: these bytes.
    Same(Vec<u8>),
    Different(Survey),
}

impl MergeOptions {
    fn survey(&self) -> Result<Surveyed, AppError> {
        if let Some(table) = self.plans.iter().find(|path| is_fleet_table(path)) {
            if self.plans.len() > 1 {
                return Err(anyhow!("cannot merge the fleet table `{}` with others", printable(table)))
                    .hint(|| "merge it alone: one table holds all hosts");
            }
            return Ok(Surveyed::Fleet(FleetTable::read(table)?));
        }
        let mut survey = Survey::default();
        let mut only: Option<Vec<u8>> = None;
        let mut is_same = self.strategy.is_none();
        for path in &self.plans {
            let bytes = read_plan(path)?;
            survey.add(&view_plan(path, &bytes)?);
            match &only {
                Some(first) => is_same &= *first == bytes,
                None => only = Some(bytes),
            }
        }
        let nothing = || anyhow!("cannot merge plans: none was given");
        let only = only.ok_or_else(nothing)?;
        Ok(if is_same { Surveyed::Same(only) } else { Surveyed::Different(survey) })
    }

    /// The plan of the build that is here, for the device of its files here.
    fn of_fleet(&self, table: &FleetTable, place: &OutputTarget) -> Result<MergeOutcome, AppError> {
        let planner = Planner { strategy: self.strategy, hot_start: None };
        let mut notes = Vec::new();
        let all = used_by(&table.trace(1));
        let device = planner.device_of(&all.working_set, &mut notes);
        let share = self.share.unwrap_or_else(|| worthwhile_share(&device));
        let trace = table.trace(share);
        let used = used_by(&trace);
        notes.extend(trace.run.notes);
        notes.extend(used.notes);
        let plan = planner.plan(&used.working_set, device);
        write_plan(place, &plan)?;
        Ok(MergeOutcome {
            recordings: u32::try_from(table.hosts()).unwrap_or(u32::MAX),
            share_percent: Some(share),
            left_out_bytes: table.left_out_bytes(share),
            notes,
            ..MergeOutcome::new(place.path(), plan, 0)
        })
    }

    fn join(&self, survey: Survey) -> Result<Merged, AppError> {
        let mut join = survey.settle().ok_or_else(|| anyhow!("cannot merge plans: none was given"))?;
        for path in &self.plans {
            let bytes = read_plan(path)?;
            join.add(&view_plan(path, &bytes)?);
        }
        let merged = join.finish(self.share);
        // A damaged or made-up plan may ask for any number of pages.
        if merged.working_set.bytes() > MOST_PLANNED_BYTES {
            return Err(anyhow!("cannot merge plans: together they read {} GiB", merged.working_set.bytes() >> 30))
                .hint(|| "look at each with `coldstart prefetch show PLAN`: one is not the recording of a start");
        }
        Ok(merged)
    }
}

/// More than any plan of [`MOST_BYTES`] reads with one step for each 512 KiB.
const MOST_PLANNED_BYTES: u64 = MOST_BYTES << 13;

impl MergeOutcome {
    fn new(path: &Path, plan: PrefetchPlan, recordings: usize) -> Self {
        let pages = plan.steps.iter().filter_map(|step| step.pages);
        let with_pages: std::collections::HashSet<u32> =
            plan.steps.iter().filter(|step| step.pages.is_some()).map(|step| step.target).collect();
        Self {
            path: path.to_owned(),
            plan: JsonPath::new(path),
            recordings: u32::try_from(recordings).unwrap_or(u32::MAX),
            share_percent: None,
            strategy: plan.summary.strategy_name(),
            bytes: pages.clone().map(|pages| pages.length()).fold(0, u64::saturating_add),
            reads: pages.clone().count() as u64,
            files: with_pages.len(),
            names: (plan.steps.len() - pages.count()) as u64,
            left_out_bytes: 0,
            left_out_names: 0,
            versions: Vec::new(),
            on_other_disks: 0,
            notes: Vec::new(),
            merged_plan: plan,
        }
    }

    fn with(self, merged: &Merged) -> Self {
        let version = |file: &coldstart_prefetch::OtherVersions| FileVersions {
            path: JsonPath::new(&file.path),
            size: file.kept.size,
            modified: file.kept.modified,
            other_recordings: file.others,
        };
        Self {
            share_percent: Some(merged.share),
            left_out_bytes: merged.left_out_bytes,
            left_out_names: merged.left_out_names,
            versions: merged.other_versions.iter().map(version).collect(),
            on_other_disks: merged.on_other_disks,
            notes: notes(merged),
            ..self
        }
    }
}

fn notes(merged: &Merged) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(first) = merged.other_versions.first() {
        notes.push(format!(
            "{} recorded in several versions, for example {}: the plan has the version of most recordings, and of \
             equally many the latest",
            counted_are(merged.other_versions.len() as u64, "file"),
            printable(&first.path),
        ));
    }
    if merged.on_other_disks > 0 {
        notes.push(format!(
            "{} made on another disk, or with unknown disk offsets: offsets and metadata blocks are those of the others",
            counted_were(merged.on_other_disks),
        ));
    }
    if merged.device_kinds > 1 {
        notes.push(
            "the recordings' devices differ: the plan is for a typical one; on others, `--strategy` may be faster"
                .to_owned(),
        );
    }
    if merged.programs > 1 {
        notes.push(format!(
            "the recordings are of {}: pages that only one of them uses may be left out",
            counted(merged.programs as u64, "program"),
        ));
    }
    notes
}

fn counted_were(recordings: u32) -> String {
    let was = if recordings == 1 { "was" } else { "were" };
    format!("{} {was}", counted(recordings.into(), "recording"))
}
