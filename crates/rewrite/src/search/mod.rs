//! Changes the needed libraries and the search path: the edit of `bind`.
//!
//! | phase | file |
//! |---|---|
//! | check the file | `checks.rs` |
//! | the new strings and dynamic table | `entries.rs` |
//! | space: a longer segment, or a new one with a header | `room.rs` |
//! | headers, symbols and sections | `headers.rs` |
//! | all of it as one script | `assemble.rs`, `../assembly.rs` |
//!
//! The dynamic strings only grow at the end, so existing names keep their offsets; a table that does not fit any more
//! moves to the end of memory. A newcomer would not guess the difficulty: a new segment needs a new program header,
//! the headers cannot move (GNU strip breaks such files), and the data after them can move only because the strings
//! have left space.

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
    /// The new file's script.
    pub script: Script,
    /// Its effects.
    pub summary: SearchSummary,
}

/// The effects of the edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SearchSummary {
    /// Size of the file before, in bytes.
    pub size_before: u64,
    /// Size after, in bytes.
    pub size_after: u64,
    /// Bytes added to the dynamic strings.
    pub strings_added: u64,
    /// Whether the dynamic table had to move to fit the new entries. It is then no longer read-only after relocation.
    pub dynamic_moved: bool,
    /// The source of the space.
    pub room: SearchRoom,
}

/// The note's description of the edit.
#[derive(Clone, Copy, Debug)]
pub struct EditNote<'a> {
    /// The edit's name: `bind`.
    pub name: &'a str,
    /// Private data of the tool that requested the edit, as JSON; see [`crate::binding_note`].
    pub content: Option<&'a str>,
}

/// Plans an edit of a file's library search.
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
