//! `coldstart trace import`: from what `perf record` has recorded to a trace.

use coldstart_import::import;
use coldstart_output::{Inputs, OutputPlace};
use coldstart_tracefile::{try_out, write_trace_at};

use super::show;
use crate::args::trace::ImportArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, kinds};

pub(super) fn run(args: &ImportArgs) -> Result<Exit, CliError> {
    let inputs = Inputs::default().with("the recording itself", &args.recording);
    let place = OutputPlace::new(&args.output, kinds::TRACE, args.force.force)?.not_over(inputs);
    try_out(&place)?;
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
    write_trace_at(&place, &trace)?;
    if args.json {
        show::print_json(&trace, "coldstart.trace-import/1")?;
    } else {
        output::report(&format!("\n{}\nwrote {}\n", show::summary(&trace), printable(&args.output)));
    }
    Ok(Exit::Done)
}
