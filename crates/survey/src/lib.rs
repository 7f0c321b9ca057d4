//! A survey: what every ELF object of some packages, images, directories and root file systems costs at start-up, as Parquet tables.
//!
//! | step | file |
//! |---|---|
//! | what is surveyed, and of which kind it is | `source.rs` |
//! | its files, each in one shard by its name | `items.rs` |
//! | what all processes of one survey agree on | `manifest.rs` |
//! | archives opened within limits | `archive/` |
//! | one file to rows | `look.rs`, `root.rs` |
//! | one shard to tables, whole or not at all | `shard.rs` |
//! | all shards that are missing, on all processors | `run.rs` |
//! | a survey's tables summed up | `report.rs`, `columns.rs` |
//!
//! Not obvious: a survey has no state but its shards. Which files belong to a shard follows from their names, so processes on several
//! machines agree without talking to one another, and a shard is done again only if one of its files has changed.

pub mod archive;
mod columns;
mod error;
mod items;
mod look;
mod manifest;
mod report;
mod root;
mod run;
mod shard;
mod source;

pub use error::SurveyError;
pub use manifest::{MANIFEST, Manifest};
pub use report::report;
pub use run::survey;
pub use source::{Source, SourceKind};
