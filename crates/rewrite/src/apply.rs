//! Applies one edit to one file: written next to the target, proven according to its claim, renamed.
//!
//! Every kind of edit works this way. A new kind is a planner that creates a [`Script`], and a [`Claim`] about the
//! result; everything else is here.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use coldstart_elf::ElfFile;
use coldstart_prove::{
    BindEdit, NotProven, Proof, SearchEdit, Source, prove, prove_bound, prove_identity, prove_search,
};
use coldstart_sys::file_view::FileView;

use crate::note::About;
use crate::refusal::Refusal;
use crate::replace::{OriginalFile, ReplaceError, Replacement, Target, WriteError, write_proven};
use crate::script::Script;
use crate::unpack::{ChangedFile, Restored, UnpackPlan, plan_unpack};

/// The relation of a new file to its original. It is proven before the new file gets a name.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// The same object to a loader, without a note that would have to identify it: a copy.
    Same,
    /// The same object to a loader, identified by its note: `pack`, and every change of the layout.
    SameIdentified,
    /// The same object to a loader except for references to its own definitions, identified by its note: `pack` with
    /// `bind-local`.
    Bound(&'a BindEdit),
    /// The same object to a loader except for this search edit, identified by its note: `bind`.
    Search(&'a SearchEdit),
}

impl Claim<'_> {
    /// Proves it.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn prove(&self, original: Source<'_>, output: Source<'_>) -> Result<Proof, NotProven> {
        let proof = match self {
            Self::Same => return prove(original, output),
            Self::SameIdentified => prove(original, output)?,
            Self::Bound(edit) => prove_bound(original, output, edit)?,
            Self::Search(edit) => prove_search(original, output, edit)?,
        };
        prove_identity(output).map(|()| proof)
    }
}

/// Why an edit was not applied. The target is unchanged in all cases.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The result violates the edit's claim: a bug of ours.
    #[error(transparent)]
    Differs(NotProven),
    /// The original itself breaks the loader's rules: it does not even pass a proof against itself.
    #[error(transparent)]
    Contradicts(NotProven),
    /// The restored file is not the one described in the note.
    #[error(transparent)]
    NotRestored(Refusal),
    /// The original was truncated while it was read. The missing part reads as zeros, so all results are invalid.
    #[error("the file was truncated while it was read")]
    Shrank,
    /// It could not be written or put in place.
    #[error(transparent)]
    NotWritten(#[from] ReplaceError),
}

/// A file to be rewritten, and the target.
#[derive(Clone, Copy, Debug)]
pub struct Rewriting<'a> {
    /// The file.
    pub original: &'a OriginalFile,
    /// Its content, mapped.
    pub view: &'a FileView,
    /// The source of copies, if it is not the content as it is: the file without an earlier edit, from
    /// [`without_edit`].
    pub base: Option<&'a [u8]>,
    /// The path of the result.
    pub target: &'a Target,
    /// The path for keeping the original, if requested.
    pub keep_original: Option<&'a Path>,
}

impl Rewriting<'_> {
    /// Writes the result of an edit next to its target, proves the claim, and renames it.
    ///
    /// # Errors
    /// [`ApplyError`]; the target is then unchanged.
    pub fn apply(&self, script: &Script, claim: Claim<'_>) -> Result<Replacement<Proof>, ApplyError> {
        self.write(script, |base, output| {
            claim.prove(base, output).map_err(|error| match prove(base, base) {
                Err(itself) => ApplyError::Contradicts(itself),
                Ok(_) => ApplyError::Differs(error),
            })
        })
    }

    /// Writes the file as it was before an edit, compares it with the note, and puts it in place.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn restore(&self, plan: &UnpackPlan) -> Result<Replacement<Restored>, ApplyError> {
        self.write(&plan.script, |_, output| plan.check(output).map_err(ApplyError::NotRestored))
    }

    fn write<P>(
        &self,
        script: &Script,
        check: impl FnOnce(Source<'_>, Source<'_>) -> Result<P, ApplyError>,
    ) -> Result<Replacement<P>, ApplyError> {
        let release = |range: Range<usize>| self.view.release(range);
        let base = match self.base {
            Some(base) => Source::in_memory(base),
            None => Source { bytes: self.view.bytes(), release: &release },
        };
        let checked = |output: Source<'_>| {
            let proof = check(base, output)?;
            if self.view.shrank() { Err(ApplyError::Shrank) } else { Ok(proof) }
        };
        let written = write_proven(self.original, base, script, self.target, self.keep_original, checked);
        written.map_err(|error| match error {
            // A truncated file is the cause of whatever went wrong.
            _ if self.view.shrank() => ApplyError::Shrank,
            WriteError::NotProven(error) => error,
            WriteError::NotWritten(error) => error.into(),
        })
    }
}

/// Why an earlier edit of a file cannot be undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTakenBack {
    /// Another edit, with this name, was made later.
    OtherEdit(String),
    /// It cannot be.
    Refused(Refusal),
}

impl From<Refusal> for NotTakenBack {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The file before the edit with this name, which must be the last one and unchanged since; the file itself without
/// an edit of ours.
///
/// # Errors
/// If another edit was made later, or the note has no undo data.
pub fn without_edit<'a>(bytes: &'a [u8], edit: &str) -> Result<Cow<'a, [u8]>, NotTakenBack> {
    let file = ElfFile::parse(bytes).map_err(Refusal::from)?;
    match About::read(&file).and_then(|mut about| about.edits.pop()) {
        None => Ok(Cow::Borrowed(bytes)),
        Some(last) if last == edit => Ok(Cow::Owned(plan_unpack(&file, ChangedFile::Refuse)?.restore(bytes)?)),
        Some(last) => Err(NotTakenBack::OtherEdit(last)),
    }
}
