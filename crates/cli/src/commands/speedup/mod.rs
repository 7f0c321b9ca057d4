//! `coldstart speedup`: the whole story for one program: measure, see, fix, prove, measure again.

mod fix;
mod page;
mod prefetch_fix;
mod sameness;
mod story;

use std::path::Path;

use coldstart_app::kinds;
use coldstart_app::launching::inputs_of;
use coldstart_app::measure::{candidate, coldest_state, files_of};
use coldstart_app::prefetch::{PlanRecorder, default_plan_path};
use coldstart_app::writing;
use coldstart_measure::{Candidate, MeasurePlan, StartState, measure};
use coldstart_output::OutputPlace;
use coldstart_prefetch::transfer_limit;

use crate::args::speedup::SpeedupArgs;
use crate::commands::launching::{command_line, launching};
use crate::commands::measure::Progress;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text;
use crate::output::{self, json};
use fix::Fix;
use prefetch_fix::PrefetchFix;
use story::{Step, Story};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.speedup/1";

pub(crate) fn run(args: &SpeedupArgs) -> Result<Exit, CliError> {
    let program = command_line(&args.program);
    let options = launching(&args.launching).options()?;
    let plan_path = args.output.clone().unwrap_or_else(|| default_plan_path(&program));
    let inputs = inputs_of([&program], args.launching.input.as_deref());
    let place =
        |path: &Path, kind| OutputPlace::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let plan_place = place(&plan_path, kinds::PLAN)?;
    let page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    writing::try_out([&plan_place].into_iter().chain(&page_place))?;
    let cold = coldest_state(&Terminal);

    output::note(&format!("recording a {cold} start of {program}"));
    let recorder =
        PlanRecorder { command: &program, options: &options, strategy: args.planning.strategy.into(), make_cold: true };
    let recorded = recorder.record()?;
    for remark in &recorded.notes {
        output::note(remark);
    }

    // Later fixes join this list; each is measured beside the plain start, in the same rounds.
    let mut fixes: Vec<Box<dyn Fix + '_>> =
        vec![Box::new(PrefetchFix::new(&program, &options, &plan_place, &recorded)?)];

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
            unchecked: proof.unchecked,
            command: fix.command_from_now_on(),
        });
        candidates.push(candidate(format!("with {}", fix.name()), command, &options)?);
    }

    output::note(&format!(
        "measuring {} of each, in alternating order",
        text::plain(&text::counted(args.runs as u64, "start"))
    ));
    let mut plan = MeasurePlan::new(candidates, vec![cold, StartState::Hot]);
    plan.runs = args.runs;
    let labels = plan.commands.iter().map(|command| command.label.clone()).collect();
    let measurement = measure(&plan, &mut Progress::new(labels))?;

    let bytes = recorded.working_set.bytes();
    let device = recorded.plan.summary.device;
    let story = Story::new(measurement, steps, cold, bytes, device, transfer_limit(bytes, &device));
    if let Some(place) = &page_place {
        page::write(place, &program.to_string(), &story)?;
    }
    if args.json {
        json::print(SCHEMA, &story)?;
    } else {
        output::print(&story.in_words())?;
    }
    Ok(if story.succeeded() { Exit::Done } else { Exit::No })
}
