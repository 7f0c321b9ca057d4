//! Fast parsing for a verb that runs faster than the definition of all verbs is built.
//!
//! Building the whole definition, with all help texts, takes as long as opening a hundred libraries. So the
//! arguments of `resolve` are parsed by a definition that contains nothing else. Whatever it does not accept, `--help`
//! included, is left to the whole one, which then reports the mistake.

use clap::{Parser, Subcommand};

use super::resolve::ResolveArgs;
use super::{Cli, Color, Verb};

#[derive(Debug, Parser)]
#[command(name = "coldstart", disable_help_subcommand = true)]
struct Hurried {
    #[arg(long, global = true, default_value = "auto")]
    color: Color,

    #[command(subcommand)]
    verb: HurriedVerb,
}

#[derive(Debug, Subcommand)]
enum HurriedVerb {
    Resolve(ResolveArgs),
}

/// The parsed arguments.
///
/// # Errors
/// Those of [`Cli::read`].
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let is_hurried = std::env::args_os().nth(1).is_some_and(|verb| verb == "resolve");
    let hurried = is_hurried.then(|| Hurried::try_parse().ok()).flatten();
    match hurried {
        Some(Hurried { color, verb: HurriedVerb::Resolve(args) }) => {
            Ok(Cli { color, is_json: args.json, verb: Verb::Resolve(args) })
        }
        None => Cli::read(),
    }
}
