//! Another list of needed libraries, another search path: what `bind` writes into a program.
//!
//! | phase | file |
//! |---|---|
//! | is it a file that we know? | `checks.rs` |
//! | the strings and the dynamic table as they shall be | `entries.rs` |
//! | room: a segment that grows, or a new one and a header for it | `room.rs` |
//! | headers, symbols and sections that follow | `headers.rs` |
//! | all of it as one script | `assemble.rs`, `../assembly.rs` |
//!
//! The dynamic strings only grow at their end, so that every name keeps its place; what outgrows its place moves behind
//! everything else in memory. A newcomer would not guess what is hard: one more segment needs one more program
//! header, the headers cannot move (GNU strip breaks such files), and what is after them moves only because the
//! strings have left room.

mod assemble;
mod checks;
mod entries;
mod headers;
mod room;

use coldstart_elf::ElfFile;
use coldstart_prove::SearchEdit;
use serde::Serialize;

use crate::refusal::Refusal;
use crate::script::Script;

pub use room::SearchRoom;

/// How to write the file.
#[derive(Clone, Debug)]
pub struct SearchPlan {
    /// What to write.
    pub script: Script,
    /// What that does.
    pub summary: SearchSummary,
}

/// What the edit does to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchSummary {
    /// Size of the file before, in bytes.
    pub size_before: u64,
    /// Size after, in bytes.
    pub size_after: u64,
    /// Bytes that were added to the dynamic strings.
    pub strings_added: u64,
    /// Whether the dynamic table had no room for the new entries and moved. It is then no longer read-only after
    /// relocation.
    pub dynamic_moved: bool,
    /// Where the room came from.
    pub room: SearchRoom,
}

/// What our note in the new file says of the edit.
#[derive(Clone, Copy, Debug)]
pub struct EditNote<'a> {
    /// The edit's name: `bind`.
    pub name: &'a str,
    /// What the tool that asked for the edit wants to find again, as JSON; see [`crate::binding_note`].
    pub content: Option<&'a str>,
}

/// Decides how to make an edit of the library search in a file.
///
/// # Errors
/// The reason why it cannot be done safely.
pub fn plan_search(file: &ElfFile<'_>, edit: &SearchEdit, note: EditNote<'_>) -> Result<SearchPlan, Refusal> {
    let dynamic = file.dynamic()?.ok_or(Refusal::NoDynamicTable)?;
    checks::check(file, &dynamic)?;
    let content = entries::content(file, &dynamic, edit)?;
    let room = room::find(file, &dynamic, &content)?;
    checks::check_pointers(file, &dynamic, &room, content.dynamic_moves)?;
    assemble::assemble(file, &dynamic, &content, &room, note)
}
