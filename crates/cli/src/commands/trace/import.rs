//! `coldstart trace import`: from what `perf record` has recorded to a trace.

use crate::args::trace::ImportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;

pub(super) fn run(args: &ImportArgs) -> Result<Exit, CliError> {
    let (from, to) = (printable(&args.recording), printable(&args.output));
    Err(anyhow::anyhow!("cannot import `{from}` to `{to}`: importing is not built in").into())
}
