//! Writing an image for starts on this machine: written, started from, and written again with what that start missed.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::PathBuf;

use coldstart_image::{Compression, Entry, HotOrder, HotRun, Plan, Written, stage_image};
use coldstart_launch::{CommandLine, Interrupt, LaunchError, LaunchOptions};
use coldstart_output::{OutputTarget, StagedFile};
use coldstart_profile::PageRange;

use super::second_start::missed_pages;
use crate::error::AppError;
use crate::observer::Observer;

/// Starts from the image itself, each of which may find pages that the one before did not need.
const MOST_ROUNDS: usize = 3;

/// What an image is written from.
pub(super) struct Completing<'a> {
    pub(super) entries: Vec<Entry>,
    pub(super) trees: Vec<PathBuf>,
    pub(super) compression: Compression,
    pub(super) output: &'a OutputTarget,
    pub(super) command: &'a CommandLine,
    pub(super) launch: &'a LaunchOptions,
    /// Whether all caches are made cold before a start from the image.
    pub(super) drop_caches: bool,
    /// The program as the order names it.
    pub(super) program: OsString,
    pub(super) interrupt: &'a Interrupt,
    pub(super) observer: &'a dyn Observer,
}

/// A written image.
pub(super) struct Completed {
    pub(super) written: Written,
    pub(super) plan: Plan,
    /// Why no start from it could be tried.
    pub(super) untried: Option<AppError>,
}

impl Completing<'_> {
    /// Writes the image until a start from it needs nothing outside the hot range.
    pub(super) fn write(&self, mut hot: HotOrder) -> Result<Completed, AppError> {
        let mut rounds = 0;
        loop {
            let plan = Plan::with_compression(self.entries.clone(), self.trees.clone(), &hot, self.compression)?;
            let (staged, written) = self.once(&plan)?;
            let missed = match rounds {
                MOST_ROUNDS => Ok(Vec::new()),
                _ => missed_pages(staged.file(), self.command, self.launch, self.drop_caches),
            };
            rounds += 1;
            let untried = match (missed, self.interrupt.signal()) {
                (Ok(missed), _) if !missed.is_empty() => {
                    add_missed(&mut hot, missed, &self.program);
                    continue;
                }
                (Ok(_), _) => None,
                (Err(_), Some(signal)) => return Err(LaunchError::Interrupted { signal }.into()),
                (Err(error), None) => Some(error),
            };
            self.output.finish(staged)?;
            return Ok(Completed { written, plan, untried });
        }
    }

    /// Writes it once, to a staged file. Dropping that frees its room for the next round.
    fn once(&self, plan: &Plan) -> Result<(StagedFile, Written), AppError> {
        self.observer.begin_bytes(plan.content_bytes());
        let mut progress = |bytes| {
            self.observer.advance(bytes);
            match self.interrupt.signal() {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        };
        let written = stage_image(self.output, plan, &mut progress);
        self.observer.end();
        written.map_err(|error| match self.interrupt.signal() {
            Some(signal) => LaunchError::Interrupted { signal }.into(),
            None => error.into(),
        })
    }
}

/// Appends pages to an order, for one program: what other programs need is read before.
fn add_missed(order: &mut HotOrder, missed: Vec<(PathBuf, PageRange)>, program: &OsStr) {
    let bit = order.programs.iter().position(|known| known == program).unwrap_or(0);
    let programs = 1u64.checked_shl(bit as u32).unwrap_or(u64::MAX);
    order.runs.extend(missed.into_iter().map(|(path, pages)| HotRun { path: path.into(), pages, programs }));
}
