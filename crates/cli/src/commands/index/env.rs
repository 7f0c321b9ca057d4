//! `coldstart index env`.

use coldstart_app::index::environment;
use coldstart_index::Syntax;

use crate::args::index::{EnvArgs, SyntaxChoice};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(super) fn run(args: &EnvArgs) -> Result<Exit, CliError> {
    let syntax = match args.syntax {
        SyntaxChoice::Shell => Syntax::Shell,
        SyntaxChoice::Modulefile => Syntax::Modulefile,
    };
    let outcome = environment(&args.index, syntax)?;
    if args.json {
        json::print("coldstart.index-env/1", &outcome)?;
    } else {
        output::print(&outcome.lines.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    }
    Ok(Exit::Done)
}
