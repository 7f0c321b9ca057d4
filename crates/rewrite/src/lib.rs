//! Edits to ELF files: planned, written next to the target, proven, and only then renamed.
//!
//! | step | where |
//! |---|---|
//! | plan: from a file to a [`Script`], or a [`Refusal`] | `pack/`, `search/`, `unpack.rs` |
//! | assemble the new file, with its end and undo data | `assembly.rs`, `ending.rs`, `undo/` |
//! | store the file's identity | `identity/`, `note.rs` |
//! | apply one edit, from its script to the renamed file | `apply.rs` |
//! | write and put in place, with mode, owner and attributes | `replace/` |
//! | prove: read both files again and compare them in the loader's view | the crate `coldstart-prove` |
//!
//! What a newcomer would not guess: a file is never built from a model of it. A [`Script`] lists the copied ranges of
//! the original and the bytes between them; without edits the result is the original, byte for byte. And the proof
//! shares no code with the planners: its crate does not depend on this one.
//!
//! # Example
//!
//! ```
//! use coldstart_elf::ElfFile;
//! use coldstart_prove::{Source, prove};
//! use coldstart_rewrite::{PackDecision, PackOptions, plan_pack};
//!
//! let original = std::fs::read(std::env::current_exe()?)?;
//! match plan_pack(&ElfFile::parse(&original)?, &PackOptions::default()) {
//!     Ok(PackDecision::Pack(plan)) => {
//!         let packed = plan.script.to_vec(&original)?;
//!         prove(Source::in_memory(&original), Source::in_memory(&packed))?;
//!         println!("{} bytes, {} before", packed.len(), original.len());
//!     }
//!     Ok(PackDecision::Nothing(why)) => println!("nothing to pack: {why:?}"),
//!     Err(refusal) => println!("{refusal}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod anatomy;
mod apply;
mod assembly;
mod changed;
mod edits;
mod ending;
mod layout;
mod libc_floor;
mod note;
mod pack;
mod payload;
mod refusal;
mod replace;
mod script;
mod search;
mod undo;
mod unpack;
mod way_back;

pub use apply::{ApplyError, Claim, NotTakenBack, Rewriting, without_edit};
pub use changed::{Change, ChangedPart};
pub use libc_floor::{LibcFloor, UnknownLibc};
pub use note::identity::{Identity, identify};
pub use note::{About, World, binding_note};
pub use pack::{
    Caution, ClosedWorld, NothingToPack, OwnReferences, PackDecision, PackOptions, PackPlan, PackSummary, Pass,
    PassOutcome, PassReport, Passes, Room, SlotSource, Stuck, WrongPasses, plan_pack,
};
pub use payload::Payload;
pub use refusal::Refusal;
pub use replace::{
    Allowed, FileFacts, FileRefusal, OriginalFile, ReplaceError, Replacement, Seconds, Signature, Target, WriteError,
    write_proven,
};
pub use script::{Piece, Script, WordPatch};
pub use search::{EditNote, SearchPlan, SearchRoom, SearchSummary, plan_search};
pub use unpack::{ChangedFile, Restored, UnpackPlan, plan_unpack};
pub use way_back::WayBack;
