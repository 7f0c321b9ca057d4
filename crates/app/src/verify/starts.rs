//! Starts of a bound program and its original: the loader's actions, their cost, and the exit status.

use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::Binding;
use coldstart_launch::{CommandLine, End, LaunchOptions, Readiness};
use coldstart_observe::loader_log::{
    FirstDifference, LoaderDifference, LoaderLog, LoaderLogError, LoaderLogMode, MappedObject, compare, loader_log,
    relocation_cycles,
};
use coldstart_observe::syscalls::{CountOptions, Ended, SyscallCounts, SyscallsError, Until, count_syscalls};
use coldstart_output::{StagedFile, remove_leftovers};
use coldstart_profile::printable;
use coldstart_sys::named_file::read_regular;
use serde::Serialize;

use super::{Options, StartOptions};
use crate::error::AppError;

/// With fewer runs, all runs of one program are too often slower by chance: with 5 each, once in 252 times.
const FEWEST_RUNS: usize = 5;
/// A wrong order costs millions of cycles. Some ten thousand cycles (a few first touches of pages) are noise: a program with
/// three libraries takes no more for all its relocations.
const NOTICED_CYCLES: u64 = 100_000;

/// The starts of both programs, or of the bound program alone.
#[derive(Debug, Serialize)]
pub struct Starts {
    /// Why the original was not started, if it was not.
    pub no_original: Option<String>,
    /// The start of the original.
    pub before: Option<Start>,
    /// The start of the bound program.
    pub after: Start,
    /// Why the orders could not be compared, or their first difference.
    pub parting: Option<String>,
    /// Failed probes before the program's entry point, except for variants below the links.
    pub stray_probes: Vec<PathBuf>,
}

/// The start of one program.
#[derive(Debug, Serialize)]
pub struct Start {
    /// How it ended: "exited with code 0", "was killed by signal 11".
    pub end: String,
    /// Whether it was ended at the time limit.
    pub reached_limit: bool,
    /// System calls of the first process.
    pub system_calls: u64,
    /// Those of them that failed.
    pub failed_calls: u64,
    /// Up to where they were counted.
    pub counted_until: CountedUntil,
    /// Failed probes before the program's entry point.
    pub failed_probes: usize,
    /// Number of relocations with a symbol lookup.
    pub relocations: Option<u64>,
    /// The loader's time for relocation in each run, in cycles, ascending.
    pub relocation_cycles: Vec<u64>,
}

/// Up to where system calls were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedUntil {
    /// To the end of the last process.
    Exit,
    /// To the program's entry point, where the loader is done.
    EntryPoint,
    /// To the time limit.
    TimeLimit,
}

impl Start {
    /// The median of the cycles.
    pub fn median_cycles(&self) -> Option<u64> {
        self.relocation_cycles.get(self.relocation_cycles.len() / 2).copied()
    }
}

impl Starts {
    /// Whether the bound program does the same, exits in the same way, has no failed probes and relocates no slower.
    pub fn holds(&self) -> bool {
        self.parting.is_none()
            && self.stray_probes.is_empty()
            && self.before.as_ref().is_none_or(|before| before.end == self.after.end)
            && !self.relocates_slower()
            && !self.reached_limit()
    }

    /// Whether one of both was ended at the time limit, so that not all could be compared.
    pub fn reached_limit(&self) -> bool {
        [self.before.as_ref(), Some(&self.after)].into_iter().flatten().any(|start| start.reached_limit)
    }

    /// Whether every run of the bound program took longer for relocation than every run of the original, by more than 3 %
    /// and 100,000 cycles. Of fewer than five runs, that happens by chance.
    pub fn relocates_slower(&self) -> bool {
        let cycles = &self.after.relocation_cycles;
        let slowest = self.before.as_ref().and_then(|before| before.relocation_cycles.last());
        match (slowest, cycles.first()) {
            (Some(slowest), Some(fastest)) if cycles.len() >= FEWEST_RUNS => {
                let more = fastest.saturating_sub(*slowest);
                more > NOTICED_CYCLES && more.saturating_mul(100) > slowest.saturating_mul(3)
            }
            _ => false,
        }
    }
}

