//! Arguments of `coldstart order`.

pub(crate) mod check;
pub(crate) mod functions;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct OrderArgs {
    #[command(subcommand)]
    pub(crate) action: OrderAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OrderAction {
    /// Compare a build in a new order of functions with the one before
    #[command(after_help = check::HELP)]
    Check(Box<check::CheckArgs>),
    /// Make a list of a program's functions for a linker, in the order in which starts call them
    #[command(after_help = functions::HELP)]
    Functions(functions::FunctionsArgs),
}
