//! `coldstart inspect`: the start-up costs of ELF files.

mod page;
mod render;

use std::path::Path;

use coldstart_app::{
    inspect::{Options, Report, SCHEMA, Survey, inspect},
    kinds, starting, writing,
};
use coldstart_output::OutputTarget;

use crate::args::inspect::{FailOn, InspectArgs};
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, json};

pub(super) fn run(args: &InspectArgs) -> Result<Exit, CliError> {
    let options = Options {
        targets: args.targets.clone(),
        compare: args.compare.clone(),
        closure: if args.closure { Some(&starting::loads) } else { None },
        one_file_system: args.one_file_system,
        keep_lists: args.json || args.html.is_some(),
    };
    let inputs = options.inputs();
    let place =
        |path: &Path, kind| OutputTarget::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let mut page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    let mut picture_place = args.svg.as_deref().map(|path| place(path, kinds::SVG)).transpose()?;
    writing::try_out(page_place.iter().chain(&picture_place))?;
    let console = Console::default();
    let report = inspect(&options, &console);
    let complaints = console.into_complaints();
    let (inspected, other) = (&report.survey, &report.compared_with);
    // If all files had errors, an empty table or comparison would add nothing.
    if complaints.count() > 0 && report.has_empty_side() {
        return Ok(complaints.finish());
    }
    if other.as_ref().is_some_and(|other| other.objects.is_empty()) {
        let name = args.compare.as_deref().map(printable).unwrap_or_default();
        return Err(anyhow::anyhow!("no objects to compare with in `{name}`").into());
    }
    for place in page_place.iter_mut().chain(&mut picture_place) {
        report.add_inputs(place);
    }
    if let Some(place) = &picture_place {
        let picture = render::picture(inspected);
        writing::write_file(place, picture.as_bytes())?;
    }
    if let Some(place) = &page_place {
        page::write(place, args, &report)?;
    }
    match (other, args.json) {
        (_, true) => json::print(SCHEMA, &report)?,
        (Some(other), false) => output::print(&compared(&report, args, other))?,
        (None, false) => output::print(&shown(inspected, args))?,
    }
    Ok(complaints.finish().worse(failed_on(inspected, &args.fail_on)))
}

fn shown(survey: &Survey, args: &InspectArgs) -> String {
    if !survey.closures.is_empty() {
        let closures = survey.closures.iter().map(|closure| render::closure(survey, closure, args.all));
        return closures.collect::<Vec<_>>().join("\n");
    }
    match survey.objects.as_slice() {
        // A directory with one object may also contain other files, which are reported.
        [only] if survey.passed_over.is_empty() && survey.other_files.is_empty() => render::object(only, args.all),
        _ => render::several(survey, args.all),
    }
}

fn compared(report: &Report, args: &InspectArgs, other: &Survey) -> String {
    let survey = &report.survey;
    let names: Vec<String> = args.targets.iter().map(|target| printable(target)).collect();
    let other_name = args.compare.as_deref().map(printable).unwrap_or_default();
    let (gone, new) = report.findings_apart();
    let figures = render::compare(&names.join(" "), &survey.totals, &other_name, &other.totals, &gone, &new);
    figures + &render::pairs(survey, other, args.all)
}

fn failed_on(survey: &Survey, fail_on: &[FailOn]) -> Exit {
    let is_there = survey.findings().any(|finding| fail_on.iter().any(|fail_on| fail_on.means(finding.kind)));
    if is_there { Exit::No } else { Exit::Done }
}
