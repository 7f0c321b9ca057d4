//! OCI image layouts in and out: a container's layers become the entries of one start image, which becomes the one layer of another
//! layout.
//!
//! | step | file |
//! |---|---|
//! | names and digests of blobs, the files of a layout | `blob.rs`, `layout.rs` |
//! | a layer's bytes: decompressed, both digests checked | `layer.rs` |
//! | headers of a tar file, with bounded memory | `tarball.rs` |
//! | layers one over the other, with whiteouts | `flatten.rs` |
//! | a new layout: all or nothing | `write.rs` |
//!
//! Not obvious: nothing is extracted. A layer is one tar file, and an entry of the image is a part of it. So a layer cannot write anywhere, no
//! matter what names and links are in it, and root is not needed to keep owners and devices.
//!
//! Sources: the OCI image specification 1.1 (`image-layout.md`, `manifest.md`, `config.md`, `layer.md`); POSIX.1-2017, pax.

mod blob;
mod error;
mod flatten;
#[doc(hidden)]
pub mod fuzzing;
mod layer;
mod layout;
mod tarball;
mod write;

pub use error::{OciError, OciProblem};
pub use layout::{Layout, Reference};
pub use tarball::{Entries as TarEntries, TarEntry, TarKind};
pub use write::{EROFS_LAYER, NewLayout, WrittenLayout};
