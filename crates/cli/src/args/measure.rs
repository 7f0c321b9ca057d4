//! What may be typed after `coldstart measure`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::launching::LaunchingArgs;
use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MeasureArgs {
    /// State of the caches to start from: cold, boot=FILE, selective, hot; may be given more than once [default: cold and
    /// hot; without root selective and hot]
    ///
    /// cold: all clean caches of the system dropped before each start (needs root); boot=FILE: likewise, and what `pagecache
    /// save FILE` has saved brought back; selective: only the files that the program reads, and their metadata, evicted; hot:
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

    /// Another command to compare with, as one word; may be given more than once
    #[arg(long, value_name = "COMMAND")]
    pub(crate) compare: Vec<String>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Also write a page with every run, the figures and the comparisons; with --history: how the times went
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

/// Where measurements are kept, and what is asked of those that are.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct KeepingArgs {
    /// Call this measurement something: a commit, a version
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub(crate) label: Option<String>,

    /// Keep measurements in this file [default: $COLDSTART_HISTORY, else coldstart/history.sqlite in $XDG_DATA_HOME or
    /// ~/.local/share]
    #[arg(long, value_name = "FILE")]
    pub(crate) history_file: Option<PathBuf>,

    /// Do not keep this measurement
    #[arg(long, conflicts_with_all = ["history_file", "label", "history", "import"])]
    pub(crate) no_history: bool,

    /// Measure nothing; show the programs that were measured, or the measurements of one: its path or a part of its
    /// command line
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, default_missing_value = "")]
    pub(crate) history: Option<OsString>,

    /// With --history: draw how the times went, into this SVG file
    #[arg(long, value_name = "FILE", requires = "history")]
    pub(crate) svg: Option<PathBuf>,

    /// Measure nothing; take measurements that --json has written into the history
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["history", "words"])]
    pub(crate) import: Vec<PathBuf>,
}

/// What a measurement is held against.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Gate")]
pub(crate) struct GateArgs {
    /// Compare with what was measured before: a label, `last`, `last:N`, `#NUMBER` of the history, or a file that --json
    /// has written
    #[arg(long, value_name = "BASELINE", conflicts_with_all = ["compare", "history", "import"])]
    pub(crate) against: Option<Baseline>,

    /// Exit with code 1 if the program is shown to be slower than BASELINE by more than this, in some state; with
    /// --compare: if the compared command is shown to be slower than PROGRAM
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = percent)]
    pub(crate) fail_if_slower: Option<f64>,

    /// How often the whole gate may call a program slower that is not
    #[arg(
        long,
        value_name = "PERCENT",
        default_value = "1",
        allow_negative_numbers = true,
        value_parser = error_rate,
        requires = "fail_if_slower"
    )]
    pub(crate) error_rate: f64,

    /// Compare with measurements of other machines and kernels, too
    #[arg(long, requires = "against")]
    pub(crate) accept_other_machine: bool,
}

/// What --against names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Baseline {
    /// All measurements with this label.
    Label(String),
    /// The last so many of the same command.
    Last(u32),
    /// The measurement of this number.
    Number(i64),
    /// A file of --json.
    File(PathBuf),
}

impl std::str::FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "last" {
            return Ok(Self::Last(1));
        }
        if let Some(count) = text.strip_prefix("last:") {
            let count = count.parse().ok().filter(|count| (1..=10_000).contains(count));
            return count.map(Self::Last).ok_or_else(|| "after `last:` stands a number from 1 to 10000".to_owned());
        }
        if let Some(number) = text.strip_prefix('#') {
            return number.parse().map(Self::Number).map_err(|_| "after `#` stands a number of the history".to_owned());
        }
        // A label may look like anything; a file is one that says so.
        let is_file = text.contains('/') || text.ends_with(".json");
        if is_file { Ok(Self::File(text.into())) } else { label(text).map(Self::Label) }
    }
}

/// Refuses what --against would take for something else.
fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("a label is some text in one line".to_owned());
    }
    if text == "last" || text.starts_with("last:") || text.starts_with('#') {
        return Err("`last`, `last:N` and `#NUMBER` name measurements without a label".to_owned());
    }
    Ok(text.to_owned())
}

fn percent(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of percent"))?;
    let allowed = (0.0..=10_000.0).contains(&number);
    allowed.then_some(number).ok_or_else(|| "it must lie between 0 and 10000".to_owned())
}

fn error_rate(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a number of percent"))?;
    let allowed = (0.001..=25.0).contains(&number);
    allowed.then_some(number).ok_or_else(|| "it must lie between 0.001 and 25".to_owned())
}

/// What to print instead of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Export {
    /// A row for each run, with all that is known of it (RFC 4180)
    Csv,
    /// Tables of figures
    Markdown,
}

/// What --state names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StateChoice {
    Cold,
    /// With the file of the saved state.
    Boot(PathBuf),
    Selective,
    Hot,
}

impl std::str::FromStr for StateChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("boot=")) {
            ("cold", _) => Ok(Self::Cold),
            ("selective", _) => Ok(Self::Selective),
            ("hot", _) => Ok(Self::Hot),
            (_, Some(file)) if !file.is_empty() => Ok(Self::Boot(file.into())),
            ("boot" | "boot=", _) => {
                Err("`boot` needs the file that `coldstart pagecache save` wrote: boot=FILE".to_owned())
            }
            _ => Err("expected cold, boot=FILE, selective or hot".to_owned()),
        }
    }
}

const HELP: &str = "\
The files that the program reads are found by watching one start. Each state is checked before and after each start; a \
run that contradicts its state is repeated and counted.

Each measurement is kept in a history (SQLite), to be compared with later ones. --against compares with earlier ones; \
sessions of different days differ, so several baselines (last:10) tell more than one. The surest gate measures both \
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
    fn baselines_are_told_apart() {
        let parsed = |text: &str| text.parse::<Baseline>();
        assert_eq!(parsed("last"), Ok(Baseline::Last(1)));
        assert_eq!(parsed("last:10"), Ok(Baseline::Last(10)));
        assert_eq!(parsed("#12"), Ok(Baseline::Number(12)));
        assert_eq!(parsed("v1.2"), Ok(Baseline::Label("v1.2".into())));
        assert_eq!(parsed("a.json"), Ok(Baseline::File("a.json".into())));
        assert_eq!(parsed("./a"), Ok(Baseline::File("./a".into())));
        for wrong in ["", "last:", "last:0", "last:-1", "#", "#a", "a\nb"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
        assert!(label("last:3").is_err() && label("#1").is_err() && label("latest").is_ok());
    }

    #[test]
    fn a_state_as_after_boot_has_a_file() {
        let parsed = |text: &str| text.parse::<StateChoice>();
        assert_eq!(parsed("boot=a b"), Ok(StateChoice::Boot("a b".into())));
        assert_eq!(parsed("hot"), Ok(StateChoice::Hot));
        assert!(parsed("boot").unwrap_err().contains("boot=FILE") && parsed("boot=").is_err());
        assert!(parsed("Cold").is_err() && parsed("").is_err());
    }

    #[test]
    fn rates_have_limits() {
        assert!(percent("0").is_ok() && percent("7.5").is_ok());
        for wrong in ["-1", "nan", "inf", "x", ""] {
            assert!(percent(wrong).is_err() && error_rate(wrong).is_err(), "{wrong}");
        }
        assert!(error_rate("0").is_err() && error_rate("50").is_err());
    }
}
