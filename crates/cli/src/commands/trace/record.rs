//! Record one start of a program into a trace file.
//!
//! The program inherits the caller's stdin, stdout and stderr. So coldstart prints nothing to stdout except with `--json`,
//! which drops the program's output.

use coldstart_app::kinds;
use coldstart_app::trace::record::{RecordOptions, default_path, record};
use coldstart_launch::Readiness;
use coldstart_output::OutputTarget;
use coldstart_profile::trace::{Run, RunEnd};

use super::show;
use crate::args::trace::RecordArgs;
use crate::commands::launching::{command_line, waiting};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;

pub(super) fn run(args: &RecordArgs) -> Result<Exit, CliError> {
    let command = command_line(&args.program);
    let file = args.output.clone().unwrap_or_else(|| default_path(&command));
    let place = OutputTarget::new(&file, kinds::TRACE, args.force.force)?;
    let options = RecordOptions {
        command,
        waiting: waiting(&args.waiting),
        input: args.input.clone(),
        hide_output: args.hide_output || args.json,
        layers: args.layers(),
        functions_of: args.functions_of.clone(),
        all_functions: args.all_functions,
        cold: args.cold,
    };
    let trace = record(&options, place, &Terminal)?;
    if args.json {
        show::print_json(&trace, "coldstart.trace/1")?;
        return Ok(if trace.run.ready_at.is_some() { Exit::Done } else { Exit::No });
    }
    output::report(&format!("\n{}\nwrote {}\n", show::summary(&trace), printable(&file)));
    Ok(exit(&trace.run, &args.waiting.ready))
}

/// The program's own exit code if the recording waited for its exit.
fn exit(run: &Run, readiness: &Readiness) -> Exit {
    match (readiness, run.end) {
        (_, RunEnd::Interrupted) => Exit::Interrupted,
        (Readiness::Exit, RunEnd::Exited(code)) => Exit::OfProgram(code.to_le_bytes()[0]),
        // As a shell says it.
        (Readiness::Exit, RunEnd::Signalled(signal)) => Exit::OfProgram(128 | signal.to_le_bytes()[0]),
        _ if run.ready_at.is_some() => Exit::Done,
        _ => Exit::No,
    }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::Moment;

    use super::*;

    #[test]
    fn the_exit_code_is_the_programs_where_its_end_is_waited_for() {
        let run = |end, is_ready: bool| Run { end, ready_at: is_ready.then_some(Moment(1)), ..Run::default() };
        let port = Readiness::Port(1);
        let code = |run: &Run, readiness| std::process::ExitCode::from(exit(run, readiness));
        let is = |number: u8| std::process::ExitCode::from(number);
        for (found, expected) in [
            (code(&run(RunEnd::Exited(3), true), &Readiness::Exit), is(3)),
            (code(&run(RunEnd::Signalled(9), true), &Readiness::Exit), is(137)),
            (code(&run(RunEnd::TimedOut, false), &Readiness::Exit), is(1)),
            (code(&run(RunEnd::EndedWhenReady, true), &port), is(0)),
            (code(&run(RunEnd::Exited(0), false), &port), is(1)),
            (code(&run(RunEnd::Interrupted, false), &port), is(130)),
        ] {
            assert_eq!(found, expected);
        }
    }
}
