//! A bound copy of a program.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_sys::private_mounts::Overlay;

use super::{TrialDirectory, resemble};
use crate::bind::{self, Done, bind_seen_as, caution_sentence};
use crate::observer::Silent;
use crate::rewriting::{Outcome, PlaceOptions};

/// A bound copy, proven to be the same program but for its search.
#[derive(Clone, Debug)]
pub struct BoundCopy {
    /// The copy over the program.
    pub overlay: Overlay,
    /// The directory of links, among the copies. The copy names it by its absolute path.
    pub links: Option<PathBuf>,
    /// Failed probes for libraries that a start is spared.
    pub probes_saved: u64,
    /// Differences in behaviour, a clause each.
    pub cautions: Vec<String>,
}

/// Binds a program (an ELF file, by its path) as if in place, into `directory`.
///
/// # Errors
/// The reason why it is not bound, as a clause; also if there is nothing to gain.
pub fn bound_copy(program: &Path, directory: &TrialDirectory, interrupt: &Interrupt) -> Result<BoundCopy, String> {
    let program = program.canonicalize().map_err(|error| format!("the program cannot be found: {error}"))?;
    // Not beside our lock: the writer of links locks the directory that they are in.
    let place = directory.path().join("bound");
    std::fs::create_dir_all(&place).map_err(|error| format!("no directory can be made for its copy: {error}"))?;
    bound_from(&program, &program, &place.join("program"), &place.join("links"), interrupt)
}

/// Binds the file `original` into `replacement`, as the program that is started as `program`, with its links in `links`.
///
/// # Errors
/// As [`bound_copy`].
pub(crate) fn bound_from(
    original: &Path,
    program: &Path,
    replacement: &Path,
    links: &Path,
    interrupt: &Interrupt,
) -> Result<BoundCopy, String> {
    let options = bind::Options {
        programs: vec![original.to_owned()],
        place: PlaceOptions { output: Some(replacement.to_owned()), ..PlaceOptions::default() },
        dry_run: false,
        keep_original: None,
        edit: coldstart_bind::Options { farm: Some(links.to_owned()), ..coldstart_bind::Options::default() },
        allow_signed: false,
        anyway: false,
    };
    let report = bind_seen_as(&options, Some(program), interrupt, &Silent);
    let mut report = report.map_err(|error| error.sentence())?;
    let (_, worked) = report.done.pop().ok_or("interrupted")?;
    let bound = match worked.outcome {
        Outcome::Done(Done::Bound(bound)) => bound,
        Outcome::Refused(refused) => return Err(refused.reason),
        Outcome::Failed(error) => return Err(error.sentence()),
        Outcome::Done(Done::WouldBind(_)) | Outcome::Gone => return Err("it changed meanwhile".to_owned()),
    };
    resemble(replacement, original).map_err(|error| format!("its copy cannot be given its mode and time: {error}"))?;
    let predicted = &bound.plan.predicted;
    let saved = predicted.failed_probes_before.saturating_sub(predicted.failed_probes_after);
    Ok(BoundCopy {
        overlay: Overlay { original: program.to_owned(), replacement: replacement.to_owned() },
        links: bound.plan.farm.is_some().then(|| links.to_owned()),
        probes_saved: u64::try_from(saved).unwrap_or(u64::MAX),
        cautions: bound.plan.cautions.iter().map(caution_sentence).collect(),
    })
}
