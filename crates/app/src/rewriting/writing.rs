//! Writing one result, with the proof that must hold before it is put in place.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_profile::printable;
use coldstart_prove::{NotProven, Proof, SearchEdit, Source, prove, prove_identity, prove_search};
use coldstart_rewrite::{OriginalFile, Replacement, Script, Target, WriteError, write_proven};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use super::destination::{Destination, Rule};
use super::gather::Task;
use crate::error::AppError;

/// Why a result is not put in place.
#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    /// The result differs from what it was made from: a fault of ours.
    #[error("what was made of `{}` is not proven to be the same to a loader", printable(.path))]
    Differs {
        /// The file that was worked on.
        path: PathBuf,
        /// The first difference.
        source: NotProven,
    },
    /// The original is not even proven to be the same as itself.
    #[error("`{}` contradicts itself", printable(.path))]
    Contradicts {
        /// The file that was worked on.
        path: PathBuf,
        /// What contradicts what.
        source: NotProven,
    },
    /// Somebody else cut the file off meanwhile.
    #[error("`{}` became shorter while it was read", printable(.path))]
    Shrank {
        /// The file that was worked on.
        path: PathBuf,
    },
    /// What was restored is not what the note says it was.
    #[error("what was made of `{}` is not what it was before it was rewritten", printable(.path))]
    NotRestored {
        /// The file that was worked on.
        path: PathBuf,
        /// What differs.
        source: coldstart_rewrite::Refusal,
    },
}

impl Unproven {
    /// Advice for the user.
    pub fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::Differs { .. } => {
                    "nothing was changed; please report this with the file, it is a fault of coldstart"
                }
                Self::Shrank { .. } => "nothing was changed; try again when nobody writes to the file",
                Self::Contradicts { .. } | Self::NotRestored { .. } => return None,
            }
            .to_owned(),
        )
    }
}

/// Why there is no result.
#[derive(Debug)]
pub enum NotWritten {
    /// It was not proven.
    Unproven(Unproven),
    /// Something broke before or after the proof.
    Broken(AppError),
}

impl From<NotWritten> for AppError {
    fn from(error: NotWritten) -> Self {
        match error {
            NotWritten::Unproven(error) => error.into(),
            NotWritten::Broken(error) => error,
        }
    }
}

/// One result to write.
#[derive(Debug)]
pub struct Writing<'a> {
    /// The file that is worked on.
    pub task: &'a Task,
    /// The same, open.
    pub original: &'a OriginalFile,
    /// The same, mapped.
    pub view: &'a FileView,
    /// What the script copies from, where that is not the file as it stands.
    pub content: Option<&'a [u8]>,
    /// Where the result goes.
    pub place: &'a Destination,
    /// What it may replace there.
    pub rule: &'a Rule,
    /// Where the file that was there is kept.
    pub keep_original: Option<PathBuf>,
}

/// What a script copies from, where an edit had to be taken back before.
#[expect(clippy::ptr_arg, reason = "whether it is borrowed is the question")]
pub fn taken_back<'a>(content: &'a Cow<'_, [u8]>) -> Option<&'a [u8]> {
    match content {
        Cow::Owned(content) => Some(content),
        Cow::Borrowed(_) => None,
    }
}

