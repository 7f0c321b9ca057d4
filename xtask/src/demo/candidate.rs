//! Programs worth a demonstration, and which of those installed gains most.

use std::collections::HashSet;
use std::fmt;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use coldstart_host::kernel::settings::DROP_CACHES;
use coldstart_host::process::ProcessFiles;
use rustix::process::{Pid, Signal, kill_process_group};

use super::interrupt::Interrupt;
use crate::kept_output::KeptOutput;
use crate::tools::find;

/// How long a candidate may take for one start, and how long all of them together before no further one is tried.
const START_LIMIT: Duration = Duration::from_secs(12);
const ALL_LIMIT: Duration = Duration::from_secs(10);

/// A program, and arguments that make it start, do a little and end by itself, without a window and without a network.
struct Known {
    name: &'static str,
    /// `{dir}` is a directory with the files of [`FILES`] in it.
    arguments: &'static [&'static str],
}

const fn known(name: &'static str, arguments: &'static [&'static str]) -> Known {
    Known { name, arguments }
}

/// First those that usually gain most: where starts cannot be compared, the first that is installed is shown.
const KNOWN: &[Known] = &[
    known(
        "soffice",
        &[
            "-env:UserInstallation=file://{dir}/office",
            "--headless",
            "--convert-to",
            "odt",
            "--outdir",
            "{dir}",
            "{dir}/a.txt",
        ],
    ),
    known("firefox-esr", FIREFOX),
    known("firefox", FIREFOX),
    known("chromium", CHROMIUM),
    known("google-chrome", CHROMIUM),
    known("blender", &["--background", "--factory-startup", "--python-expr", "0"]),
    known("inkscape", &["{dir}/a.svg", "--export-filename={dir}/a.png"]),
    known("gimp", &["--no-interface", "--batch", "(gimp-quit 0)"]),
    known("clang", &["-c", "{dir}/a.c", "-o", "{dir}/a.o"]),
    known("node", &["--eval", "0"]),
    known("rustc", &["--emit=metadata", "--crate-type=lib", "--out-dir", "{dir}", "{dir}/a.rs"]),
    known("gdb", &["--nx", "--batch", "--eval-command=print 42"]),
    known("javac", &["-d", "{dir}", "{dir}/A.java"]),
    known("java", &["--version"]),
    known("python3", &["-c", "import json, decimal, asyncio"]),
    known("git", &["--version"]),
    known("perl", &["-MPOSIX", "-e", "0"]),
];

const FIREFOX: &[&str] =
    &["--headless", "--no-remote", "--profile", "{dir}/profile", "--screenshot", "{dir}/a.png", "file://{dir}/a.html"];
const CHROMIUM: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--user-data-dir={dir}/chromium",
    "--dump-dom",
    "file://{dir}/a.html",
];

/// What the arguments name.
const FILES: &[(&str, &str)] = &[
    ("a.txt", "How long does a start take?\n"),
    ("a.html", "<!doctype html><title>start</title><p>How long does a start take?\n"),
    ("a.svg", "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><circle r='9'/></svg>\n"),
    ("a.rs", "//! A small library.\npub fn answer() -> u32 { 42 }\n"),
    ("a.c", "int answer(void) { return 42; }\n"),
    ("A.java", "class A { static int answer() { return 42; } }\n"),
];

/// A program with the arguments of its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// As a user would type it.
    pub(super) name: String,
    /// Its file; an absolute path.
    pub(super) program: PathBuf,
    /// `{dir}` is still in them.
    arguments: Vec<String>,
}

impl Candidate {
    /// The arguments, with `directory` where they name files of ours.
    pub(super) fn arguments(&self, directory: &str) -> Vec<String> {
        self.arguments.iter().map(|argument| argument.replace("{dir}", directory)).collect()
    }

    /// The command as a user would type it.
    pub(super) fn typed(&self, directory: &str) -> String {
        let words = std::iter::once(self.name.clone()).chain(self.arguments(directory));
        shell_words::join(words.collect::<Vec<_>>())
    }

    fn of_known(known: &Known) -> Option<Self> {
        let program = real_program(known.name, find(known.name)?);
        let arguments = known.arguments.iter().map(|&argument| argument.to_owned()).collect();
        Some(Self { name: known.name.to_owned(), program, arguments })
    }

