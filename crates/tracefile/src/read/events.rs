//! Events and lookups.

use std::collections::HashMap;
use std::ops::ControlFlow;

use coldstart_profile::trace::{CodeAddress, Event, EventKind, FileId, Lookup, Moment, ProcessId, ThreadId, Trace};

use super::rows::{Wrong, numbered, rows};
use crate::error::TraceFileError;
use crate::open::TraceFile;
use crate::schema::MOMENT_SHIFT;
use crate::values::unsigned;

pub(super) fn each(file: &TraceFile, take: &mut dyn FnMut(&Event) -> ControlFlow<()>) -> Result<(), TraceFileError> {
    let moments = moments(file)?;
    let mut last = None;
    let sql = "SELECT id, thread, kind, file, page, pages, code_address, code_file FROM event ORDER BY id";
    rows(file, "event", sql, |cells| {
        let number = cells.integer(0)?;
        if last.replace(number).is_some_and(|last| last >= number) {
            return Err(Wrong::Value("wrong order".to_owned()));
        }
        let at = if moments.is_empty() { None } else { moments.get(&number) };
        let kind = cells.small::<u8>(2)?;
        let file = cells.optional(3, |cells, column| cells.small(column))?.map(FileId);
        let address = cells.optional(6, |cells, column| cells.u64(column))?;
        let code_file = cells.optional(7, |cells, column| cells.small(column))?.map(FileId).or(file);
        let code = match (address, code_file) {
            (Some(address), Some(file)) => Some(CodeAddress { file, address }),
            (Some(_), None) => return Err(Wrong::Value("code address without a file".to_owned())),
            (None, _) => None,
        };
        Ok(take(&Event {
            at: at.copied().unwrap_or(Moment(unsigned(number >> MOMENT_SHIFT))),
            thread: ThreadId(cells.small(1)?),
            kind: EventKind::from_number(kind).ok_or_else(|| Wrong::Value(format!("unknown kind {kind}")))?,
            file,
            page: cells.u64(4)?,
            pages: cells.small(5)?,
            code,
        }))
    })
}

/// Moments that the numbers of their events cannot tell.
fn moments(file: &TraceFile) -> Result<HashMap<i64, Moment>, TraceFileError> {
    let mut moments = HashMap::new();
    rows(file, "moment", "SELECT event, at FROM moment ORDER BY event", |cells| {
        if moments.insert(cells.integer(0)?, cells.moment(1)?).is_some() {
            return Err(Wrong::Value("duplicate".to_owned()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(moments)
}

/// The lookups; `trace` knows the files.
pub(super) fn lookups(file: &TraceFile, trace: &Trace) -> Result<Vec<Lookup>, TraceFileError> {
    let mut lookups = Vec::new();
    let sql = "SELECT id, at, process, path, kind, file, failed FROM lookup ORDER BY id";
    numbered(file, "lookup", 0, sql, |cells| {
        let file = cells.optional(5, |cells, column| cells.small(column))?.map(FileId);
        let path = match cells.optional(3, |cells, column| cells.bytes(column))? {
            Some(path) => path.into(),
            None => {
                let file = file.and_then(|file| trace.file(file));
                file.ok_or_else(|| Wrong::Value("missing path".to_owned()))?.path.clone()
            }
        };
        lookups.push(Lookup {
            at: cells.moment(1)?,
            process: cells.optional(2, |cells, column| cells.small(column))?.map(ProcessId),
            path,
            kind: cells.word(4)?,
            file,
            failed: cells.flag(6)?,
        });
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(lookups)
}
