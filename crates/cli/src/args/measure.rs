//! What may be typed after `coldstart measure`.

use clap::{Args, ValueEnum};

use super::launching::{LaunchingArgs, ProgramArgs};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct MeasureArgs {
    /// State of the caches to start from; may be given more than once [default: cold and hot; without root selective
    /// and hot]
    #[arg(long = "state", value_enum, value_name = "STATE")]
    pub(crate) states: Vec<StateChoice>,

    /// Counted runs of each command in each state
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,

    /// Another command to compare with, as one word; may be given more than once
    #[arg(long, value_name = "COMMAND")]
    pub(crate) compare: Vec<String>,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) launching: LaunchingArgs,

    #[command(flatten)]
    pub(crate) program: ProgramArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateChoice {
    /// All clean caches of the system dropped before each start (needs root)
    Cold,
    /// Only the files that the program reads evicted before each start
    Selective,
    /// Started right after another start
    Hot,
}

const HELP: &str = "\
The files that the program reads are found by watching one start. Each state is checked before and after each start; a
run that contradicts its state is repeated and counted.

Exit code 1 when a command never became ready.

Examples:
  coldstart measure -- soffice --headless --convert-to pdf letter.odt
  coldstart measure --state hot --runs 50 -- true
  coldstart measure --compare './server-packed' --ready port:8080 -- ./server";
