//! Files that belong to packages: who owns a file, and how to replace it so that the package manager agrees.
//!
//! | step | file |
//! |---|---|
//! | the owner of a file, and what has changed since it was recorded | `owner.rs` |
//! | the owners of many files, the versions of many packages, in one question | `many.rs` |
//! | dpkg's answers: owners, versions, diversions, its lock | `dpkg.rs` |
//! | rpm and pacman, recognised by their databases | `other_managers.rs` |
//! | a replaced file: planned, applied, refreshed, undone, repaired | `replacement/` |
//! | after an upgrade: the originals in place again, called by dpkg | `replacement/fall_back.rs`, `hook.rs` |
//!
//! Not obvious: `dpkg-divert --rename` first moves the file away and leaves a gap until its new content is there; a program that
//! starts in that instant misses its library. Here the original gets its second name by a hard link, dpkg is told without any
//! renaming, and one rename puts the new file over the old one.

mod all_owners;
mod dpkg;
mod error;
mod hook;
mod many;
mod other_managers;
mod owner;
mod replacement;

pub use all_owners::AllOwners;
pub use error::PackageError;
pub use hook::{hook_file, remove_unused_hook, write_hook};
pub use many::{databases, is_at_work, owners_of, versions_of};
pub use owner::{Owner, Ownership, owner_of, ownerships_of, version_change, what_changed};
pub use replacement::{Condition, Repaired, Replacement, Step, fall_back, kept_beside, recorded, refusals, repair};
