//! A folder in which programs are built, run alone, and run under `coldstart trace`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use coldstart_host::process::{ProcessFiles, numbers};
use coldstart_profile::trace::Trace;
use coldstart_sys::tracing::Tracer;
pub(crate) use coldstart_testing::skip;
use coldstart_tracefile::TraceFile;
use tempfile::TempDir;

pub(crate) use crate::text;

/// Says so where `trace` sets no breakpoints, so that phases, initialisers and first calls are not recorded.
pub(crate) fn lacks_breakpoints() -> bool {
    if !Tracer::HAS_BREAKPOINTS {
        skip("`trace` sets breakpoints on x86-64 only");
    }
    !Tracer::HAS_BREAKPOINTS
}

/// A folder of its own.
pub(crate) struct Bench {
    folder: TempDir,
}

pub(crate) const COLDSTART: &str = env!("CARGO_BIN_EXE_coldstart");
/// What records first calls of all functions, without the files layer.
pub(crate) const FUNCTIONS: [&str; 3] = ["--layers", "phases,pages,functions", "--all-functions"];

impl Bench {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a source and compiles it: `words` are the compiler and its options.
    pub(crate) fn build(&self, name: &str, source: &str, words: &[&str]) -> PathBuf {
        assert!(self.try_build(name, source, words), "{words:?} cannot compile {name}");
        self.path().join(name)
    }

    pub(crate) fn try_build(&self, name: &str, source: &str, words: &[&str]) -> bool {
        let source_path = self.path().join(format!("{name}.{}", if words[0] == "g++" { "cc" } else { "c" }));
        fs::write(&source_path, source).unwrap();
        let mut command = Command::new(words[0]);
        command.args(["-O1", "-o"]).arg(self.path().join(name)).arg(&source_path).args(&words[1..]);
        command.args(["-ldl", "-lpthread"]).stderr(Stdio::null()).current_dir(self.path());
        command.status().is_ok_and(|status| status.success())
    }

    /// A command in the folder.
    pub(crate) fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    /// `coldstart trace -o it.coldtrace OPTIONS -- WORDS`.
    pub(crate) fn trace(&self, options: &[&str], words: &[&str]) -> Output {
        let mut all = vec!["trace", "-o", "it.coldtrace"];
        all.extend(options);
        all.push("--");
        all.extend(words);
        self.command(COLDSTART, &all).output().unwrap()
    }

    pub(crate) fn read(&self) -> Trace {
        TraceFile::open(&self.path().join("it.coldtrace")).unwrap().read().unwrap()
    }

    /// Runs it alone and traced, and compares; returns the trace.
    pub(crate) fn same(&self, options: &[&str], words: &[&str]) -> Trace {
        let alone = self.command(words[0], &words[1..]).output().unwrap();
        let traced = self.trace(options, words);
        assert_eq!(text(&traced.stdout), text(&alone.stdout), "{words:?}: {}", text(&traced.stderr));
        assert_eq!(traced.status.code(), Some(shell_code(&alone)), "{words:?}: {}", text(&traced.stderr));
        self.read()
    }
}

/// As a shell says it.
pub(crate) fn shell_code(output: &Output) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap())
}

/// All sentences of a trace, of the run and of its processes.
pub(crate) fn notes(trace: &Trace) -> String {
    let of_processes = trace.processes.iter().flat_map(|process| &process.notes);
    trace.run.notes.iter().chain(of_processes).cloned().collect::<Vec<_>>().join("\n")
}

/// Processes that were started with a word like this.
pub(crate) fn living(word: &str) -> Vec<String> {
    let lines = numbers()
        .unwrap()
        .into_iter()
        .map(|number| ProcessFiles::of(number).arguments().join(OsStr::new(" ")).to_string_lossy().into_owned());
    lines.filter(|line| line.contains(word)).collect()
}
