//! `coldstart trace import`: convert a recording of `perf record`, or a fleet table, to a trace.

use coldstart_app::kinds;
use coldstart_app::trace::import;
use coldstart_output::OutputTarget;

use super::show;
use crate::args::trace::ImportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;

pub(super) fn run(args: &ImportArgs) -> Result<Exit, CliError> {
    let place = OutputTarget::new(&args.output, kinds::TRACE, args.force.force)?;
    let trace = import(&args.recording, args.share, place)?;
    if args.json {
        show::print_json(&trace, "coldstart.trace-import/1")?;
    } else {
        output::report(&format!("\n{}\nwrote {}\n", show::summary(&trace), printable(&args.output)));
    }
    Ok(Exit::Done)
}
