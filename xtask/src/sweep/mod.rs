//! `sweep`: every program of a system, asked `--version` and `--help` before and after.
//!
//! The tests try what somebody thought of; a system with two desktops has what nobody did. All ELF files are inspected and packed,
//! all programs are bound and traced, and every program must answer as before.
//!
//! Not obvious: the chore starts itself again in a mount namespace of its own, so that the kernel removes all mounts when it ends,
//! also by a kill. See [`jail`] for what the programs see.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;

use crate::cargo::{build_programs, target_directory};
use crate::tools::{FOR_SWEEPS, install_missing};

mod answers;
mod jail;
mod programs;
mod report;
mod verbs;

use answers::Plain;
use jail::{Ground, Jail};
use programs::Files;
use report::{Report, Row};

const RELEASE: &str = "bookworm";
const PACKAGES: [&str; 2] = ["gnome-core", "kde-plasma-desktop"];
/// What each program is asked.
const ARGUMENTS: [&str; 2] = ["--version", "--help"];
/// Set in the mount namespace of the chore's own.
const INSIDE: &str = "COLDSTART_SWEEP_INSIDE";
/// How many more plain answers there are before a difference counts.
const MORE_ROUNDS: usize = 3;

/// What may be typed after `sweep`.
#[derive(clap::Args)]
pub(crate) struct SweepArguments {
    /// The system; / is this machine's, which is not changed [default: a Debian 12 with two desktops, built once]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Only programs and files with this in their paths; others are not packed either
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// How long an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3600))]
    limit: u32,
}

/// A program, what it is asked, and what it answers unchanged.
struct Asked {
    program: PathBuf,
    argument: &'static str,
    plain: Plain,
}

impl Asked {
    fn words(&self) -> [OsString; 2] {
        [self.program.clone().into(), self.argument.into()]
    }
}

/// Sweeps over a system and prints the table.
///
/// # Errors
/// When something differs, or cannot be carried out.
pub(crate) fn sweep(arguments: &SweepArguments) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "a sweep needs root for mounts and traces\nhint: sudo -E cargo xtask sweep"
    );
    install_missing(FOR_SWEEPS)?;
    if std::env::var_os(INSIDE).is_none() {
        let mut again = Command::new("unshare");
        again.args(["--mount", "--propagation", "private", "--"]).arg(std::env::current_exe()?);
        let error = again.args(std::env::args_os().skip(1)).env(INSIDE, "yes").exec();
        return Err(error).context("cannot start unshare");
    }
    let home = target_directory()?.join("sweep");
    fs::create_dir_all(&home)?;
    let lock = fs::File::create(home.join("sweep.lock"))?;
    lock.file().try_lock().context("another sweep is running")?;
    let [coldstart] = build_programs("release", ["coldstart"])?;
    let tree = match &arguments.root {
        Some(root) => fs::canonicalize(root)?,
        None => crate::corpus::system(&home, RELEASE, &PACKAGES)?,
    };
    let mut files = Files::of(&tree);
    if let Some(text) = &arguments.only {
        files.keep(text);
    }
    ensure!(!files.all.is_empty(), "there is no such ELF file below {}", tree.display());
    let ground = Ground::new(&home, &coldstart, arguments.limit)?;
    let report = all(&ground.jail(&tree), &files, arguments.only.is_some())?;
    print!("{report}");
    match report.different() {
        0 => Ok(()),
        different => bail!("{different} differ or failed"),
    }
}

fn all(jail: &Jail<'_>, files: &Files, only_some: bool) -> Result<Report> {
    let mut report = Report::default();
    let (mut asked, plain) = ask(jail, files)?;
    report.add(plain);
    report.add(verbs::inspect(jail, files)?);

    let (row, packed) = verbs::pack(jail, if only_some { &files.all } else { &files.directories })?;
    report.add(row);
    report.add(ask_again("answers, all packed", jail, &packed, &mut asked)?);

    if !files.programs.is_empty() {
        let (row, bound) = verbs::bind(jail, files)?;
        report.add(row);
        report.add(ask_again("answers, all bound", jail, &bound, &mut asked)?);
    }
    report.add(verbs::trace(jail, &mut asked)?);
    Ok(report)
}

/// What all programs answer unchanged.
fn ask(jail: &Jail<'_>, files: &Files) -> Result<(Vec<Asked>, Row)> {
    let questions: Vec<_> = files.programs.iter().flat_map(|program| ARGUMENTS.map(|word| (program, word))).collect();
    let asked = in_parallel("plain answers", &questions, |(program, argument)| {
        let words = [(*program).clone().into(), (*argument).into()];
        Ok(Asked { program: (*program).clone(), argument, plain: Plain::ask(|| jail.ask(&words))? })
    })?;
    let mut row = Row::new("answers, plain, twice");
    for asked in &asked {
        row.count += 1;
        if asked.plain.is_repeatable() {
            row.same += 1;
        } else if asked.plain.ends() {
            row.beside("not repeatable: compared by exit status");
        } else {
            row.beside(format!("still running after the limit: {}", asked.program.display()));
        }
    }
    for (program, reason) in &files.left_out {
        row.beside(format!("left out: {}, which {reason}", program.display()));
    }
    Ok((asked, row))
}

/// Whether they answer the same after a change.
fn ask_again(subject: &str, plain: &Jail<'_>, changed: &Jail<'_>, asked: &mut [Asked]) -> Result<Row> {
    let answers = in_parallel(subject, asked, |asked| changed.ask(&asked.words()))?;
    let mut row = Row::new(subject);
    for (asked, answer) in asked.iter_mut().zip(answers) {
        let words = asked.words();
        let difference = asked.plain.difference_after(&answer, true, MORE_ROUNDS, || plain.ask(&words))?;
        row.count(&format!("{} {}", asked.program.display(), asked.argument), difference);
    }
    Ok(row)
}

/// Does `work` with each item, as many at once as there are processors, and returns the results in order.
fn in_parallel<I: Sync, O: Send>(what: &str, items: &[I], work: impl Fn(&I) -> Result<O> + Sync) -> Result<Vec<O>> {
    let clock = Instant::now();
    eprintln!("sweep: {what}: {}", items.len());
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    eprintln!("sweep: {what}: took {:.0} s", clock.elapsed().as_secs_f64());
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..500).collect();
        assert_eq!(in_parallel("test", &items, |item| Ok(*item)).unwrap(), items);
        in_parallel("test", &items, |item| if *item == 7 { bail!("seven") } else { Ok(()) }).unwrap_err();
    }
}
