//! `coldstart verify`: prove that a rewritten file is equivalent to its original for a loader.

mod words;

use coldstart_app::command;
use coldstart_app::verify::{Options, SCHEMA, StartOptions, Starts, Verdict, verify};
use coldstart_rewrite::Identity;

use super::launching::waiting_options;
use super::rewriting::{complain_refused, proof_words};
use crate::args::verify::VerifyArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{escaped, fact, prose};
use crate::output::{self, json};

pub(super) fn run(args: &VerifyArgs) -> Result<Exit, CliError> {
    let verdict = verify(&options(args)?)?;
    if args.json {
        json::print(SCHEMA, &verdict)?;
    } else {
        tell(args, &verdict)?;
        // Without --against, that is the answer.
        if let (Some(Identity::Changed { change }), Some(_)) = (&verdict.identity, &args.against) {
            output::note(&escaped(&format!(
                "`{}` is changed after coldstart wrote it: {change}",
                printable(&args.output)
            )));
        }
        output::print(&verdict.search.as_ref().map(words::search).unwrap_or_default())?;
        let starts = verdict.starts.as_ref();
        output::print(&starts.map(|starts| words::starts(starts, &args.waiting)).unwrap_or_default())?;
        if starts.is_some_and(Starts::reached_limit) {
            output::hint("set the readiness condition with `--ready WHEN`, or wait longer with `--time-limit SECONDS`");
        } else if !verdict.same && verdict.is_bound {
            let status = command::of_ours("status", [args.output.as_os_str()]);
            output::hint(&format!("`{status}` shows the changes since it was bound"));
        }
    }
    Ok(if verdict.same { Exit::Done } else { Exit::No })
}

fn options(args: &VerifyArgs) -> Result<Options, CliError> {
    let starting = || {
        Ok::<_, CliError>(StartOptions {
            launching: waiting_options(&args.waiting)?,
            arguments: args.arguments.clone(),
            runs: args.runs,
        })
    };
    Ok(Options {
        output: args.output.clone(),
        against: args.against.clone(),
        starting: args.run.then(starting).transpose()?,
    })
}

fn tell(args: &VerifyArgs, verdict: &Verdict) -> Result<(), CliError> {
    let name = printable(&args.output);
    let other = match args.against.as_deref() {
        Some(path) => format!("`{}`", printable(path)),
        None => "its restored original".to_owned(),
    };
    if let Some(proof) = &verdict.proof {
        let text = prose(&format!("`{name}` is equivalent to {other} for a loader"), 0, 2);
        output::print(&(text + &fact("proof", &proof_words(proof))))?;
    }
    if let Some(difference) = &verdict.difference {
        let text = prose(&format!("`{name}` is not equivalent to {other} for a loader"), 0, 2);
        output::print(&(text + &fact("what", &escaped(&difference.message))))?;
    }
    if let Some(refused) = &verdict.refusal {
        let mut refused = refused.clone();
        let against = "use `--against FILE` with a kept original".to_owned();
        refused.hint = Some(refused.hint.map_or(against.clone(), |hint| format!("{hint}; {against}")));
        complain_refused("verify", &args.output, &refused);
    }
    Ok(())
}
