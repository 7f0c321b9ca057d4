//! `coldstart trace import`: from what `perf record` has recorded to a trace.

use coldstart_trace::import::import;
use coldstart_tracefile::write_trace;

use super::show;
use crate::args::trace::ImportArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;

pub(super) fn run(args: &ImportArgs) -> Result<Exit, CliError> {
    let trace = match import(&args.recording) {
        Ok(trace) => trace,
        Err(error) => {
            let hint = error.hint();
            let failed = Err(CliError::from(error));
            return match hint {
                Some(hint) => failed.hint(|| hint),
                None => failed,
            };
        }
    };
    write_trace(&args.output, &trace)?;
    if args.json {
        show::print_json(&trace, "coldstart.trace-import/1")?;
    } else {
        output::report(&format!("\n{}\nwrote {}\n", show::summary(&trace), printable(&args.output)));
    }
    Ok(Exit::Done)
}
