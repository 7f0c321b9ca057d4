//! `coldstart ldcache`.

use crate::args::ldcache::LdcacheArgs;
use crate::error::CliError;
use crate::exit::Exit;

pub(super) fn run(args: &LdcacheArgs) -> Result<Exit, CliError> {
    let name = args.file.display();
    Err(anyhow::anyhow!("`{name}`: this verb is not in this build").into())
}
