//! The shared environment of all benchmarks: copies of the programs, the tools, a private scratch directory.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::bed::Bed;
use super::benchmark::Benchmark;
use super::runner::{Runner, words};
use crate::corpus::Collection;
use crate::tools::find;

/// The place where benchmarks are carried out.
pub(super) struct Workshop {
    /// For what is needed while a benchmark runs.
    pub(super) directory: PathBuf,
    /// The program under test.
    pub(super) coldstart: PathBuf,
    /// Its small launcher.
    pub(super) small_launcher: PathBuf,
    /// What brings beds up.
    pub(super) testbed: PathBuf,
    /// An earlier build, to compare with.
    pub(super) earlier: Option<PathBuf>,
    pub(super) runner: Runner,
    /// Keeps a second series out: both would use the same bed and spoil each other's times.
    _lock: fs::File,
}

impl Workshop {
    /// Copies the freshly built programs that `benchmarks` need from `built` to `directory` and, where one needs a bed,
    /// takes away what a killed series left up.
    ///
    /// # Errors
    /// When another series is running, or a program is missing.
    pub(super) fn open(built: &Path, directory: PathBuf, benchmarks: &[Benchmark]) -> Result<Self> {
        fs::create_dir_all(&directory)?;
        let lock = fs::File::create(directory.join("lock"))?;
        lock.file()
            .try_lock()
            .with_context(|| format!("another series of benchmarks is running in {}", directory.display()))?;
        let bin = directory.join("bin");
        fs::create_dir_all(&bin)?;
        let workshop = Self {
            coldstart: bin.join("coldstart"),
            small_launcher: bin.join("coldstart-run"),
            testbed: bin.join("coldstart-testbed"),
            earlier: super::own_speed::named_earlier(),
            runner: Runner::new(directory.join("output.json"))?,
            directory,
            _lock: lock,
        };
        let mut programs = vec![&workshop.coldstart];
        if benchmarks.iter().any(|benchmark| benchmark.needs_bed()) {
            // Before its program is replaced: a server that still runs holds it.
            Bed::take_down(&built.join("coldstart-testbed"), &workshop.bed_home())?;
            programs.extend([&workshop.small_launcher, &workshop.testbed]);
        }
        for program in programs {
            let name = program.file_name().context("a program without a name")?;
            let growing = program.with_extension("partial");
            fs::copy(built.join(name), &growing)?;
            // Or it is written back beside what is measured, and its pages count as dirty memory until then.
            fs::File::open(&growing)?.sync_all()?;
            fs::rename(&growing, program)?;
        }
        Ok(workshop)
    }

    /// Directory of the bed's state and mounts: one of our own, so that a bed somebody else has up is not touched.
    pub(super) fn bed_home(&self) -> PathBuf {
        self.directory.join("bed")
    }

    /// `coldstart` with arguments, in this machine's own root.
    pub(super) fn coldstart<const N: usize>(&self, arguments: [&str; N]) -> Vec<String> {
        let mut command = vec![text(&self.coldstart)];
        command.extend(words(arguments));
        command
    }

    /// Runs `coldstart measure` with `--json`. A command that never became ready (code 1) is a result, too: the figures
    /// then are empty and the warnings say why.
    pub(super) fn measure(&self, arguments: &[String], compare: &[Vec<String>], command: &[String]) -> Result<Value> {
        let mut measure = self.coldstart(["measure", "--json"]);
        // What is measured here is no news to the history of whoever runs it.
        if !arguments.iter().any(|word| word == "--history-file" || word == "--no-history") {
            measure.push("--no-history".to_owned());
        }
        measure.extend_from_slice(arguments);
        for other in compare {
            measure.extend(["--compare".to_owned(), shell_words::join(other)]);
        }
        measure.push("--".to_owned());
        measure.extend_from_slice(command);
        self.runner.json(&measure, &[0, 1])
    }

    /// Runs hyperfine without a shell between, and returns what it exports.
    pub(super) fn hyperfine(&self, runs: u32, warmup: u32, commands: &[Vec<String>]) -> Result<Value> {
        self.hyperfine_with(&[], runs, warmup, commands)
    }

    /// As [`Workshop::hyperfine`], but a command may end with any code; the export holds them.
    pub(super) fn hyperfine_any_end(&self, runs: u32, warmup: u32, commands: &[Vec<String>]) -> Result<Value> {
        self.hyperfine_with(&["--ignore-failure"], runs, warmup, commands)
    }

    fn hyperfine_with(&self, options: &[&str], runs: u32, warmup: u32, commands: &[Vec<String>]) -> Result<Value> {
        let hyperfine = find("hyperfine").context("hyperfine is missing\nhint: apt-get install hyperfine")?;
        let export = self.directory.join("hyperfine.json");
        let mut command = vec![text(&hyperfine)];
        command.extend(options.iter().map(|&option| option.to_owned()));
        command.extend(words(["-N", "--style", "none", "--warmup"]));
        command.extend([warmup.to_string(), "--runs".to_owned(), runs.to_string()]);
        command.extend(["--export-json".to_owned(), text(&export)]);
        command.extend(commands.iter().map(shell_words::join));
        self.runner.run(&command)?;
        let bytes = fs::read(&export)?;
        fs::remove_file(&export)?;
        serde_json::from_slice(&bytes).context("hyperfine exported something else than JSON")
    }

    /// The image of a collection of the corpus, built if need be.
    pub(super) fn image(&self, collection: Collection) -> Result<PathBuf> {
        let image = crate::corpus::corpus(collection)?.image;
        ensure!(image.is_file(), "the corpus has no image at {}", image.display());
        Ok(image)
    }
}

/// A path as an argument. All of ours are UTF-8 unless the workspace's directory is not.
pub(super) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
