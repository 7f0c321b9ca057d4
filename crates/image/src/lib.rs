//! Start images: a program's files as one EROFS image whose blocks lie in the order of the program's start.
//!
//! | step | where |
//! |---|---|
//! | entries of an image; from a tree of files to entries | `entry.rs`, `tree/` |
//! | symbolic links inside a root | `links.rs` |
//! | from recorded starts to one order of hot pages | `hot_order.rs` |
//! | where everything lies: pure | `plan/` |
//! | writing it: all or nothing | `write/` |
//! | what the image says of itself | `index/`, `docs/formats/start-image.md` |
//! | reading images, independent of the writer | `read/` |
//! | an image against itself and against its originals | `verify/` |
//! | its files in the place of their originals, for one start | `start/` |
//!
//! Not obvious: a start that reads its files from here reads one range of the disk from front to back. That only works if *everything*
//! it needs lies in front: the metadata of all files come first, and a single early page at the end would hold it up.

mod crc32c;
mod entry;
pub mod hot_order;
mod index;
pub mod links;
mod plan;
pub mod read;
mod recognise;
pub mod start;
pub mod tree;
pub mod verify;
mod write;

pub use entry::{Attributes, Content, DeviceNumber, Entry, EntryKind, FilePart, Origin, Source, Timestamp, Xattr};
pub use hot_order::{FirstTouches, HotOrder, HotRun, hot_order};
pub use index::{DIRECTORY, Digest, HotFile, HotPages, INDEX, Index, IndexError, Original};
pub use plan::{Compression, ImageSize, LeftOut, LeftOutReason, Plan, PlanError, PlanProblem};
pub use recognise::is_start_image;
pub use write::{KIND, Progress, SourceProblem, WriteError, Written, stage_image, write_image, write_image_at};
