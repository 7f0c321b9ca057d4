//! Arguments of `coldstart speedup`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use coldstart_app::speedup::FixKind;

use super::installing::InstallArgs;
use super::launching::{LaunchingArgs, ProgramArgs};
use super::output::ForceArgs;
use super::prefetch::PlanningArgs;
use super::span::span;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SpeedupArgs {
    /// Where to write the plan [default: the program's name with .prefetch, in the working directory]
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,

    /// Fixes to try, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    pub(crate) fixes: Vec<FixChoice>,

    /// Take the fixes that fit together, instead of trying each and choosing the fastest set
    ///
    /// For machines whose disks or caches are not like those here. Of an image and a plan, the one with the shorter prediction is taken.
    #[arg(long)]
    pub(crate) together: bool,

    /// Time for all trials and measurements: seconds, or a number with s, m or h
    #[arg(long, value_name = "TIME", default_value = "10m", allow_negative_numbers = true, value_parser = span)]
    pub(crate) budget: Duration,

    /// Check the program's work with this command for the shell, when the program is ready: code 0 is right
    ///
    /// It is run after each start that is compared for the proof, in the current directory, and sees the files that the program
    /// sees. A fix is refused if the check fails with it.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,

    /// Counted runs before and after, in each state, at most; fewer are taken when the intervals are narrow enough
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(2..=1_000)
    )]
    pub(crate) runs: u32,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    /// Also write a page with every run, before and after, and the proofs; traces of both starts, and a page that compares
    /// them, are written beside it
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,

    /// If the program is faster with the best fixes, install them: a plan where people start the program, and changed files in
    /// place, with dpkg told of them and the originals kept
    #[arg(long, conflicts_with = "uninstall")]
    pub(crate) install: bool,

    /// With --install: also install the best fixes if no gain is shown here, for example for machines with slower disks
    #[arg(long, requires = "install")]
    pub(crate) anyway: bool,

    /// Undo the installation of this program; nothing is measured
    #[arg(long)]
    pub(crate) uninstall: bool,

    #[command(flatten)]
    pub(crate) installing: InstallArgs,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

/// A fix by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FixChoice {
    /// Rewrite the program so that the loader finds every library at the first try
    Bind,
    /// Pack the relative relocations of the program and its libraries
    Pack,
    /// Have the interpreter find its modules at the first try (Python, Perl, Guile, Ruby, Node)
    Index,
    /// Start the program from an image whose blocks lie in the order of its start (as root)
    Image,
    /// Replay a recorded plan of reads: of the pages that a start caches, or that it uses, as measured to be faster
    Prefetch,
}

impl From<FixChoice> for FixKind {
    fn from(choice: FixChoice) -> Self {
        match choice {
            FixChoice::Bind => Self::Bind,
            FixChoice::Pack => Self::Pack,
            FixChoice::Index => Self::Index,
            FixChoice::Image => Self::Image,
            FixChoice::Prefetch => Self::Prefetch,
        }
    }
}

const HELP: &str = "\
Records cold starts, tries each fix that fits alone and those that pay together, proves that the program does the same with \
them, and measures the best against the plain start in alternating order. Fixes that change files are tried in a private view \
of the file system; only --install changes files of the program. Exit code 1 when no fix makes it start faster.

Examples:
  coldstart speedup -- soffice --headless --convert-to pdf letter.odt
  coldstart speedup --check 'test -s letter.pdf' --html story.html -- soffice --headless --convert-to pdf letter.odt
  coldstart speedup --install -- soffice --headless --convert-to pdf letter.odt
  coldstart speedup --fixes prefetch --ready port:8080 --budget 5m -- ./server";
