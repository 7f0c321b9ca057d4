//! Arguments of `coldstart prefetch`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use coldstart_prefetch::Strategy;

use super::installing::InstallArgs;
use super::launching::{LaunchingArgs, ProgramArgs, WaitingArgs};
use super::output::ForceArgs;

#[derive(Debug, Args)]
pub(crate) struct PrefetchArgs {
    #[command(subcommand)]
    pub(crate) action: PrefetchAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PrefetchAction {
    /// Install a plan where people start the program
    #[command(after_help = INSTALL_HELP)]
    Install(InstallPlanArgs),
    /// Start a program from a cold cache and record its reads as a plan
    #[command(after_help = RECORD_HELP)]
    Record(RecordArgs),
    /// Make one plan of several recordings: documents, users, hosts, fleets
    #[command(after_help = MERGE_HELP)]
    Merge(MergeArgs),
    /// Replay a plan, and become the program
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Show what a plan reads, in which order, and what is out of date
    #[command(after_help = SHOW_HELP)]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Where to write the plan [default: the program's name with .prefetch, in the working directory]
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Trace the start, and plan only the pages that the program used, if that is predicted to be faster
    #[arg(long)]
    pub(crate) exact: bool,

    /// Plan from this trace (`coldstart trace --layers pages,files`) instead of tracing a start; the program is not started
    #[arg(long, value_name = "FILE", requires = "exact", conflicts_with = "as_is")]
    pub(crate) from: Option<PathBuf>,

    /// Do not drop the caches first: record only the additional reads
    #[arg(long)]
    pub(crate) as_is: bool,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    /// The program to start, and its arguments
    #[arg(required_unless_present = "from", conflicts_with = "from", trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// The plans of the recordings; or one fleet table
    #[arg(value_name = "PLAN", required = true)]
    pub(crate) plans: Vec<PathBuf>,

    /// Where to write the merged plan
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: PathBuf,

    /// Keep pages and names that at least this many percent of the recordings have [default: what pays on the device]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) share: Option<u8>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InstallPlanArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    #[command(flatten)]
    pub(crate) installing: InstallArgs,

    /// Index of modules to install with it, of `coldstart index make`
    #[arg(long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    /// Trace the start when the program is recorded again, as with `record --exact`
    #[arg(long)]
    pub(crate) exact: bool,

    #[command(flatten)]
    pub(crate) waiting: WaitingArgs,

    /// Regular file as the program's standard input when it is recorded again [default: empty]
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

/// Overrides for the planner.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanningArgs {
    /// When to read: before the program starts, beside it, or as predicted to be faster
    #[arg(long, value_enum, value_name = "HOW", default_value = "auto")]
    pub(crate) strategy: StrategyChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyChoice {
    /// As predicted to be faster on this device
    Auto,
    /// Before the program starts, in order of disk offset
    Blocking,
    /// Beside the program, in order of first use
    Concurrent,
}

impl StrategyChoice {
    /// As an installation remembers it; `None` for the predicted faster way.
    pub(crate) fn remembered(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Blocking => Some("blocking"),
            Self::Concurrent => Some("concurrent"),
        }
    }
}

impl From<StrategyChoice> for Option<Strategy> {
    fn from(choice: StrategyChoice) -> Self {
        match choice {
            StrategyChoice::Auto => None,
            StrategyChoice::Blocking => Some(Strategy::Blocking),
            StrategyChoice::Concurrent => Some(Strategy::Concurrent),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    /// The program to become, and its arguments; without it the plan is replayed and the result printed
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The plan
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,

    /// List at most this many files, 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,

    /// List every step in order of replay instead of files
    #[arg(long)]
    pub(crate) steps: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

const RECORD_HELP: &str = "\
As root the system's caches are dropped first (/proc/sys/vm/drop_caches). Without root the program is started once to \
learn its files, these are evicted, and it is started again; the order of pages within a file is then unknown.

What comes into the cache at a start is more than the program uses, because the kernel reads around each page. With --exact \
the start is traced, a plan of the used pages is weighed against one of the cached pages on this device, and the one with \
the shorter predicted start is written; if both are predicted to be as fast, the used pages where they are clearly fewer bytes.

Examples:
  coldstart prefetch record -- soffice --headless --convert-to pdf letter.odt
  coldstart prefetch record --exact -- soffice --headless --convert-to pdf letter.odt
  coldstart prefetch record --ready port:8080 -o server.prefetch -- ./server";

const MERGE_HELP: &str = "\
Each plan is one recording. By default a page stays if reading it ahead in every start costs less than reading it late in \
those that use it: with t the transfer of 128 KiB, at a share of t / (latency + t), at most 50 %. That is about 10 % of the \
recordings on a 7,200 rpm disk and 33 % on a network disk. Of a file that was recorded in several versions, the one of most \
recordings is planned, and of equally many the latest. Disk offsets and metadata blocks come from the recordings of one disk. \
A single recording, or several that are the same, are written as they are.

Instead of plans, one fleet table: what the hosts of a fleet touched, by build id, as an engine such as DuckDB or Spark writes it \
(docs/scale.md). The plan is for the builds and the device of this machine.

Examples:
  coldstart prefetch merge letter.prefetch table.prefetch -o soffice.prefetch
  coldstart prefetch merge --share 80 hosts/*.prefetch -o fleet.prefetch
  coldstart prefetch merge fleet.jsonl -o app.prefetch";

const INSTALL_HELP: &str = "\
Copies the plan, and writes a starter at each place: a wrapper in ~/.local/bin (as root: /usr/local/bin), a copy of the program's \
desktop entries, a drop-in of a systemd service, or a module for clusters. The program itself is not changed, and is started \
without the plan if the plan or the launcher is gone. `coldstart installed` lists installations, refreshes and undoes them; \
the options for readiness, input and planning are kept for `--refresh`.

Examples:
  coldstart prefetch install soffice.prefetch -- soffice --writer
  coldstart prefetch install nginx.prefetch --place unit=nginx.service -- /usr/sbin/nginx";

const RUN_HELP: &str = "\
The program replaces this process (same PID, files, environment, terminal). It always starts: a plan that \
is missing, damaged or out of date causes one line on stderr, and its invalid parts are not used. Reads beside \
the program are done by a process that is not its child and ends with it.

Example:
  coldstart prefetch run soffice.prefetch -- soffice letter.odt";

const SHOW_HELP: &str = "\
Exit code 1 when a file of the plan has changed or does not exist any more: record it again.";
