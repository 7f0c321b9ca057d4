//! `coldstart trace`: record what one start of a program really does, and show it.

mod import;
mod record;
mod show;
mod sql;

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_profile::trace::Trace;
use coldstart_tracefile::TraceFile;

use crate::args::trace::{TraceAction, TraceArgs};
use crate::commands::ldcache::fits_pattern;
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

/// Whether one of the patterns means an object or file: its path, its file name or its soname, which is asked for last.
fn is_meant<'a>(patterns: &[String], path: &Path, soname: impl FnOnce() -> Option<&'a str>) -> bool {
    let is = |name: &[u8]| patterns.iter().any(|pattern| fits_pattern(pattern.as_bytes(), name));
    is(path.as_os_str().as_bytes())
        || path.file_name().is_some_and(|name| is(name.as_bytes()))
        || soname().is_some_and(|name| is(name.as_bytes()))
}

fn read(path: &Path) -> Result<Trace, CliError> {
    Ok(TraceFile::open(path)?.read()?)
}
