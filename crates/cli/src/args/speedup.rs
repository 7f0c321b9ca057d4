//! Arguments of `coldstart speedup`.

use std::path::PathBuf;

use clap::Args;

use super::launching::{LaunchingArgs, ProgramArgs};
use super::output::ForceArgs;
use super::prefetch::PlanningArgs;

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SpeedupArgs {
    /// Where to write the plan [default: the program's name with .prefetch, in the working directory]
    #[arg(long, short, value_name = "PLAN")]
    pub(crate) output: Option<PathBuf>,

    /// Counted runs before and after, in each state
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(2..=1_000)
    )]
    pub(crate) runs: u32,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    /// Also write a page with every run, before and after, and the proofs
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,

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

const HELP: &str = "\
Measures the program cold and hot, applies each fix that fits, proves it, and measures again, before and after in \
alternating order. The program itself is not changed. Exit code 1 when no fix makes it start faster.

Examples:
  coldstart speedup -- soffice --headless --convert-to pdf letter.odt
  coldstart speedup --html story.html -- ./server";
