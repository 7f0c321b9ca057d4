//! `coldstart prefetch merge`: several plans as one.

use std::ffi::{OsStr, OsString};

use coldstart_app::command;
use coldstart_app::prefetch::{MergeOptions, MergeOutcome, merge};

use super::show::device_line;
use crate::args::prefetch::MergeArgs;
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &MergeArgs) -> Result<Exit, CliError> {
    let options = MergeOptions {
        plans: args.plans.clone(),
        output: args.output.clone(),
        share: args.share,
        strategy: args.planning.strategy.into(),
        force: args.force.force,
    };
    let outcome = merge(&options, &Terminal)?;
    if args.json {
        json::print("coldstart.prefetch-merge/1", &outcome)?;
    } else {
        output::print(&in_words(&outcome))?;
    }
    Ok(Exit::Done)
}

/// The plan in a few lines.
fn in_words(outcome: &MergeOutcome) -> String {
    let plan = &outcome.merged_plan;
    let path = outcome.path.as_path();
    let kept = match outcome.share_percent {
        Some(share) => format!(
            "kept: what at least {share} % of {} read; left out: {} and {}\n",
            plain(&counted(outcome.recordings.into(), "recording")),
            size::bytes(outcome.left_out_bytes),
            plain(&counted(outcome.left_out_names, "name")),
        ),
        None if outcome.recordings == 1 => "a single recording: the same plan\n".to_owned(),
        None => format!("{} recordings, all the same: their plan\n", outcome.recordings),
    };
    let words = [path.as_os_str(), OsStr::new("--")].into_iter().chain(plan.command.iter().map(OsString::as_os_str));
    format!(
        "wrote {}: {} in {} of {}, {}\n{kept}device: {}\nstart it with: {}\n",
        printable(path),
        size::bytes(outcome.bytes),
        plain(&counted(outcome.reads, "read")),
        plain(&counted(outcome.files as u64, "file")),
        plain(&counted(outcome.names, "name")),
        device_line(&plan.summary),
        command::of_ours("prefetch run", words),
    )
}
