//! What an ELF file costs at start-up, and what each fix would save.
//!
//! Everything here is a plain function of a file's bytes: nothing is run, opened or written.

mod names;
mod object;
mod slots;

pub use names::{NameSource, Named, Names, readable};
pub use object::{Object, Refusal};
pub use slots::{Slot, Slots, Target};
