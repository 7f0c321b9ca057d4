//! `--html`: an inspection as a page.

use coldstart_app::inspect::{Report, SCHEMA};
use coldstart_output::OutputTarget;
use coldstart_view::page::ReportKind;

use crate::args::inspect::InspectArgs;
use crate::error::CliError;
use crate::output::page;
use crate::output::path::printable;

/// Writes the page of an inspection.
pub(super) fn write(place: &OutputTarget, args: &InspectArgs, report: &Report) -> Result<(), CliError> {
    page::write(place, ReportKind::Inspect, &title(args), SCHEMA, report)
}

fn title(args: &InspectArgs) -> String {
    let names: Vec<String> = args.targets.iter().map(|target| printable(target)).collect();
    let loads = if args.closure { " and all it loads" } else { "" };
    let other = args.compare.as_deref().map(|other| format!(", compared with {}", printable(other)));
    format!("What start-up costs in {}{loads}{}", names.join(" "), other.unwrap_or_default())
}
