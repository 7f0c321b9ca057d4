//! Record one start of a program into a trace file.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::{CommandLine, Input, LaunchOptions, Output};
use coldstart_output::{Inputs, OutputTarget};
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_profile::trace::{FileCategory, Layer, StartState, Trace, TracedFile};
use coldstart_sys::drop_caches::{drop_caches, drop_refusal};
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_tracefile::{try_out, write_trace_at};

use super::is_meant;
use crate::error::AppError;
use crate::launching::{Waiting, input, inputs_of};
use crate::observer::Observer;

/// Options of a recording.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The program.
    pub command: CommandLine,
    /// When the start is over.
    pub waiting: Waiting,
    /// The program's standard input, a regular file; by default the caller's.
    pub input: Option<PathBuf>,
    /// Drop the program's output; otherwise it goes to the caller's stdout and stderr.
    pub hide_output: bool,
    /// Layers to record.
    pub layers: Vec<Layer>,
    /// Patterns of objects for the layer `functions`; empty for all.
    pub functions_of: Vec<String>,
    /// Watch all functions, not only those on pages that were touched.
    pub all_functions: bool,
    /// Make the caches cold first.
    pub cold: bool,
}

/// Starts the program and writes its trace to `place`, which must be of the kind [`crate::kinds::TRACE`]. If the caches cannot
/// be dropped, the observer gets a note.
///
/// # Errors
/// If the program cannot be started or followed, or the trace cannot be written. A start that never became ready is not an
/// error: the trace records it.
pub fn record(options: &RecordOptions, place: OutputTarget, observer: &dyn Observer) -> Result<Trace, AppError> {
    let place = place.not_over(options.inputs());
    try_out(&place)?;
    let recording = Recording { options, launch: options.launch()? };
    let trace = recording.trace(observer)?;
    write_trace_at(&place, &trace)?;
    Ok(trace)
}

/// The default output: `PROGRAM.coldtrace` in the current directory.
pub fn default_path(command: &CommandLine) -> PathBuf {
    let mut name = Path::new(&command.program).file_name().unwrap_or(OsStr::new("program")).to_os_string();
    name.push(".coldtrace");
    PathBuf::from(name)
}

impl RecordOptions {
    fn inputs(&self) -> Inputs {
        inputs_of([&self.command], self.input.as_deref())
    }

    /// By default the program has the caller's streams.
    fn launch(&self) -> Result<LaunchOptions, AppError> {
        Ok(LaunchOptions {
            input: input(self.input.as_deref(), Input::Inherit)?,
            output: if self.hide_output { Output::Null } else { Output::Inherit },
            ..self.waiting.options()?
        })
    }

    fn wants_functions_of(&self, path: &Path, soname: Option<&str>) -> bool {
        self.functions_of.is_empty() || is_meant(&self.functions_of, path, || soname)
    }
}

struct Recording<'a> {
    options: &'a RecordOptions,
    launch: LaunchOptions,
}

impl Recording<'_> {
    fn trace(&self, observer: &dyn Observer) -> Result<Trace, AppError> {
        let state = match drop_refusal() {
            _ if !self.options.cold => StartState::AsIs,
            None => StartState::Cold,
            Some(reason) => {
                observer.note(&format!(
                    "cannot drop the system's caches ({reason}): the program is started once to find its files, and these are evicted"
                ));
                let state = StartState::FilesEvicted;
                evict_files(&self.start(state, &[Layer::Files, Layer::Pages].into())?, self.launch.mounts.as_deref());
                state
            }
        };
        self.start(state, &self.options.layers.iter().copied().collect())
    }

    fn start(&self, state: StartState, layers: &BTreeSet<Layer>) -> Result<Trace, AppError> {
        let options = TraceOptions {
            layers: layers.clone(),
            launch: self.launch.clone(),
            readiness: self.launch.readiness.to_string(),
            state,
            functions_everywhere: self.options.all_functions,
        };
        let prepared = PreparedTrace::new(&self.options.command, &options)?;
        if state == StartState::Cold {
            drop_caches().context("cannot drop the caches")?;
        }
        Ok(prepared.record(&|path, soname| self.options.wants_functions_of(path, soname))?.trace)
    }
}

/// Evicts the files of a trace. Errors are ignored: the recorded start shows which pages remained resident.
fn evict_files(trace: &Trace, mounts: Option<&PrivateMounts>) {
    let is_on_disk = |file: &&TracedFile| !matches!(file.category, FileCategory::Memory | FileCategory::Metadata);
    for file in trace.files.iter().filter(is_on_disk) {
        let _ = evict(outside(mounts, &file.path), EvictOptions { write_first: false });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coldstart_launch::Readiness;
    use coldstart_profile::trace::RunEnd;

    use super::*;
    use crate::kinds;
    use crate::observer::Silent;

    #[test]
    fn a_trace_has_the_programs_name() {
        let command = |program: &str| CommandLine { program: program.into(), arguments: Vec::new() };
        assert_eq!(default_path(&command("/usr/bin/vi")), Path::new("vi.coldtrace"));
        assert_eq!(default_path(&command("..")), Path::new("program.coldtrace"));
    }

    #[test]
    fn a_start_is_recorded_into_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("true.coldtrace");
        let waiting =
            Waiting { ready: Readiness::Exit, time_limit: Duration::from_secs(60), grace: Duration::from_secs(1) };
        let options = RecordOptions {
            command: CommandLine { program: "true".into(), arguments: Vec::new() },
            waiting,
            input: None,
            hide_output: true,
            layers: vec![Layer::Phases],
            functions_of: Vec::new(),
            all_functions: false,
            cold: false,
        };
        let place = OutputTarget::new(&path, kinds::TRACE, false).unwrap();
        let trace = record(&options, place, &Silent).unwrap();
        assert_eq!(trace.run.end, RunEnd::Exited(0));
        assert_eq!(super::super::read(&path).unwrap().run.command, trace.run.command);
    }
}