impl<'a> Writing<'a> {
    /// What the script copies from; of the file as it stands, `release` gives memory back.
    fn source(&self, release: &'a (dyn Fn(Range<usize>) + Sync)) -> Source<'a> {
        match self.content {
            Some(content) => Source::in_memory(content),
            None => Source { bytes: self.view.bytes(), release },
        }
    }
}

/// Writes a result beside its target, has it proven, and puts it in place.
///
/// # Errors
/// When it is not proven, or something broke; the target is then as it was.
pub fn write<P>(
    writing: &Writing<'_>,
    script: &Script,
    prove: impl FnOnce(Source<'_>) -> Result<P, Unproven>,
) -> Result<Replacement<P>, NotWritten> {
    let target = match writing.place.target(writing.task) {
        Some(path) => {
            if writing.place.directory().is_some() {
                make_directory_of(&path).map_err(NotWritten::Broken)?;
            }
            let place = writing.rule.place(&path).map_err(|error| NotWritten::Broken(error.into()))?;
            Target::At(Box::new(place))
        }
        None => Target::InPlace,
    };
    if let Some(path) = &writing.keep_original {
        make_directory_of(path).map_err(NotWritten::Broken)?;
    }
    let release = |range: Range<usize>| writing.view.release(range);
    let source = writing.source(&release);
    let checked = |output: Source<'_>| {
        let proof = prove(output)?;
        // What a file that shrinks has lost reads as zeros, in both files.
        if writing.view.shrank() { Err(Unproven::Shrank { path: writing.task.path.clone() }) } else { Ok(proof) }
    };
    let written = write_proven(writing.original, source, script, &target, writing.keep_original.as_deref(), checked);
    let link_to = writing.original.facts().is_symlink.then(|| writing.original.real_path());
    let shown = writing.place.shown(writing.task, link_to);
    written.map(|replacement| Replacement { path: shown, ..replacement }).map_err(|error| match error {
        WriteError::NotProven(error) => NotWritten::Unproven(error),
        WriteError::NotWritten(error) => NotWritten::Broken(error.into()),
    })
}

/// Proves that a result is the same to a loader as what it was made from.
///
/// # Errors
/// When it is not.
pub fn proven(path: &Path, original: Source<'_>, output: Source<'_>) -> Result<Proof, Unproven> {
    proven_by(path, original, || prove(original, output))
}

/// As [`proven`], of a result of an edit: its note must identify it, too.
///
/// # Errors
/// When it is not the same, or its note does not identify it.
pub fn proven_edit(path: &Path, original: Source<'_>, output: Source<'_>) -> Result<Proof, Unproven> {
    proven_by(path, original, || identified(prove(original, output)?, output))
}

fn identified(proof: Proof, output: Source<'_>) -> Result<Proof, NotProven> {
    prove_identity(output).map(|()| proof)
}

/// Proves that a result is the same to a loader as what it was made from, but for an edit of its library search; its note must
/// identify it.
///
/// # Errors
/// When it is not the same but for the edit, or its note does not identify it.
pub fn proven_search(writing: &Writing<'_>, output: Source<'_>, edit: &SearchEdit) -> Result<Proof, Unproven> {
    let release = |range: Range<usize>| writing.view.release(range);
    let original = writing.source(&release);
    proven_by(&writing.task.path, original, || identified(prove_search(original, output, edit)?, output))
}

/// Has a proof made, and says whose fault it is when there is none.
///
/// What is not even proven to be the same as itself breaks rules of its own, and no writer could keep them.
fn proven_by(
    path: &Path,
    original: Source<'_>,
    prove_it: impl FnOnce() -> Result<Proof, NotProven>,
) -> Result<Proof, Unproven> {
    let path = || path.to_owned();
    prove_it().map_err(|source| match prove(original, original) {
        Err(source) => Unproven::Contradicts { path: path(), source },
        Ok(_) => Unproven::Differs { path: path(), source },
    })
}

/// Says that a file became shorter while it was read.
pub fn shrank(path: &Path) -> AppError {
    Unproven::Shrank { path: path.to_owned() }.into()
}

/// Whether there is nothing any more where a file was found.
pub(super) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn make_directory_of(path: &Path) -> Result<(), AppError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    let made = std::fs::create_dir_all(directory);
    Ok(made.with_context(|| format!("cannot make the directory `{}`", printable(directory)))?)
}

/// What is to be said about a result besides itself. `link_to` is where the task's path leads, if that is a symbolic link.
pub fn link_warnings<P>(task: &Task, link_to: Option<&Path>, replacement: &Replacement<P>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(real) = link_to.filter(|real| *real == replacement.path) {
        let (link, real) = (printable(&task.path), printable(real));
        warnings.push(format!("`{link}` is a symbolic link; `{real}`, where it leads, was rewritten"));
    }
    if replacement.other_links > 0 {
        let (names, keep) = if replacement.other_links == 1 { ("name", "keeps") } else { ("names", "keep") };
        let path = printable(&replacement.path);
        warnings.push(format!("`{path}` has {} other {names}, which {keep} the old content", replacement.other_links));
    }
    warnings.extend(replacement.warnings.iter().cloned());
    warnings
}

/// Seconds that each step took; null for those that were not taken.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StepSeconds {
    /// To read the file and decide.
    pub plan: f64,
    /// To write the result.
    pub write: Option<f64>,
    /// To prove it.
    pub prove: Option<f64>,
    /// To wait for the disk.
    pub flush: Option<f64>,
    /// To keep the original and rename.
    pub rename: Option<f64>,
}

impl StepSeconds {
    /// Of a plan, and of what was written, if it was.
    pub fn of<P>(plan: f64, replacement: Option<&Replacement<P>>) -> Self {
        let seconds = replacement.map(|replacement| replacement.seconds);
        Self {
            plan,
            write: seconds.map(|seconds| seconds.write),
            prove: seconds.map(|seconds| seconds.prove),
            flush: seconds.map(|seconds| seconds.flush),
            rename: seconds.map(|seconds| seconds.rename),
        }
    }
}
