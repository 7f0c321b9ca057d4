//! Starts of a bound program and of its original: what the loader does, what it costs, how they end.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::Binding;
use coldstart_launch::{CommandLine, End, Input, Interrupt, LaunchOptions, Output};
use coldstart_trace::loader_log::{
    LoaderDifference, LoaderLog, LoaderLogMode, MappedObject, Parting, compare, loader_log, relocation_cycles,
};
use coldstart_trace::syscalls::{CountOptions, SyscallCounts, count_syscalls};
use serde::Serialize;

use crate::args::verify::VerifyArgs;
use crate::error::CliError;
use crate::output::path::printable;

/// With fewer runs of each, all of one kind are slower by chance too often: of 5 and 5, once in 252 times.
const FEWEST_RUNS: usize = 5;
/// A wrong order costs millions of cycles. Some ten thousand, a few pages touched for the first time, are another matter: a
/// program of three libraries takes no more for all its relocations.
const NOTICED_CYCLES: u64 = 100_000;

/// What both starts did. Without the original, the bound program's alone.
#[derive(Debug, Serialize)]
pub(super) struct Starts {
    /// Why the original was not started, if it was not.
    pub(super) no_original: Option<String>,
    pub(super) before: Option<Start>,
    pub(super) after: Start,
    /// Why the orders could not be compared, or where they part.
    pub(super) parting: Option<String>,
    /// Files that the loader tried in vain before the program got control, other than variants below the links.
    pub(super) stray_probes: Vec<PathBuf>,
}

/// What one of the programs did.
#[derive(Debug, Serialize)]
pub(super) struct Start {
    /// How it ended: "exit code 0", "signal 11".
    pub(super) end: String,
    /// Of the first process.
    pub(super) system_calls: u64,
    pub(super) failed_calls: u64,
    /// Files that the loader tried in vain before the program got control.
    pub(super) failed_probes: usize,
    /// Relocations whose symbol was looked up.
    pub(super) relocations: Option<u64>,
    /// The loader's time for relocation in each run, in cycles, ascending.
    pub(super) relocation_cycles: Vec<u64>,
}

impl Start {
    /// The middle of the cycles.
    pub(super) fn median_cycles(&self) -> Option<u64> {
        self.relocation_cycles.get(self.relocation_cycles.len() / 2).copied()
    }
}

impl Starts {
    /// Whether the bound program does the same, ends in the same way, tries nothing in vain and relocates no slower.
    pub(super) fn holds(&self) -> bool {
        self.parting.is_none()
            && self.stray_probes.is_empty()
            && self.before.as_ref().is_none_or(|before| before.end == self.after.end)
            && !self.relocates_slower()
    }

