//! `coldstart bind`.

use crate::args::bind::BindArgs;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &BindArgs) -> Result<Exit, CliError> {
    let name = args.file.display();
    Err(anyhow::anyhow!("`{name}`: this verb is not in this build").into())
}
