//! Reading the arguments of a verb that is done before the definition of all verbs would be built.
//!
//! Building the whole definition, with every text of its help, takes as long as opening a hundred libraries. So the
//! arguments of `resolve` are held against a definition that has nothing else. Whatever that does not take, `--help`
//! included, is left to the whole one, which then says what is wrong.

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

/// What was typed.
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