    /// Whether every run of the bound program took longer for relocation than every run of the original, by more than 3 %
    /// and [`NOTICED_CYCLES`]. Of fewer than [`FEWEST_RUNS`], that happens by chance.
    pub(super) fn relocates_slower(&self) -> bool {
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
pub(super) fn starts(args: &VerifyArgs, binding: &Binding, original: Option<&[u8]>) -> Result<Starts, CliError> {
    let interrupt = Interrupt::listen()?;
    let bound = std::path::absolute(&args.output)?;
    let (original, no_original) = match Standing::of(args, binding, &bound, original) {
        Ok(original) => (Some(original), None),
        Err(reason) => (None, Some(reason)),
    };
    let command = |program: &Path| CommandLine::new(program, args.arguments.iter().cloned());
    let original = original.as_ref().map(|original| command(&original.path));
    let bound_command = command(&bound);
    let watch = |command: &CommandLine| watched(command, &interrupt);
    let before = original.as_ref().map(watch).transpose()?;
    let after = watch(&bound_command)?;
    let mut cycles = [Vec::new(), Vec::new()];
    for number in 0..args.runs {
        // Whatever else the machine does meanwhile hits both alike.
        let both = [original.as_ref(), Some(&bound_command)];
        for turn in 0..2 {
            let which = (turn + number as usize) % 2;
            if let (Some(command), true) = (both[which], after.log.is_ok()) {
                cycles[which].extend(relocation_cycles(command, &silent(&interrupt), 1)?);
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

/// What was seen of one program.
struct Watched {
    counts: SyscallCounts,
    /// Or why there is no log.
    log: Result<LoaderLog, String>,
}

fn watched(command: &CommandLine, interrupt: &Interrupt) -> Result<Watched, CliError> {
    let options = CountOptions {
        input: Input::Null,
        output: Output::Null,
        interrupt: Some(interrupt.clone()),
        ..CountOptions::default()
    };
    let counts = count_syscalls(command, &options)?;
    let log = loader_log(command, &silent(interrupt), LoaderLogMode::Run).map_err(|error| error.to_string());
    // An auditing library has a namespace of its own.
    let log = log.map(|log| LoaderLog { objects: log.objects.into_iter().filter(is_programs).collect(), ..log });
    Ok(Watched { counts, log })
}

/// Whether an object is in the program's namespace.
fn is_programs(object: &MappedObject) -> bool {
    object.namespace == 0
}

fn silent(interrupt: &Interrupt) -> LaunchOptions {
    LaunchOptions {
        input: Input::Null,
        output: Output::Null,
        interrupt: Some(interrupt.clone()),
        ..LaunchOptions::default()
    }
}

impl Watched {
    fn start(self, relocation_cycles: Vec<u64>) -> Start {
        let calls = self.counts.first_process.total();
        let log = self.log.as_ref().ok();
        Start {
            end: log.and_then(|log| log.end.as_ref()).map_or_else(String::new, ended),
            system_calls: calls.calls,
            failed_calls: calls.failed,
            failed_probes: log.map_or(0, |log| log.failed_probes.iter().filter(|probe| !probe.later).count()),
            relocations: log.and_then(|log| log.statistics?.relocations),
            relocation_cycles,
        }
    }
}

/// How a program ended, in words.
fn ended(end: &End) -> String {
    end.to_string()
}

/// Where two starts part, in words.
fn parting(before: Option<&Watched>, after: &Watched) -> Option<String> {
    let after_log = match &after.log {
        Ok(log) => log,
        Err(reason) => return Some(format!("the loader's log of the bound program is missing: {reason}")),
    };
    let before_log = match &before?.log {
        Ok(log) => log,
        Err(reason) => return Some(format!("the loader's log of the original is missing: {reason}")),
    };
    let difference: LoaderDifference = compare(before_log, after_log, same_file);
    let shown = |what: &str, parting: &Option<Parting>| {
        let parting = parting.as_ref()?;
        let path = |path: &Option<PathBuf>| path.as_deref().map_or_else(|| "nothing".to_owned(), printable);
        Some(format!(
            "number {} of {what} is `{}` for the original and `{}` for the bound program",
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

/// Whether two paths lead to one file.
fn same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| path.metadata().map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(one).is_some_and(|found| Some(found) == identity(other))
}

/// Files tried in vain by the loader itself, other than variants below the links and libraries that keep their path.
fn stray(log: &LoaderLog, binding: &Binding, program: &Path) -> Vec<PathBuf> {
    let failed = log.failed_probes.iter().filter(|probe| !probe.later);
    failed.map(|probe| probe.path.clone()).filter(|path| !binding.foresees(program, path)).collect()
}

/// The original as a file that can be started; one that we made goes away in the end.
struct Standing {
    path: PathBuf,
    _made: Option<tempfile::TempPath>,
}

impl Standing {
    /// The file that was named; or the original where it stands, when the bound program stands in another folder; or the
    /// restored content beside the bound program, where `$ORIGIN` means the same.
    fn of(args: &VerifyArgs, binding: &Binding, bound: &Path, content: Option<&[u8]>) -> Result<Self, String> {
        if let Some(path) = &args.against {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            return Ok(Self { path, _made: None });
        }
        let content = content.ok_or("it cannot be restored")?;
        let earlier = binding.original_program.as_ref().map(PathBuf::from);
        if let Some(path) = earlier.filter(|path| std::fs::read(path).is_ok_and(|bytes| bytes == content)) {
            return Ok(Self { path, _made: None });
        }
        let made = || -> anyhow::Result<Self> {
            let real = bound.canonicalize()?;
            let folder = real.parent().unwrap_or(Path::new("/"));
            let mode = File::open(&real)?.metadata()?.permissions().mode() & 0o777;
            let file = tempfile::Builder::new().prefix(".coldstart-original-").tempfile_in(folder);
            let mut file = file.with_context(|| format!("cannot put it into `{}`", printable(folder)))?;
            file.write_all(content)?;
            file.as_file().set_permissions(Permissions::from_mode(mode | 0o500))?;
            // A file that is open for writing cannot be executed.
            let path = file.into_temp_path();
            Ok(Self { path: path.to_path_buf(), _made: Some(path) })
        };
        made().map_err(|error| format!("{error:#}"))
    }
}
