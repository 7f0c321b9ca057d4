//! Binds programs: from the libraries that a program loads to a program that finds each of them at the first try.
//!
//! | step | where |
//! |---|---|
//! | resolve what the program loads, for each processor level | `survey/` |
//! | decide: names in load order, links, search path, or a [`Refusal`] | `plan.rs`, `hoist.rs`, `keep.rs`, `by_path.rs`, `farm/plan.rs` |
//! | verify: resolve the planned program with files that do not exist yet | `overlay.rs`, `proof.rs` |
//! | write the link directory | `farm/` |
//! | report later changes | `binding.rs`, `status.rs`, `audit_library.rs`, `searches.rs` |
//!
//! A newcomer would not guess that the libraries are not changed. A name that is already loaded is never searched; so
//! it is enough that the program itself requests all names first, in the order in which they would have been loaded.
//! The order must be exact, because symbols are looked up in it.

#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod answers;
pub mod audit;
mod audit_library;
mod beside;
mod binding;
mod by_path;
mod caution;
mod environment;
mod farm;
mod files;
mod hoist;
mod keep;
mod libraries;
mod options;
mod origin;
mod overlay;
mod plan;
mod program;
mod proof;
mod refusal;
mod requesters;
mod search_path;
mod searches;
mod soname;
mod status;
mod subject;
mod survey;

pub use audit_library::{
    AuditLibrary, AuditLibraryRemoved, BoundAuditLibrary, Writer, audit_library_caution, audit_library_change,
    remove_audit_library,
};
pub use beside::{usual_audit_library, usual_farm};
pub use binding::{BINDING_VERSION, Binding, BindingError, BoundLibrary, SearchText, TagName};
pub use caution::Caution;
pub use environment::machine_environment;
pub use farm::{
    BoundFarm, BoundLink, FarmError, FarmLink, FarmPlan, FarmRemoved, FarmWritten, MARKER_NAME, SameLevel,
    check_farm_place, remove_farm, remove_left_farm, write_farm,
};
pub use files::{Details, Files, MachineFiles};
pub use keep::KeepReason;
pub use options::{FarmText, Mode, Options};
pub use plan::{BindPlan, Predicted, plan};
pub use program::Program;
pub use refusal::Refusal;
pub use requesters::{Requester, SearchedDirectory};
pub use searches::{Misled, Searches, searches};
pub use status::{Change, status};
