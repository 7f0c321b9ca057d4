//! One edit of one file, from its script to the file in its place: written beside, proven by what the edit claims, renamed.
//!
//! Every kind of edit goes this way. A new kind is a planner that makes a [`Script`], and a [`Claim`] that says what the
//! result is to its original; everything else is here.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

use coldstart_elf::ElfFile;
use coldstart_prove::{NotProven, Proof, SearchEdit, Source, prove, prove_identity, prove_search};
use coldstart_sys::file_view::FileView;

use crate::note::About;
use crate::refusal::Refusal;
use crate::replace::{OriginalFile, ReplaceError, Replacement, Target, WriteError, write_proven};
use crate::script::Script;
use crate::unpack::{ChangedFile, Restored, UnpackPlan, plan_unpack};

/// What a new file is to the one that it was made from. It is proven before the new file gets a name.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// To a loader the same object; it has no note of ours that would have to identify it: a copy.
    Same,
    /// To a loader the same object, and its note identifies it: `pack`, and every change of the layout.
    SameIdentified,
    /// To a loader the same object but for this edit of the library search, and its note identifies it: `bind`.
    Search(&'a SearchEdit),
}

impl Claim<'_> {
    /// Proves it.
    ///
    /// # Errors
    /// The first thing that contradicts it.
    pub fn prove(&self, original: Source<'_>, output: Source<'_>) -> Result<Proof, NotProven> {
        let proof = match self {
            Self::Same => return prove(original, output),
            Self::SameIdentified => prove(original, output)?,
            Self::Search(edit) => prove_search(original, output, edit)?,
        };
        prove_identity(output).map(|()| proof)
    }
}

/// Why an edit was not applied. Whatever it says, the target is as it was.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The result is not what the edit claims: a fault of ours.
    #[error(transparent)]
    Differs(NotProven),
    /// The original breaks rules by itself: it is not even proven to be the same as itself, and no writer could keep them.
    #[error(transparent)]
    Contradicts(NotProven),
    /// What was restored is not what the note says that it was.
    #[error(transparent)]
    NotRestored(Refusal),
    /// The original became shorter while it was read. What is missing reads as zeros, so that nothing that was found out counts.
    #[error("it became shorter while it was read")]
    Shrank,
    /// It could not be written or put in place.
    #[error(transparent)]
    NotWritten(#[from] ReplaceError),
}

/// A file that is to be rewritten, and where the result goes.
#[derive(Clone, Copy, Debug)]
pub struct Rewriting<'a> {
    /// The file.
    pub original: &'a OriginalFile,
    /// Its content, mapped.
    pub view: &'a FileView,
    /// What scripts copy from, where that is not the content as it stands: the file without an earlier edit, which
    /// [`without_edit`] has taken back.
    pub base: Option<&'a [u8]>,
    /// Where the result goes.
    pub target: &'a Target,
    /// Where the file that was there is kept, if it is.
    pub keep_original: Option<&'a Path>,
}

impl Rewriting<'_> {
    /// Writes the result of an edit beside its place, proves what the edit claims, and puts it in its place.
    ///
    /// # Errors
    /// [`ApplyError`]; the target is then as it was.
    pub fn apply(&self, script: &Script, claim: Claim<'_>) -> Result<Replacement<Proof>, ApplyError> {
        self.write(script, |base, output| {
            claim.prove(base, output).map_err(|error| match prove(base, base) {
                Err(itself) => ApplyError::Contradicts(itself),
                Ok(_) => ApplyError::Differs(error),
            })
        })
    }

    /// Writes the file as it was before an edit, compares it with what the note says of it, and puts it in its place.
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
            // Whatever went wrong, it began with that.
            _ if self.view.shrank() => ApplyError::Shrank,
            WriteError::NotProven(error) => error,
            WriteError::NotWritten(error) => error.into(),
        })
    }
}

/// Why an earlier edit of a file is not taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTakenBack {
    /// Another edit, of this name, was made later.
    OtherEdit(String),
    /// It cannot be.
    Refused(Refusal),
}

impl From<Refusal> for NotTakenBack {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A file as it was before the edit of a name, which must be the last one and unchanged since; as it stands if no edit of ours
/// is in it.
///
/// # Errors
/// If another edit was made later, or the note does not lead back.
pub fn without_edit<'a>(bytes: &'a [u8], edit: &str) -> Result<Cow<'a, [u8]>, NotTakenBack> {
    let file = ElfFile::parse(bytes).map_err(Refusal::from)?;
    match About::read(&file).and_then(|mut about| about.edits.pop()) {
        None => Ok(Cow::Borrowed(bytes)),
        Some(last) if last == edit => Ok(Cow::Owned(plan_unpack(&file, ChangedFile::Refuse)?.restore(bytes)?)),
        Some(last) => Err(NotTakenBack::OtherEdit(last)),
    }
}
