//! `coldstart speedup`: the whole story for one program: measure, see, fix, prove, measure again.

mod fix;
mod page;
mod prefetch_fix;
mod story;

use coldstart_measure::{Candidate, MeasurePlan, StartState};
use coldstart_prefetch::transfer_limit;

use crate::args::speedup::SpeedupArgs;
use crate::commands::launching::{command_line, launch_options};
use crate::commands::measure::{candidate, coldest_state, files_of, measure_with_progress};
use crate::commands::prefetch::{PlanRecorder, default_plan_path};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, destination, json};
use fix::Fix;
use prefetch_fix::PrefetchFix;
use story::{Step, Story};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.speedup/1";

pub(crate) fn run(args: &SpeedupArgs) -> Result<Exit, CliError> {
    destination::try_out(args.html.as_deref())?;
    let program = command_line(&args.program);
    let options = launch_options(&args.launching)?;
    let plan_path = args.output.clone().unwrap_or_else(|| default_plan_path(&program));
    destination::try_out(Some(&plan_path))?;
    let cold = coldest_state();

    output::note(&format!("recording a {cold} start of {program}"));
    let recorder = PlanRecorder { command: &program, options: &options, planning: &args.planning, make_cold: true };
    let recorded = recorder.record()?;
    for remark in &recorded.notes {
        output::note(remark);
    }

    // Later fixes join this list; each is measured beside the plain start, in the same rounds.
    let mut fixes: Vec<Box<dyn Fix + '_>> =
        vec![Box::new(PrefetchFix::new(&program, &options, &plan_path, &recorded)?)];

    let plain = Candidate {
        label: "before".to_owned(),
        command_line: program.clone(),
        launch: options.clone(),
        files: files_of(&recorded.working_set),
    };
    let mut candidates = vec![plain];
    let mut steps = Vec::new();
    for fix in &mut fixes {
        let command = fix.apply()?;
        let proof = fix.prove()?;
        steps.push(Step {
            fix: fix.name(),
            predicted: fix.predict(),
            proven: proof.holds,
            findings: proof.findings,
            command: fix.command_from_now_on(),
        });
        candidates.push(candidate(format!("with {}", fix.name()), command, &options)?);
    }

    output::note(&format!("measuring {} starts of each, in alternating order", args.runs));
    let mut plan = MeasurePlan::new(candidates, vec![cold, StartState::Hot]);
    plan.runs = args.runs;
    let measurement = measure_with_progress(&plan)?;

    let bytes = recorded.working_set.bytes();
    let device = recorded.plan.summary.device;
    let story = Story::new(measurement, steps, cold, bytes, device, transfer_limit(bytes, &device));
    if let Some(path) = &args.html {
        page::write(path, &program.to_string(), &story)?;
    }
    if args.json {
        json::print(SCHEMA, &story)?;
    } else {
        output::print(&story.in_words())?;
    }
    Ok(if story.succeeded() { Exit::Done } else { Exit::No })
}