/// Starts both.
pub(super) fn starts(
    options: &Options,
    starting: &StartOptions,
    binding: &Binding,
    original: Option<&[u8]>,
) -> Result<Starts, AppError> {
    let launching = &starting.launching;
    let bound = std::path::absolute(&options.output)?;
    let (original, no_original) = match Standing::of(options, binding, &bound, original) {
        Ok(original) => (Some(original), None),
        Err(reason) => (None, Some(reason)),
    };
    let command = |program: &Path| CommandLine::new(program, starting.arguments.iter().cloned());
    let original = original.as_ref().map(|original| command(&original.path));
    let bound_command = command(&bound);
    let before_log = original.as_ref().map(|original| log_of(original, launching)).transpose()?;
    let after_log = log_of(&bound_command, launching)?;
    let reached_limit = [before_log.as_ref(), Some(&after_log)].into_iter().flatten().any(reached_limit);
    // A program that does not end by itself shows with its first instruction what there is to count.
    let to_the_end = matches!(launching.readiness, Readiness::Exit) && !reached_limit;
    let watched = |command: &CommandLine, log| {
        Ok::<_, AppError>(Watched { counts: counts(command, launching, to_the_end)?, log })
    };
    let before = original.as_ref().zip(before_log).map(|(original, log)| watched(original, log)).transpose()?;
    let after = watched(&bound_command, after_log)?;
    let mut cycles = [Vec::new(), Vec::new()];
    let runs = if after.log.is_ok() && !reached_limit { starting.runs } else { 0 };
    for number in 0..runs {
        // Other load on the machine affects both alike.
        let both = [original.as_ref(), Some(&bound_command)];
        for turn in 0..2 {
            let which = (turn + number as usize) % 2;
            if let Some(command) = both[which] {
                cycles[which].extend(unless_not_started(relocation_cycles(command, launching, 1))?.unwrap_or_default());
            }
        }
    }
    let real = bound.canonicalize().unwrap_or_else(|_| bound.clone());
    let parting = parting(before.as_ref(), &after);
    let stray_probes = match &after.log {
        Ok(log) => stray(log, binding, &real),
        Err(_) => Vec::new(),
    };
    let [before_cycles, after_cycles] = cycles.map(|mut cycles| {
        cycles.sort_unstable();
        cycles
    });
    Ok(Starts {
        no_original,
        before: before.map(|before| before.start(before_cycles)),
        after: after.start(after_cycles),
        parting,
        stray_probes,
    })
}

/// The observations of one program.
struct Watched {
    counts: SyscallCounts,
    /// Or why there is no log.
    log: Result<LoaderLog, String>,
}

/// The loader's log of a start, or why there is none.
fn log_of(command: &CommandLine, launching: &LaunchOptions) -> Result<Result<LoaderLog, String>, AppError> {
    let log = unless_not_started(loader_log(command, launching, LoaderLogMode::Run))?;
    // An audit library has its own namespace.
    Ok(log.map(|log| LoaderLog { objects: log.objects.into_iter().filter(is_programs).collect(), ..log }))
}

/// Distinguishes a failed or interrupted start from a loader without a log.
fn unless_not_started<T>(result: Result<T, LoaderLogError>) -> Result<Result<T, String>, AppError> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(LoaderLogError::Launch(error)) => Err(error.into()),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// Whether we ended the program at the time limit.
fn reached_limit(log: &Result<LoaderLog, String>) -> bool {
    log.as_ref().is_ok_and(|log| log.end == Some(End::TimedOut))
}

/// The system calls of a start: to its end, or up to the program's entry point.
fn counts(command: &CommandLine, launching: &LaunchOptions, to_the_end: bool) -> Result<SyscallCounts, AppError> {
    let options = CountOptions {
        until: if to_the_end { Until::Exit } else { Until::AfterLoader },
        input: launching.input.clone(),
        output: launching.output.clone(),
        time_limit: launching.time_limit,
        interrupt: launching.interrupt.clone(),
        ..CountOptions::default()
    };
    match count_syscalls(command, &options) {
        // Breakpoints are not supported on this architecture.
        Err(SyscallsError::EntryPoint { .. }) => {
            Ok(count_syscalls(command, &CountOptions { until: Until::Exit, ..options })?)
        }
        counts => Ok(counts?),
    }
}

/// Whether an object is in the program's namespace.
fn is_programs(object: &MappedObject) -> bool {
    object.namespace == 0
}

impl Watched {
    fn start(self, relocation_cycles: Vec<u64>) -> Start {
        let calls = self.counts.first_process.total();
        let reached_limit = reached_limit(&self.log);
        let log = self.log.as_ref().ok();
        Start {
            end: log.and_then(|log| log.end).map_or_else(String::new, |end| end.to_string()),
            reached_limit,
            system_calls: calls.calls,
            failed_calls: calls.failed,
            counted_until: match self.counts.ended {
                Ended::TreeGone | Ended::FirstProcessGone => CountedUntil::Exit,
                Ended::LoaderDone => CountedUntil::EntryPoint,
                Ended::TimedOut => CountedUntil::TimeLimit,
            },
            failed_probes: log.map_or(0, |log| log.failed_probes.iter().filter(|probe| !probe.later).count()),
            relocations: log.and_then(|log| log.statistics?.relocations),
            relocation_cycles,
        }
    }
}

