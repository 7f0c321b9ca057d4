//! Fixes installed where people start programs: wrappers, desktop entries, units, module files, container images.
//!
//! | step | file |
//! |---|---|
//! | which directories belong to the system, and which to a user | `directories.rs` |
//! | what would be written where, for each kind of place | `place/` |
//! | the record of an installation | `manifest.rs` |
//! | all installations of a system or a user; one writer at a time | `registry.rs`, `lock.rs` |
//! | the packages that a plan's files came from | `plan_packages.rs` |
//! | one file: what stands there, its backup, writing and restoring it | `file/` |
//! | files that several installations write alike | `shared.rs` |
//! | the files of an index of modules | `index_files.rs` |
//! | install, undo, repair: the order in which files are written | `transaction.rs` |
//! | a new plan, image or index in place of the earlier one | `update.rs` |
//! | files that are replaced by another crate | `replacer.rs` |
//!
//! Not obvious: the record is written before anything else, with the digests of what will be written and of what stands there.
//! So whoever finds a half-made installation knows of every file whether it is ours, the original, or somebody's edit.

mod directories;
mod error;
mod file;
mod index_files;
mod lock;
mod manifest;
pub mod place;
mod plan_packages;
mod registry;
mod replacer;
mod shared;
mod transaction;
mod update;

pub use coldstart_output::Stored;
pub use directories::{Directories, Environment, Scope};
pub use error::InstallError;
pub use file::{Before, FileState, PlannedFile, WrittenFile};
pub use index_files::IndexFile;
pub use manifest::{
    ChangedFile, FixInUse, ImageRecord, IndexRecord, InstallationState, LauncherRecord, Manifest, NewManifest,
    PlaceRecord, ProgramRecord, RecordingFacts, SCHEMA, Source, kind_of_place,
};
pub use plan_packages::{PACKAGES_SCHEMA, PackageFiles, PlanPackages};
pub use registry::{Found, IMAGE, INDEX, Installation, MANIFEST, PACKAGES, PLAN, Registry, STARTER};
pub use replacer::{NoReplacer, ReplacedState, Replacer};
pub use shared::{PlannedContent, PlannedShared, SharedContent, SharedFile};
pub use transaction::{Draft, DraftPlace, Repaired, Undone, install, repair, uninstall};
pub use update::{update_changed_files, update_image, update_index, update_plan};
