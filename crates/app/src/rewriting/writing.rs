//! Writing one result, with the proof that must hold before it is put in place.

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
    /// The result differs from what it was made from: a fault of ours.
    #[error("the rewritten `{}` is not proven equivalent for a loader", printable(.path))]
    Differs {
        /// The file that was worked on.
        path: PathBuf,
        /// The first difference.
        source: NotProven,
    },
    /// The original is not even proven to be the same as itself.
    #[error("`{}` is inconsistent", printable(.path))]
    Contradicts {
        /// The file that was worked on.
        path: PathBuf,
        /// What contradicts what.
        source: NotProven,
    },
    /// Somebody else cut the file off meanwhile.
    #[error("`{}` was truncated while it was read", printable(.path))]
    Shrank {
        /// The file that was worked on.
        path: PathBuf,
    },
    /// What was restored is not what the note says it was.
    #[error("the restored `{}` differs from the original", printable(.path))]
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

/// Writes the result of an edit beside its target, has what the edit claims proven, and puts it in place.
///
/// # Errors
/// When it is not proven, or something broke; the target is then as it was.
pub fn write(writing: &Writing<'_>, script: &Script, claim: Claim<'_>) -> Result<Replacement<Proof>, NotWritten> {
    rewritten(writing, |rewriting| rewriting.apply(script, claim))
}

/// Writes a file as it was before an edit beside its target, has it compared with what the note says, and puts it in place.
///
/// # Errors
/// When it is not what it was, or something broke; the target is then as it was.
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
    Ok(made.with_context(|| format!("cannot create the directory `{}`", printable(directory)))?)
}

/// What is to be said about a result besides itself. `link_to` is where the task's path leads, if that is a symbolic link.
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