/// The first difference of two starts, as text.
fn parting(before: Option<&Watched>, after: &Watched) -> Option<String> {
    let after_log = match &after.log {
        Ok(log) => log,
        Err(reason) => return Some(format!("the loader's log of the bound program is missing: {reason}")),
    };
    let before_log = match &before?.log {
        Ok(log) => log,
        Err(reason) => return Some(format!("the loader's log of the original is missing: {reason}")),
    };
    let cut = [before_log, after_log].into_iter().any(was_cut).then(|| common(before_log, after_log));
    let (before_log, after_log) = cut.as_ref().map_or((before_log, after_log), |(before, after)| (before, after));
    let difference: LoaderDifference = compare(before_log, after_log, same_file);
    let shown = |what: &str, parting: &Option<FirstDifference>| {
        let parting = parting.as_ref()?;
        let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(|| "nothing".to_owned(), printable);
        Some(format!(
            "{what} differ at position {}: `{}` in the original, `{}` in the bound program",
            parting.place + 1,
            path(&parting.before),
            path(&parting.after)
        ))
    };
    let missing = difference.newly_missing.first();
    shown("the objects", &difference.objects)
        .or_else(|| shown("the initialisers", &difference.initialisers))
        .or_else(|| missing.map(|name| format!("`{}` is not found by the bound program", printable(name))))
}

/// Whether a program was ended before the loader had finished.
fn was_cut(log: &LoaderLog) -> bool {
    log.end == Some(End::TimedOut) && log.program.is_none()
}

/// The common length of two logs.
fn common(before: &LoaderLog, after: &LoaderLog) -> (LoaderLog, LoaderLog) {
    let objects = before.objects.len().min(after.objects.len());
    let initialisers = before.initialisers.len().min(after.initialisers.len());
    let cut = |log: &LoaderLog| LoaderLog {
        objects: log.objects.iter().take(objects).cloned().collect(),
        initialisers: log.initialisers.iter().take(initialisers).cloned().collect(),
        ..LoaderLog::default()
    };
    (cut(before), cut(after))
}

/// Whether two paths are the same file.
fn same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one).is_some_and(|found| Some(found) == identity(other))
}

/// Failed probes by the loader itself, except for variants below the links and libraries that keep their path.
fn stray(log: &LoaderLog, binding: &Binding, program: &Path) -> Vec<PathBuf> {
    let failed = log.failed_probes.iter().filter(|probe| !probe.later);
    failed.map(|probe| probe.path.clone()).filter(|path| !binding.foresees(program, path)).collect()
}

/// The original as an executable file; a temporary one is removed on drop.
struct Standing {
    path: PathBuf,
    _made: Option<StagedFile>,
}

impl Standing {
    /// The given file; or the original at its path, if the bound program is in another directory; or the restored content
    /// next to the bound program, where `$ORIGIN` is the same.
    fn of(options: &Options, binding: &Binding, bound: &Path, content: Option<&[u8]>) -> Result<Self, String> {
        if let Some(path) = &options.against {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            return Ok(Self { path, _made: None });
        }
        let content = content.ok_or("it cannot be restored")?;
        let earlier = binding.original_program.as_ref().map(PathBuf::from);
        if let Some(path) =
            earlier.filter(|path| read_regular(path, content.len() as u64).is_ok_and(|bytes| bytes == content))
        {
            return Ok(Self { path, _made: None });
        }
        let made = || -> anyhow::Result<Self> {
            let real = bound.canonicalize()?;
            let folder = real.parent().unwrap_or(Path::new("/"));
            let mode = std::fs::metadata(&real)?.permissions().mode() & 0o777;
            let name = real.file_name().unwrap_or_default();
            // Leftovers of a killed run; errors are ignored.
            let _ = remove_leftovers(folder);
            let mut file = StagedFile::create_named(folder, name, 0o600)
                .with_context(|| format!("cannot create it in `{}`", printable(folder)))?;
            file.file().write_all(content)?;
            file.file().set_permissions(Permissions::from_mode(mode | 0o500))?;
            // A file that is open for writing cannot be executed.
            file.close_writer();
            let path = file.temporary_path().context("no temporary file name")?.to_owned();
            Ok(Self { path, _made: Some(file) })
        };
        made().map_err(|error| format!("{error:#}"))
    }
}
