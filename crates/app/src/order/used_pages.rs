//! The pages of one file that starts used, and traces as inputs.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_output::Inputs;
use coldstart_profile::printable;
use coldstart_profile::trace::{FileId, Trace, TracedFile};
use coldstart_sys::named_file::open_regular;
use coldstart_trace::page_uses;
use rustix::fs::{Stat, fstat};

use crate::error::{AppError, HintExt};
use crate::prefetch::trace_with_pages;

/// How to record what is missing.
pub(super) const RECORD: &str = "record one with `coldstart trace --cold --layers pages,files -- PROGRAM`";

/// The traces, which no output may replace.
pub(super) fn inputs_of(traces: &[PathBuf]) -> Inputs {
    traces
        .iter()
        .fold(Inputs::default(), |inputs, trace| inputs.with(format!("the trace `{}`", printable(trace)), trace))
}

/// For each trace, the pages of `path` that its start used, in the order of their first use.
///
/// A file counts as the traced one under its own path, or under its name if it has the same size and modification time: applications
/// are traced in one place and built in another.
///
/// # Errors
/// If a trace cannot be read, or is of another version of the file; if no trace used it.
pub(super) fn used_pages(path: &Path, traces: &[PathBuf]) -> Result<Vec<Vec<u64>>, AppError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let status = open_regular(path)
        .and_then(|file| Ok(fstat(&file)?))
        .with_context(|| format!("cannot read `{}`", printable(path)))?;
    let is_version = |file: &TracedFile| is_unchanged(file, &status);
    let mut starts = Vec::new();
    for name in traces {
        let trace = trace_with_pages(name)?;
        let same_path = find(&trace, |file| file.path == real);
        let moved = || find(&trace, |file| file.path.file_name() == real.file_name() && is_version(file));
        if let Some(file) =
            same_path.and_then(|id| trace.file(id)).filter(|file| file.identity.is_some() && !is_version(file))
        {
            return Err(anyhow!(
                "`{}` has changed since the trace `{}` was recorded",
                printable(&file.path),
                printable(name)
            ))
            .hint(|| RECORD);
        }
        let Some(wanted) = same_path.or_else(moved) else {
            starts.push(Vec::new());
            continue;
        };
        let uses = page_uses(&trace).into_iter().filter(|(file, _)| *file == wanted);
        let pages = uses.flat_map(|(_, range)| range.start.0..range.end().0);
        starts.push(pages.collect());
    }
    if starts.iter().all(Vec::is_empty) {
        return Err(anyhow!("no traced start used `{}`", printable(path)))
            .hint(|| format!("{RECORD}, as root, with a program that opens this file"));
    }
    Ok(starts)
}

/// Whether a traced file had the size and modification time that an open file has now.
pub(crate) fn is_unchanged(traced: &TracedFile, now: &Stat) -> bool {
    let size = u64::try_from(now.st_size).unwrap_or_default();
    let modified = i128::from(now.st_mtime).saturating_mul(1_000_000_000).saturating_add(i128::from(now.st_mtime_nsec));
    traced.identity.is_some_and(|then| then.size == size && i128::from(then.modified) == modified)
}

fn find(trace: &Trace, is_it: impl Fn(&TracedFile) -> bool) -> Option<FileId> {
    trace.files.iter().zip(0u32..).find(|(file, _)| is_it(file)).map(|(_, number)| FileId(number))
}
