//! Arguments of `coldstart measure`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use coldstart_app::measure::{Baseline, StateChoice, label};

use super::launching::LaunchingArgs;
use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MeasureArgs {
    /// State of the caches to start from: cold, boot=FILE, selective, hot; may be repeated [default: cold and
    /// hot; without root selective and hot]
    ///
    /// cold: all clean caches of the system dropped before each start (needs root); boot=FILE: likewise, then the state from
    /// `pagecache save FILE` restored; selective: only the program's files, and their metadata, evicted; hot:
    /// started right after another start
    #[arg(long = "state", value_name = "STATE")]
    pub(crate) states: Vec<StateChoice>,

    /// Counted runs of each command in each state
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    pub(crate) runs: u32,

    /// Hold the processors at their base frequency while measuring, without turbo (needs root)
    #[arg(long)]
    pub(crate) fixed_frequency: bool,

    /// Another command to compare with, as one word; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub(crate) compare: Vec<String>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a page with every run, the figures and the comparisons; with --history: the times over time
    #[arg(long, value_name = "FILE.html", conflicts_with = "import")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print this instead of the report: every run as CSV, or the figures as Markdown
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["json", "show_output"])]
    pub(crate) export: Option<Export>,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    #[command(flatten)]
    pub(crate) keeping: Box<KeepingArgs>,

    #[command(flatten)]
    pub(crate) gate: Box<GateArgs>,

    /// The program to start, and its arguments
    #[arg(
        required_unless_present_any = ["history", "import"],
        trailing_var_arg = true,
        value_name = "PROGRAM"
    )]
    pub(crate) words: Vec<OsString>,
}

/// The history, and queries of it.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct KeepingArgs {
    /// Label this measurement: a commit, a version
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Keep measurements in this file [default: $COLDSTART_HISTORY, else coldstart/history.sqlite in $XDG_DATA_HOME or
    /// ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,

    /// Do not keep this measurement
    #[arg(long, conflicts_with_all = ["history_file", "label", "history", "import"])]
    pub(crate) no_history: bool,

    /// Measure nothing; list the measured programs, or the measurements of one: its path or a part of its
    /// command line
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, default_missing_value = "")]
    pub(crate) history: Option<OsString>,

    /// With --history: draw the times over time, into this SVG file
    #[arg(long, value_name = "FILE", requires = "history")]
    pub(crate) svg: Option<PathBuf>,

    /// Measure nothing; import measurements written by --json into the history
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["history", "words"])]
    pub(crate) import: Vec<PathBuf>,
}

/// Baselines.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Gate")]
pub(crate) struct GateArgs {
    /// Compare with an earlier measurement: a label, `last`, `last:N`, `#NUMBER` of the history, or a file written by
    /// --json
    #[arg(long, value_name = "BASELINE", conflicts_with_all = ["compare", "history", "import"])]
    pub(crate) against: Option<Baseline>,

    /// Exit with code 1 if the program is shown to be slower than BASELINE by more than this, in any state; with
    /// --compare: if the compared command is shown to be slower than PROGRAM
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    pub(crate) fail_if_slower: Option<f64>,

    /// False positive rate of the whole gate
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = error_rate,
        requires = "fail_if_slower"
    )]
    pub(crate) error_rate: f64,

    /// Also compare with measurements of other machines and kernels
    #[arg(long, requires = "against")]
    pub(crate) accept_other_machine: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of percent"))?;
    let allowed = (0.0..=10_000.0).contains(&number);
    allowed.then_some(number).ok_or_else(|| "it must be between 0 and 10000".to_owned())
}

fn error_rate(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of percent"))?;
    let allowed = (0.001..=25.0).contains(&number);
    allowed.then_some(number).ok_or_else(|| "it must be between 0.001 and 25".to_owned())
}

/// What to print instead of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Export {
    /// A row for each run, with all its data (RFC 4180)
    Csv,
    /// Tables of figures
    Markdown,
}

const HELP: &str = "\
The program's files are found by watching one start. Each state is checked before and after each start; a \
run that contradicts its state is repeated and counted.

Each measurement is kept in a history (SQLite), to be compared with later ones. --against compares with earlier ones; \
sessions of different days differ, so several baselines (last:10) are better than one. The most reliable gate measures both \
sides at once: --compare NEW --fail-if-slower 5 -- OLD.

Exit code 1 when a command never became ready, or --fail-if-slower was shown to be exceeded; 2 when it cannot be told.

Examples:
  coldstart measure -- soffice --headless --convert-to pdf letter.odt
  coldstart measure --state hot --runs 50 -- true
  coldstart measure --state boot=after-boot.pagecache -- firefox
  coldstart measure --ready page -- firefox --no-remote --profile DIR '{ready_url}'
  coldstart measure --compare './server-packed' --ready port:8080 -- ./server
  coldstart measure --label v1.2 -- ./server
  coldstart measure --against last:10 --fail-if-slower 5 -- ./server
  coldstart measure --history server --svg trend.svg
  coldstart measure --html server.html --compare ./server-new -- ./server";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_limits() {
        assert!(percent("0").is_ok() && percent("7.5").is_ok());
        for wrong in ["-1", "nan", "inf", "x", ""] {
            assert!(percent(wrong).is_err() && error_rate(wrong).is_err(), "{wrong}");
        }
        assert!(error_rate("0").is_err() && error_rate("50").is_err());
    }
}
