//! `down`: removes the bed, in any state.

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::args::Down;
use crate::bed::{Busy, Lock, State, undo};
use crate::system::interrupt::Interrupt;

pub(crate) fn run(arguments: &Down) -> Result<ExitCode> {
    let home = arguments.which.home()?;
    // Do not be what keeps the mount in use.
    std::env::set_current_dir("/").context("cannot leave the current directory")?;
    if State::load(&home)?.is_none() {
        eprintln!("nothing is up in {}", home.display());
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(rustix::process::geteuid().is_root(), "taking a bed down needs root, as bringing it up did");
    let _lock = Lock::take(&home)?;
    // Half an undo is worth less than one that ends: signals wait.
    let _interrupt = Interrupt::watch()?;
    let Some(mut state) = State::load(&home)? else { return Ok(ExitCode::SUCCESS) };
    undo(&home, &mut state, if arguments.kill { Busy::Kill } else { Busy::Refuse })?;
    eprintln!("{} is down", state.name);
    Ok(ExitCode::SUCCESS)
}
