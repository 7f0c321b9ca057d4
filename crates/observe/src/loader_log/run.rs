//! Running a program with its loader's log.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use coldstart_launch::{CommandLine, LaunchOptions, find_program, launch};

use super::error::{LoaderLogError, NoLog};
use super::program::{kind, obstacle};
use super::{LoaderLog, parse};

/// The limit for a log, in bytes: a hundred times that of the largest known program.
const LONGEST_LOG: u64 = 256 << 20;

/// How far the program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoaderLogMode {
    /// The program runs, until it is ready in the sense of the launch's options.
    #[default]
    Run,
    /// The program does not run: its libraries are found, mapped and relocated, all functions included, as with `ldd -r`. There are no
    /// initialisers then, and no statistics, because glibc exits before it would write them.
    List,
}

/// Starts a program with a loader log, and parses the log of its first process.
///
/// Variables `LD_DEBUG` and `LD_DEBUG_OUTPUT` are set for all its descendants. A program that crashes or is
/// not ready within the time limit is a result; see [`LoaderLog::end`].
///
/// # Errors
/// When the program cannot be started, or its loader writes no log, with the reason in [`LoaderLogError::NoLog`]. In mode
/// [`List`](LoaderLogMode::List) this is known before, and the program is not run.
pub fn loader_log(
    command: &CommandLine,
    options: &LaunchOptions,
    mode: LoaderLogMode,
) -> Result<LoaderLog, LoaderLogError> {
    log_of(command, options, mode, "libs,files,statistics")
}

/// The loader's own relocation time in each of several runs, in cycles ([`Statistics`](super::Statistics)). The log is short
/// in these runs, so that writing it costs little.
///
/// # Errors
/// As [`loader_log`], at the first run that fails, and [`LoaderLogError::NoStatistics`].
pub fn relocation_cycles(
    command: &CommandLine,
    options: &LaunchOptions,
    runs: usize,
) -> Result<Vec<u64>, LoaderLogError> {
    let mut cycles = Vec::new();
    for _ in 0..runs {
        let log = log_of(command, options, LoaderLogMode::Run, "statistics")?;
        let found = log.statistics.and_then(|statistics| statistics.relocation_cycles);
        cycles.push(found.ok_or_else(|| LoaderLogError::NoStatistics {
            program: program_of(command, options).unwrap_or_else(|_| (&command.program).into()),
            got_control: log.statistics.is_some(),
        })?);
    }
    Ok(cycles)
}

fn log_of(
    command: &CommandLine,
    options: &LaunchOptions,
    mode: LoaderLogMode,
    what: &str,
) -> Result<LoaderLog, LoaderLogError> {
    let program = program_of(command, options)?;
    let directory = options.working_directory.as_deref();
    if mode == LoaderLogMode::List
        && let Some(reason) = obstacle(&program, directory)
    {
        return Err(LoaderLogError::NoLog { program, reason });
    }
    let directory = tempfile::Builder::new().prefix("coldstart-loader-").tempdir();
    let directory =
        directory.map_err(|source| LoaderLogError::Io { what: "create a directory for the loader's log", source })?;
    let log = directory.path().join("log");
    let mut options = options.clone();
    let mut set = |name: &str, value: OsString| options.environment.push((name.into(), Some(value)));
    set("LD_DEBUG", what.into());
    set("LD_DEBUG_OUTPUT", log.clone().into());
    if mode == LoaderLogMode::List {
        set("LD_TRACE_LOADED_OBJECTS", "1".into());
        set("LD_WARN", "yes".into());
        set("LD_BIND_NOW", "yes".into());
    }
    let launched = launch(command, &options, None, &mut || {})?;
    // glibc appends the process's number (`_dl_debug_init` in `elf/rtld.c`).
    let mut path = log.into_os_string();
    path.push(format!(".{}", launched.process));
    let (bytes, incomplete) = match read(Path::new(&path)) {
        Ok(read) => read,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let reason = obstacle(&program, options.working_directory.as_deref()).unwrap_or(NoLog::NotWritten);
            return Err(LoaderLogError::NoLog { program, reason });
        }
        Err(source) => return Err(LoaderLogError::Io { what: "read the loader's log", source }),
    };
    let directory = options.working_directory.unwrap_or_else(|| PathBuf::from("."));
    let own_kind = kind(&std::env::current_exe().unwrap_or_default());
    let program_kind = kind(&program).or(own_kind);
    let is_object = |path: &Path| program_kind.is_some() && kind(&directory.join(path)) == program_kind;
    Ok(LoaderLog { end: Some(launched.end), incomplete, ..parse(&bytes, launched.process, &is_object) })
}

/// The file that a launch will execute.
fn program_of(command: &CommandLine, options: &LaunchOptions) -> Result<PathBuf, LoaderLogError> {
    let path = options
        .environment
        .iter()
        .rfind(|(name, _)| name == "PATH")
        .map_or_else(|| std::env::var_os("PATH"), |(_, value)| value.clone());
    Ok(find_program(&command.program, path.as_deref(), options.working_directory.as_deref())?)
}

fn read(path: &Path) -> std::io::Result<(Vec<u8>, bool)> {
    let file = File::open(path)?;
    let mut bytes = Vec::new();
    let got = file.take(LONGEST_LOG).read_to_end(&mut bytes)?;
    Ok((bytes, u64::try_from(got).is_ok_and(|got| got >= LONGEST_LOG)))
}