    /// The program that the user named; one of ours without arguments gets ours.
    ///
    /// # Errors
    /// When there is no such program.
    pub(super) fn named(name: &str, arguments: &[String]) -> Result<Self> {
        let path = if name.contains('/') { Some(std::path::absolute(name)?) } else { find(name) };
        let Some(path) = path.filter(|path| path.is_file()) else {
            bail!(
                "there is no program `{name}`\nhint: name one that is installed, or none: the demonstration finds one"
            )
        };
        if let Some(known) = KNOWN.iter().find(|known| known.name == name && arguments.is_empty()) {
            let candidate = Self::of_known(known);
            return candidate.ok_or_else(|| anyhow::anyhow!("`{name}` has disappeared\nhint: try once more"));
        }
        Ok(Self { name: name.to_owned(), program: real_program(name, path), arguments: arguments.to_vec() })
    }
}

/// Writes the files that the arguments name.
pub(super) fn write_files(directory: &Path) -> Result<()> {
    fs_err::create_dir_all(directory.join("profile"))?;
    FILES.iter().try_for_each(|(name, text)| Ok(fs_err::write(directory.join(name), text)?))
}

/// The program that gains most of those installed: each is started, and its bytes and times decide. Where the caches cannot be
/// dropped, which only root may, it is the first of the list that can be started.
///
/// # Errors
/// When none can be started, or on Ctrl-C.
pub(super) fn choose(directory: &Path, interrupt: &Interrupt) -> Result<Candidate> {
    let begun = Instant::now();
    let may_drop = drop_caches().is_ok();
    let mut best: Option<(f64, Candidate)> = None;
    // One program may have two names, one of them a script: those with the same arguments are one.
    let mut known = HashSet::new();
    let is_new = |candidate: &Candidate| known.insert(candidate.arguments.clone());
    for candidate in KNOWN.iter().filter_map(Candidate::of_known).filter(is_new) {
        if best.is_some() && (begun.elapsed() > ALL_LIMIT || !may_drop) {
            break;
        }
        let gain = match candidate.probe(directory, may_drop, interrupt) {
            Ok(start) => {
                eprintln!("demo: {}: {start}", candidate.name);
                start.expected_gain()
            }
            Err(error) => {
                interrupt.check()?;
                eprintln!("demo: leaving out {}: {error:#}", candidate.name);
                continue;
            }
        };
        if best.as_ref().is_none_or(|(most, _)| gain > *most) {
            best = Some((gain, candidate));
        }
    }
    let Some((_, best)) = best else {
        bail!(
            "none of {} can be started\nhint: cargo xtask demo PROGRAM ARGUMENTS, of any program that ends by itself",
            KNOWN.iter().map(|known| known.name).collect::<Vec<_>>().join(", ")
        );
    };
    Ok(best)
}

/// What a start costs.
struct Start {
    /// Read from the disk at a cold start; 0 if unknown.
    bytes: u64,
    /// A hot start.
    hot: Duration,
}

impl Start {
    /// How many times as fast a start from the network model is expected to become. A plain one gets 55 MB a second beside its
    /// computing (LibreOffice and Firefox there, docs/testbed.md), one with a plan the link's 250, and 50 ms go to beginning.
    fn expected_gain(&self) -> f64 {
        let (bytes, hot) = (self.bytes as f64, self.hot.as_secs_f64());
        (hot + bytes / 55e6) / (hot.max(bytes / 250e6) + 0.05)
    }
}

impl fmt::Display for Start {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.bytes > 0 {
            write!(formatter, "a cold start reads {:.0} MB, ", self.bytes as f64 / 1e6)?;
        }
        write!(formatter, "a hot start takes {:.2} s", self.hot.as_secs_f64())
    }
}

impl Candidate {
    /// Starts the program a few times.
    ///
    /// # Errors
    /// When it fails or does not end.
    fn probe(&self, directory: &Path, may_drop: bool, interrupt: &Interrupt) -> Result<Start> {
        // What a program does only once, at its first start, shall not count.
        self.start(directory, interrupt)?;
        let mut bytes = 0;
        if may_drop {
            drop_caches()?;
            let before = ProcessFiles::own().bytes_read().unwrap_or(0);
            self.start(directory, interrupt)?;
            bytes = ProcessFiles::own().bytes_read().unwrap_or(0).saturating_sub(before);
        }
        Ok(Start { bytes, hot: self.start(directory, interrupt)? })
    }

