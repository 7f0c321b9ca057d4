//! Recording: one start of a program, into a trace file.
//!
//! The program's input and output are ours, as if we were not there, so nothing of ours goes to stdout unless JSON was asked
//! for, and then the program's output is dropped.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_app::kinds;
use coldstart_app::launching::{input, inputs_of};
use coldstart_launch::{CommandLine, Input, LaunchOptions, Output, Readiness};
use coldstart_output::OutputPlace;
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_profile::trace::{FileCategory, Layer, Run, RunEnd, StartState, Trace, TracedFile};
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};
use coldstart_trace::start::{PreparedTrace, TraceOptions};
use coldstart_tracefile::{try_out, write_trace_at};

use super::{is_meant, show};
use crate::args::trace::RecordArgs;
use crate::commands::launching::{command_line, waiting_options};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;
use crate::output::path::printable;

/// What is to be recorded, and how.
struct Wanted<'a> {
    command: &'a CommandLine,
    options: &'a LaunchOptions,
    layers: &'a [Layer],
    /// Patterns of objects whose functions are wanted; empty for all.
    functions_of: &'a [String],
    /// Watch all functions, not only those in code that was seen to be used.
    all_functions: bool,
    /// Make the caches cold first.
    cold: bool,
}

pub(super) fn run(args: &RecordArgs) -> Result<Exit, CliError> {
    let command = command_line(&args.program);
    let file = args.output.clone().unwrap_or_else(|| default_path(&command));
    let inputs = inputs_of([&command], args.input.as_deref());
    let place = OutputPlace::new(&file, kinds::TRACE, args.force.force)?.not_over(inputs);
    try_out(&place)?;
    let (options, layers) = (launch_options(args)?, args.layers());
    let wanted = Wanted {
        command: &command,
        options: &options,
        layers: &layers,
        functions_of: &args.functions_of,
        all_functions: args.all_functions,
        cold: args.cold,
    };
    let trace = recorded(&wanted)?;
    write_trace_at(&place, &trace)?;
    if args.json {
        show::print_json(&trace, "coldstart.trace/1")?;
        return Ok(if trace.run.ready_at.is_some() { Exit::Done } else { Exit::No });
    }
    output::report(&format!("\n{}\nwrote {}\n", show::summary(&trace), printable(&file)));
    Ok(exit(&trace.run, &args.waiting.ready))
}

fn recorded(wanted: &Wanted<'_>) -> Result<Trace, CliError> {
    let state = if !wanted.cold {
        StartState::AsIs
    } else if may_drop_caches() {
        StartState::Cold
    } else {
        StartState::FilesEvicted
    };
    if state == StartState::FilesEvicted {
        output::note(
            "without root the system's caches cannot be dropped: the program is started once to learn its files, and these are evicted",
        );
        evict_files(&wanted.start(state, &[Layer::Files, Layer::Pages].into())?);
    }
    wanted.start(state, &wanted.layers.iter().copied().collect())
}

/// What stays in memory costs nothing at the start that is recorded, and is seen to.
fn evict_files(trace: &Trace) {
    let is_on_disk = |file: &&TracedFile| !matches!(file.category, FileCategory::Memory | FileCategory::Metadata);
    for file in trace.files.iter().filter(is_on_disk) {
        let _ = evict(&file.path, EvictOptions { write_first: false });
    }
}

impl Wanted<'_> {
    fn start(&self, state: StartState, layers: &BTreeSet<Layer>) -> Result<Trace, CliError> {
        let options = TraceOptions {
            layers: layers.clone(),
            launch: self.options.clone(),
            readiness: self.options.readiness.to_string(),
            state,
            functions_everywhere: self.all_functions,
        };
        let prepared = PreparedTrace::new(self.command, &options)?;
        if state == StartState::Cold {
            drop_caches().context("cannot drop the caches")?;
        }
        Ok(prepared.record(&|path, soname| self.wants_functions_of(path, soname))?.trace)
    }

    fn wants_functions_of(&self, path: &Path, soname: Option<&str>) -> bool {
        self.functions_of.is_empty() || is_meant(self.functions_of, path, || soname)
    }
}

/// The trace's place unless another is asked for: in the working directory, under the program's name.
fn default_path(command: &CommandLine) -> PathBuf {
    let mut name = Path::new(&command.program).file_name().unwrap_or(OsStr::new("program")).to_os_string();
    name.push(".coldtrace");
    PathBuf::from(name)
}

/// The program's streams are ours unless something else is asked for.
fn launch_options(args: &RecordArgs) -> Result<LaunchOptions, CliError> {
    Ok(LaunchOptions {
        input: input(args.input.as_deref(), Input::Inherit)?,
        output: if args.hide_output || args.json { Output::Null } else { Output::Inherit },
        ..waiting_options(&args.waiting)?
    })
}

/// The program's own code where its end was waited for, as if we were not there.
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

    #[test]
    fn a_trace_has_the_programs_name() {
        let command = |program: &str| CommandLine { program: program.into(), arguments: Vec::new() };
        assert_eq!(default_path(&command("/usr/bin/vi")), Path::new("vi.coldtrace"));
        assert_eq!(default_path(&command("..")), Path::new("program.coldtrace"));
    }
}
