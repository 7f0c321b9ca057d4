//! The map of an object: time on the x-axis, file offset on the y-axis, a dot for each first touch; as SVG and PNG.
//!
//! It is the graph that Mike Hommey drew in September 2010, of which all of this began. [`ObjectMap::of`] decides
//! what is shown, in nanoseconds and bytes; drawing turns that into points. What a newcomer would not guess: the
//! zero-filled memory after a file's last byte (`.bss`) has no place in the file, and so is in a strip of its own
//! above the file's end, in a scale of its own.

mod bands;
mod choice;
mod colours;
mod dots;
mod draw;
mod elsewhere;
mod error;
mod options;
mod phases;
mod picture;
mod places;
mod plan;
mod scale;
pub(crate) mod words;

pub use bands::Band;
pub use choice::choose;
pub use dots::{Dot, DotKind, DotLayer};
pub use elsewhere::{Elsewhere, Stretch};
pub use error::MapError;
pub use options::{MapOptions, Overlay, Theme};
pub use phases::{PhaseBar, PhaseRow};
pub use places::{Place, Places};
pub use plan::ObjectMap;

pub(crate) use bands::named;
pub(crate) use scale::{time_step, time_tick};
