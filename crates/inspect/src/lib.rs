//! What an ELF file costs at start-up, and what each fix would save.
//!
//! Everything here is a plain function of a file's bytes: nothing is run, opened or written.

mod names;
mod object;
mod owners;
mod relocations;
mod slots;

pub use names::{NameSource, Named, Names, readable};
pub use object::{Object, Refusal};
pub use owners::{
    LARGEST, Owner, OwnerCount, Owners, PointerTable, ShapeAccuracy, ToldBy, Untold, owners, shape_accuracy,
};
pub use relocations::{
    DirtiedPages, KindCount, PackedFacts, Packing, References, RelocationTableFacts, Relocations, Runs, Waste,
    relocations,
};
pub use slots::{Slot, Slots, Target};
