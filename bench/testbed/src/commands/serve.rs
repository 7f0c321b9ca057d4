//! `serve`: the server process, started by `up`.

use std::process::ExitCode;

use anyhow::{Context, Result};
use rustix::mm::{MlockAllFlags, mlockall};

use crate::args::Serve;
use crate::model::Parameters;
use crate::server;

pub(crate) fn run(arguments: &Serve) -> Result<ExitCode> {
    let parameters: Parameters =
        serde_json::from_str(&arguments.parameters).context("--parameters is not what `up` passes")?;
    parameters.check()?;
    // A session of its own: the terminal's Ctrl-C and its closing are not for us.
    rustix::process::setsid().context("cannot start a session")?;
    // A real disk does not wait for a processor. Threads inherit this, so it comes before the first one.
    if let Err(error) = rustix::process::setpriority_process(None, -20) {
        eprintln!("cannot raise the priority ({error}); answers may be late when the machine is busy");
    }
    // Our own pages must not have to come from the disk while we play one.
    if let Err(error) = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE) {
        eprintln!("cannot lock memory ({error}); timing may suffer when memory is short");
    }
    server::serve(&arguments.image, &arguments.at, &parameters)?;
    Ok(ExitCode::SUCCESS)
}
