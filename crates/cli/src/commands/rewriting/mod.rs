//! What `pack` and `unpack` share: which files are meant, where each result goes, and what became of them.

mod destination;
mod gather;
mod outcome;
mod passage;
mod proof;
mod worked;
mod writing;

pub(super) use destination::{Destination, Rule};
pub(super) use gather::{Task, gather};
pub(super) use outcome::Refused;
pub(super) use passage::{Passage, complain_refused, finish, over_tasks};
pub(super) use proof::proof_words;
pub(super) use worked::{Outcome, Planning, Worked, complain, refused_part};
pub(super) use writing::{
    JsonSeconds, NotWritten, Unproven, Writing, link_warnings, proven, proven_edit, proven_search, shrank, taken_back,
    write,
};

/// The advice of an error of these verbs.
pub(crate) fn hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    cause.downcast_ref::<Unproven>()?.hint()
}
