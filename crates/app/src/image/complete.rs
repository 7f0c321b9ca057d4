//! Writing an image for starts on this machine: written, started from, and written again with what that start missed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Adds pages to an order, for one program. When in the start they were needed is not known, only that it was not before their file was first
/// used: so they lie in front of the first hot pages of the file. At the end of the order, one page that is needed early would hold up the start
/// until all others are read.
fn add_missed(order: &mut HotOrder, missed: Vec<(PathBuf, PageRange)>, program: &OsStr) {
    let bit = order.programs.iter().position(|known| known == program).unwrap_or(0);
    let programs = 1u64.checked_shl(bit as u32).unwrap_or(u64::MAX);
    let mut of_files: BTreeMap<Arc<Path>, Vec<PageRange>> = BTreeMap::new();
    for (path, pages) in missed {
        of_files.entry(path.into()).or_default().push(pages);
    }
    let new = |path: Arc<Path>, pages: Vec<PageRange>| {
        pages.into_iter().map(move |pages| HotRun { path: Arc::clone(&path), pages, programs })
    };
    let mut runs = Vec::with_capacity(order.runs.len());
    for run in std::mem::take(&mut order.runs) {
        if run.programs & programs != 0 {
            runs.extend(of_files.remove_entry(&run.path).into_iter().flat_map(|(path, pages)| new(path, pages)));
        }
        runs.push(run);
    }
    // Files of which only other programs have hot pages.
    runs.extend(of_files.into_iter().flat_map(|(path, pages)| new(path, pages)));
    order.runs = runs;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_pages_lie_where_the_program_first_uses_their_file() {
        let run = |path: &str, start, programs| HotRun {
            path: Path::new(path).into(),
            pages: PageRange::new(start, 2).unwrap(),
            programs,
        };
        let mut order = HotOrder {
            programs: vec!["other".into(), "program".into()],
            runs: vec![run("/a", 0, 3), run("/b", 0, 1), run("/b", 8, 2), run("/a", 4, 2), run("/c", 0, 1)],
            ..HotOrder::default()
        };
        let missed = [("/b", 20), ("/a", 10), ("/b", 30), ("/c", 6)];
        let missed = missed.map(|(path, start)| (PathBuf::from(path), PageRange::new(start, 2).unwrap()));
        add_missed(&mut order, missed.into(), OsStr::new("program"));
        let expected = [
            run("/a", 10, 2),
            run("/a", 0, 3),
            run("/b", 0, 1),
            run("/b", 20, 2),
            run("/b", 30, 2),
            run("/b", 8, 2),
            run("/a", 4, 2),
            run("/c", 0, 1),
            run("/c", 6, 2),
        ];
        assert_eq!(order.runs, expected);
    }
}
