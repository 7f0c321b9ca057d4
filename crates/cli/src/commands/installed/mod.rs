//! `coldstart installed`: list, refresh, undo and repair installations.

mod upkeep;
mod words;

pub(crate) use words::{cost, cost_of_index, undone};

use std::ffi::OsStr;

use coldstart_app::install::{Health, LIST_SCHEMA, fall_back, installations_with, list, refresh, repair, uninstall};

use crate::args::installed::{InstalledArgs, PlaceKind};
use crate::commands::observer::Terminal;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, json};

pub(crate) fn run(args: &InstalledArgs) -> Result<Exit, CliError> {
    match &args.name {
        _ if args.fall_back => run_fall_back(args),
        _ if args.replay => upkeep::run_replay(args),
        None if args.refresh => upkeep::run_refresh_all(args),
        Some(name) if args.refresh => match upkeep::wait_if_asked(args)? {
            upkeep::Waited::GoOn(_interrupt) => run_refresh(args, name),
            upkeep::Waited::End(exit) => Ok(exit),
        },
        Some(name) if args.uninstall => run_uninstall(args, name),
        name if args.repair => run_repair(args, name.as_deref()),
        name => run_list(args, name.as_deref()),
    }
}

fn run_list(args: &InstalledArgs, name: Option<&OsStr>) -> Result<Exit, CliError> {
    let listing = installations_with(list(name, args.user)?, args.place.map(PlaceKind::word));
    match args.json {
        true => json::print(LIST_SCHEMA, &listing)?,
        false if name.is_some() => output::print(&words::details(&listing))?,
        false => output::print(&words::table(&listing))?,
    }
    Ok(if listing.health() == Health::Fresh { Exit::Done } else { Exit::No })
}

fn run_refresh(args: &InstalledArgs, name: &OsStr) -> Result<Exit, CliError> {
    let outcome = refresh(name, args.user, &Terminal)?;
    match args.json {
        true => json::print("coldstart.installed-refresh/1", &outcome)?,
        false => output::print(&words::refreshed(&outcome))?,
    }
    Ok(Exit::Done)
}

/// Called by dpkg after each of its runs, so that it says nothing unless something was done.
fn run_fall_back(args: &InstalledArgs) -> Result<Exit, CliError> {
    let outcome = fall_back()?;
    match args.json {
        true => json::print("coldstart.installed-fall-back/1", &outcome)?,
        false => output::print(&words::fell_back(&outcome))?,
    }
    Ok(Exit::Done)
}

fn run_uninstall(args: &InstalledArgs, name: &OsStr) -> Result<Exit, CliError> {
    let outcome = uninstall(name, args.user, args.force)?;
    match args.json {
        true => json::print("coldstart.installed-uninstall/1", &outcome)?,
        false => output::print(&words::undone(&outcome))?,
    }
    Ok(if outcome.complete { Exit::Done } else { Exit::No })
}

fn run_repair(args: &InstalledArgs, name: Option<&OsStr>) -> Result<Exit, CliError> {
    let outcome = repair(name, args.user)?;
    match args.json {
        true => json::print("coldstart.installed-repair/1", &outcome)?,
        false => output::print(&words::repaired(&outcome))?,
    }
    let repairs = &outcome.repairs;
    let has_failed = repairs.iter().any(|repair| repair.error.is_some());
    let is_complete = repairs.iter().filter_map(|repair| repair.undone.as_ref()).all(|undone| undone.complete);
    Ok(match (has_failed, is_complete) {
        (true, _) => Exit::Broken,
        (false, true) => Exit::Done,
        (false, false) => Exit::No,
    })
}
