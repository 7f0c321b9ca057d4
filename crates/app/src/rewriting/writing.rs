//! Writing one result, with the proof required before it is put in place.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_profile::printable;
use coldstart_prove::{NotProven, Proof};
use coldstart_rewrite::{
    ApplyError, Claim, OriginalFile, Replacement, Restored, Rewriting, Script, Target, UnpackPlan,
};
use coldstart_sys::file_view::FileView;
use serde::Serialize;

use super::destination::{Destination, Rule};
use super::gather::Task;
use crate::error::AppError;

/// Why a result is not put in place.
#[derive(Debug, thiserror::Error)]
pub enum Unproven {
    /// The result is not equivalent to its original: a bug in coldstart.
    #[error("the rewritten `{}` is not proven equivalent for a loader", printable(.path))]
    Differs {
        /// The processed file.
        path: PathBuf,
        /// The first difference.
        source: NotProven,
    },
    /// The original is inconsistent: the proof fails even against itself.
    #[error("`{}` is inconsistent", printable(.path))]
    Contradicts {
        /// The processed file.
        path: PathBuf,
        /// The contradiction.
        source: NotProven,
    },
    /// Another process truncated the file.
    #[error("`{}` was truncated while it was read", printable(.path))]
    Shrank {
        /// The processed file.
        path: PathBuf,
    },
    /// The restored file differs from the digest in the note.
    #[error("the restored `{}` differs from the original", printable(.path))]
    NotRestored {
        /// The processed file.
        path: PathBuf,
        /// The difference.
        source: coldstart_rewrite::Refusal,
    },
}

impl Unproven {
    /// A hint for the user.
    pub fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::Differs { .. } => {
                    "nothing was changed; this is a bug in coldstart, please report it with the file"
                }
                Self::Shrank { .. } => "nothing was changed; try again when no process writes to the file",
                Self::Contradicts { .. } | Self::NotRestored { .. } => return None,
            }
            .to_owned(),
        )
    }
}

coldstart_hint::hinted!(Unproven);

/// Why there is no result.
#[derive(Debug)]
pub enum NotWritten {
    /// It was not proven.
    Unproven(Unproven),
    /// An error before or after the proof.
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
    /// The file to process.
    pub task: &'a Task,
    /// The same, open.
    pub original: &'a OriginalFile,
    /// The same, mapped.
    pub view: &'a FileView,
    /// The source of the script's copies, if not the file itself.
    pub content: Option<&'a [u8]>,
    /// Where the result goes.
    pub place: &'a Destination,
    /// The rule for replacing an existing file.
    pub rule: &'a Rule,
    /// The path for keeping the original.
    pub keep_original: Option<PathBuf>,
}

/// The source of a script's copies, if an earlier edit was undone.
#[expect(clippy::ptr_arg, reason = "whether it is borrowed is the question")]
pub fn taken_back<'a>(content: &'a Cow<'_, [u8]>) -> Option<&'a [u8]> {
    match content {
        Cow::Owned(content) => Some(content),
        Cow::Borrowed(_) => None,
    }
}

/// Writes the result of an edit to a temporary file next to its target, proves the claim, and renames it.
///
/// # Errors
/// If the proof fails, or an error occurs; the target is then unchanged.
pub fn write(writing: &Writing<'_>, script: &Script, claim: Claim<'_>) -> Result<Replacement<Proof>, NotWritten> {
    rewritten(writing, |rewriting| rewriting.apply(script, claim))
}

/// Writes a restored file to a temporary file next to its target, compares it with the note's digest, and renames it.
///
/// # Errors
/// If it differs, or an error occurs; the target is then unchanged.
pub fn write_restored(writing: &Writing<'_>, plan: &UnpackPlan) -> Result<Replacement<Restored>, NotWritten> {
    rewritten(writing, |rewriting| rewriting.restore(plan))
}

fn rewritten<P>(
    writing: &Writing<'_>,
    rewrite: impl FnOnce(&Rewriting<'_>) -> Result<Replacement<P>, ApplyError>,
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
    let rewriting = Rewriting {
        original: writing.original,
        view: writing.view,
        base: writing.content,
        target: &target,
        keep_original: writing.keep_original.as_deref(),
    };
    let link_to = writing.original.facts().is_symlink.then(|| writing.original.real_path());
    let shown = writing.place.shown(writing.task, link_to);
    let written = rewrite(&rewriting).map_err(|error| not_written(&writing.task.path, error))?;
    Ok(Replacement { path: shown, ..written })
}

/// The same with the file's name.
fn not_written(path: &Path, error: ApplyError) -> NotWritten {
    let path = path.to_owned();
    NotWritten::Unproven(match error {
        ApplyError::Differs(source) => Unproven::Differs { path, source },
        ApplyError::Contradicts(source) => Unproven::Contradicts { path, source },
        ApplyError::NotRestored(source) => Unproven::NotRestored { path, source },
        ApplyError::Shrank => Unproven::Shrank { path },
        ApplyError::NotWritten(error) => return NotWritten::Broken(error.into()),
    })
}

/// The error for a file that was truncated while it was read.
pub fn truncated_error(path: &Path) -> AppError {
    Unproven::Shrank { path: path.to_owned() }.into()
}

/// Whether a file has been removed since it was found.
pub(super) fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn make_directory_of(path: &Path) -> Result<(), AppError> {
    let Some(directory) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return Ok(()) };
    let made = std::fs::create_dir_all(directory);
    Ok(made.with_context(|| format!("cannot create the directory `{}`", printable(directory)))?)
}

/// Warnings about links. `link_to` is the target of the task's path, if that is a symbolic link.
pub fn link_warnings<P>(task: &Task, link_to: Option<&Path>, replacement: &Replacement<P>) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(real) = link_to.filter(|real| *real == replacement.path) {
        let (link, real) = (printable(&task.path), printable(real));
        warnings.push(format!("`{link}` is a symbolic link; its target `{real}` was rewritten"));
    }
    if replacement.other_links > 0 {
        let (names, keep) = if replacement.other_links == 1 { ("name", "keeps") } else { ("names", "keep") };
        let path = printable(&replacement.path);
        warnings.push(format!("`{path}` has {} other {names}, which {keep} the old content", replacement.other_links));
    }
    warnings.extend(replacement.warnings.iter().cloned());
    warnings
}

/// Seconds of each step; null for steps that were not executed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct StepSeconds {
    /// To read the file and plan.
    pub plan: f64,
    /// To write the result.
    pub write: Option<f64>,
    /// To prove it.
    pub prove: Option<f64>,
    /// To flush to disk.
    pub flush: Option<f64>,
    /// To keep the original and rename the result.
    pub rename: Option<f64>,
}

impl StepSeconds {
    /// Of a plan, and of the replacement, if written.
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
