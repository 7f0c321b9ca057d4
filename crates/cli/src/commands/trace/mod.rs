//! `coldstart trace`: record what one start of a program really does, and show it.

mod import;
mod record;
mod show;
mod sql;

use std::path::Path;

use coldstart_profile::pattern::means_file;
use coldstart_profile::trace::Trace;
use coldstart_tracefile::TraceFile;

use crate::args::trace::{TraceAction, TraceArgs};
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &TraceArgs) -> Result<Exit, CliError> {
    match &args.action {
        Some(TraceAction::Show(args)) => show::run(args),
        Some(TraceAction::Sql(args)) => sql::run(args),
        Some(TraceAction::Import(args)) => import::run(args),
        None => record::run(&args.record),
    }
}

/// Whether one of the patterns means an object or file; its soname is asked for last.
fn is_meant<'a>(patterns: &[String], path: &Path, soname: impl Fn() -> Option<&'a str>) -> bool {
    patterns.iter().any(|pattern| means_file(pattern, path, &soname))
}

fn read(path: &Path) -> Result<Trace, CliError> {
    Ok(TraceFile::open(path)?.read()?)
}
