//! Arguments of `coldstart survey`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use coldstart_app::survey::Part;

use super::output::ForceArgs;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = HELP)]
pub(crate) struct SurveyArgs {
    #[command(subcommand)]
    pub(crate) action: Option<SurveyAction>,

    #[command(flatten)]
    pub(crate) make: MakeArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SurveyAction {
    /// Sum up a survey: what each fix would save, and what each package would gain
    #[command(after_help = REPORT_HELP)]
    Report(ReportArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MakeArgs {
    /// Directories, root file systems, .deb and .rpm packages, squashfs images, AppImages, OCI image layouts, ELF files
    #[arg(required = true, value_name = "WHAT")]
    pub(crate) what: Vec<OsString>,

    /// The directory of the tables: a new one, or that of the same survey, which is then continued
    #[arg(long, short, value_name = "DIR", required = true)]
    pub(crate) output: Option<PathBuf>,

    /// Make only the I-th of N parts, for N processes on one or several machines
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Part>,

    /// Do not walk into other file systems
    #[arg(long, short = 'x')]
    pub(crate) one_file_system: bool,

    /// Unpack archives into files without a name in this directory instead of the one for temporary files
    #[arg(long, value_name = "DIR")]
    pub(crate) scratch: Option<PathBuf>,

    /// Print one JSON object instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The directory of a survey
    #[arg(value_name = "DIR")]
    pub(crate) survey: PathBuf,

    /// Show 1000 packages and all fixes instead of the first
    #[arg(long)]
    pub(crate) all: bool,

    /// Also write a page with all figures
    #[arg(long, value_name = "FILE.html")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) force: ForceArgs,

    /// Print one JSON object instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

const HELP: &str = "\
Nothing of what is surveyed is executed, and nothing gets a name from it. Packages and images in a directory are opened; in a root file \
system they are not, because what is in them may be installed there.

A survey that was stopped goes on where it was: a shard is complete or not there. Files that cannot be read are rows of the table \
`problems`.

Exit codes: 0 done; 1 another process is making some shards; 2 something could not be read or written.

Examples:
  coldstart survey / -x -o machine.survey
  coldstart survey report machine.survey --html machine.html
  coldstart survey pool/ -o debian.survey
  coldstart survey pool/ -o /shared/debian.survey --shard $SLURM_ARRAY_TASK_ID/64
  duckdb -c \"select package, sum(saves_bytes) from 'debian.survey/*/findings.parquet' group by 1 order by 2 desc limit 20\"";

const REPORT_HELP: &str = "\
Objects that no package owns are one line. A survey that is not complete is summed up as far as it goes, and the command exits with 1.

Exit codes: 0 done; 1 the survey is not complete; 2 it could not be read.

Examples:
  coldstart survey report debian.survey
  coldstart survey report debian.survey --html debian.html";
