//! `coldstart installed --replay`, and `--refresh` of all that are stale.

use std::fmt::Write;

use coldstart_app::upkeep::{
    Conditions, IdleWait, InstallationReplay, LeftAsIs, RefreshAll, RefreshAllOptions, ReplayAll, ReplayAllOptions,
    Skipped, WhyLeft, refresh_all, replay_all, wait_until_idle,
};
use coldstart_launch::Interrupt;

use super::words::{refreshed, shown};
use crate::args::installed::{InstalledArgs, PlaceKind};
use crate::commands::observer::{Console, Terminal};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{counted, escaped, list, number, plain};
use crate::output::{self, json, size};

/// Reads plans in the background.
pub(super) fn run_replay(args: &InstalledArgs) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let console = Console::default();
    let options = ReplayAllOptions {
        name: args.name.clone(),
        only_user: args.user,
        conditions: if args.anyway { Conditions::anyway() } else { Conditions::default() },
    };
    let outcome = replay_all(&options, &|| interrupt.signal().is_some(), &console)?;
    match args.json {
        true => json::print("coldstart.installed-replay/1", &outcome)?,
        false => output::print(&replayed(&outcome))?,
    }
    let exit = console.into_complaints().finish();
    Ok(if interrupt.signal().is_some() { Exit::Interrupted } else { exit.worse(code_of(&outcome)) })
}

fn code_of(outcome: &ReplayAll) -> Exit {
    let is_broken = |skipped: &Skipped| matches!(skipped, Skipped::Unusable { .. } | Skipped::NoPlan);
    match (outcome.has_skipped(is_broken), outcome.has_skipped(|_| true)) {
        (true, _) => Exit::Broken,
        (false, true) => Exit::No,
        (false, false) => Exit::Done,
    }
}

fn replayed(outcome: &ReplayAll) -> String {
    if outcome.installations.is_empty() {
        return "no installation has the place `login`: `coldstart prefetch install --at-login` gives it to one\n"
            .to_owned();
    }
    outcome.installations.iter().map(replay_line).collect()
}

fn replay_line(replay: &InstallationReplay) -> String {
    let mut text = format!("{}: ", shown(&replay.name));
    match &replay.skipped {
        None => _ = write!(text, "read {}", size::bytes(replay.bytes)),
        Some(reason) if replay.bytes > 0 => {
            _ = write!(text, "read {}, then stopped: {}", size::bytes(replay.bytes), in_words(reason));
        }
        Some(reason) => _ = write!(text, "skipped: {}", in_words(reason)),
    }
    if replay.left_out > 0 && replay.skipped.is_none() {
        let steps = plain(&counted(replay.left_out, "step"));
        _ = write!(text, "; {steps} left out, because files have changed or may not be read");
    }
    text.push('\n');
    text
}

fn in_words(reason: &Skipped) -> String {
    match reason {
        Skipped::Battery => "the machine runs on battery (--anyway reads nevertheless)".to_owned(),
        Skipped::MemoryPressure { percent } => {
            format!("memory is short: tasks waited for it in {percent:.1}% of the last 10 seconds")
        }
        Skipped::NotEnoughMemory { needed, left } => {
            format!("it reads {}, and {} of memory may be used", size::bytes(*needed), size::bytes(*left))
        }
        Skipped::Interrupted => "a signal ended it".to_owned(),
        Skipped::HalfMade => {
            "it is being installed or removed, or that was interrupted (`coldstart installed --repair`)".to_owned()
        }
        Skipped::Image => "it starts from an image, which the start itself reads: there is no plan".to_owned(),
        Skipped::NoPlan => "it has no plan, only changed files".to_owned(),
        Skipped::Unusable { message } => escaped(message),
    }
}

/// Records again what is stale.
pub(super) fn run_refresh_all(args: &InstalledArgs) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let console = Console::default();
    let options = RefreshAllOptions {
        only_user: args.user,
        place: args.place.map(PlaceKind::word).map(str::to_owned),
        when_idle: args.when_idle.then_some(args.longest_wait),
    };
    let outcome = refresh_all(&options, &|| interrupt.signal().is_some(), &console)?;
    match args.json {
        true => json::print("coldstart.installed-refresh-all/1", &outcome)?,
        false => output::print(&refreshed_all(&outcome))?,
    }
    let exit = console.into_complaints().finish();
    Ok(match () {
        () if outcome.interrupted => Exit::Interrupted,
        () if !outcome.left.is_empty() => exit.worse(Exit::No),
        () => exit,
    })
}

fn refreshed_all(outcome: &RefreshAll) -> String {
    let mut text: String = outcome.refreshed.iter().map(refreshed).collect();
    text.extend(outcome.left.iter().map(left_line));
    if text.is_empty() && outcome.failed.is_empty() && !outcome.interrupted {
        text.push_str("nothing is stale\n");
    }
    if !outcome.failed.is_empty() {
        let count = number(outcome.failed.len() as u64);
        _ = writeln!(text, "{count} could not be recorded; the old plans are in use");
    }
    if outcome.interrupted {
        text.push_str("ended by a signal: the rest keeps its old plans\n");
    }
    text
}

fn left_line(left: &LeftAsIs) -> String {
    let why = match left.why {
        WhyLeft::Busy => "the machine was busy all the time",
        WhyLeft::NotPermitted => "only root may change it",
        WhyLeft::NeedsAnotherStep => "recording it again does not help",
        WhyLeft::StaleAgain => "files of the new plan have changed already",
    };
    let mut text = format!("{}: left as it is: {why}\n", shown(&left.name));
    text.push_str(&list("next", &escaped(left.next_step.as_deref().unwrap_or_default())));
    text
}

/// How a wait before a recording ended.
pub(super) enum Waited {
    /// The machine is idle, or nobody asked. While this is held, signals end the recording and nothing else.
    GoOn(Interrupt),
    /// It is not, and this is the exit code.
    End(Exit),
}

/// Waits for an idle machine where the arguments say so.
pub(super) fn wait_if_asked(args: &InstalledArgs) -> Result<Waited, CliError> {
    let interrupt = Interrupt::listen()?;
    if !args.when_idle {
        return Ok(Waited::GoOn(interrupt));
    }
    let waited = wait_until_idle(args.longest_wait, &|| interrupt.signal().is_some(), &Terminal);
    Ok(match waited {
        IdleWait::Idle => Waited::GoOn(interrupt),
        IdleWait::StillBusy if interrupt.signal().is_some() => Waited::End(Exit::Interrupted),
        IdleWait::StillBusy => {
            output::note("the machine was busy all the time: nothing was recorded");
            Waited::End(Exit::No)
        }
    })
}