    /// One start, and how long it took.
    ///
    /// # Errors
    /// When it fails or does not end.
    pub(super) fn start(&self, directory: &Path, interrupt: &Interrupt) -> Result<Duration> {
        let begun = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(self.arguments(&directory.to_string_lossy())).current_dir(directory);
        finish_quietly(&mut command, interrupt)?;
        Ok(begun.elapsed())
    }
}

fn drop_caches() -> Result<()> {
    rustix::fs::sync();
    Ok(fs_err::OpenOptions::new().write(true).open(DROP_CACHES)?.write_all(b"3")?)
}

/// Runs a command to its end, without input and output.
///
/// # Errors
/// When it fails, with the last line that it said; or when it takes too long: then it is ended, with those it started.
pub(super) fn finish_quietly(command: &mut Command, interrupt: &Interrupt) -> Result<()> {
    let said = KeptOutput::new()?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.stream()?).process_group(0);
    let mut child = command.spawn()?;
    let deadline = Instant::now() + START_LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline || interrupt.came() {
            end_group(&mut child);
            interrupt.check()?;
            bail!("it does not end within {} s", START_LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if status.success() {
        return Ok(());
    }
    let text = said.text()?;
    let last = text.trim_end().lines().next_back().map(|line| format!(": {line}")).unwrap_or_default();
    bail!("it ended with {status}{last}")
}

fn end_group(child: &mut Child) {
    if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// Behind some names stands a proxy that only starts another program, and the demonstration is about that one: rustup's `rustc`, and
/// `python3` of pyenv or a distribution's wrapper.
fn real_program(name: &str, path: PathBuf) -> PathBuf {
    let said = |arguments: &[&str]| {
        let output = Command::new(&path).args(arguments).stdin(Stdio::null()).output().ok()?;
        let line = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| PathBuf::from(line.trim_end_matches('\n')))
    };
    let real = match name {
        "rustc" => said(&["--print", "sysroot"]).map(|sysroot| sysroot.join("bin/rustc")),
        "python3" => said(&["-c", "import sys; print(sys.executable)"]),
        _ => None,
    };
    real.filter(|real| real.is_absolute() && real.is_file()).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_reads_much_and_computes_little_gains_most() {
        let gain = |bytes, hot| Start { bytes, hot: Duration::from_millis(hot) }.expected_gain();
        assert!(gain(132_000_000, 850) > 3.0);
        assert!(gain(75_000_000, 60) > gain(75_000_000, 900));
        assert!(gain(75_000_000, 60) > gain(9_000_000, 60));
        assert!(gain(300_000, 2) < 1.0, "too small to notice");
    }

    #[test]
    fn a_failing_start_tells_the_last_words() {
        let interrupt = Interrupt::watch().unwrap();
        let end = |script: &str| {
            finish_quietly(Command::new("sh").args(["-c", script]), &interrupt).map_err(|error| error.to_string())
        };
        assert_eq!(end("echo much; exit 0"), Ok(()));
        assert_eq!(end("echo one >&2; echo two >&2; exit 3"), Err("it ended with exit status: 3: two".to_owned()));
    }

    #[test]
    fn a_named_program_keeps_its_arguments() {
        let candidate = Candidate::named("sh", &["-c".into(), "exit 3".into()]).unwrap();
        assert!(candidate.program.is_absolute());
        assert_eq!(candidate.typed("/x"), "sh -c 'exit 3'");
        let error = Candidate::named("no-such-program", &[]).unwrap_err().to_string();
        assert!(error.contains("no-such-program") && error.contains("hint:"), "{error}");
    }

    #[test]
    fn files_are_named_by_their_directory() {
        let program = Candidate { name: "x".into(), program: "/x".into(), arguments: vec!["--at={dir}/a.txt".into()] };
        assert_eq!(program.arguments("/demo"), ["--at=/demo/a.txt"]);
        let directory = tempfile::tempdir().unwrap();
        write_files(directory.path()).unwrap();
        assert!(directory.path().join("a.txt").is_file());
    }
}
