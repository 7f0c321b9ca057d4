//! The start-up cost of an ELF file, and the savings of each fix.
//!
//! Everything here is a plain function of a file's bytes: no file is run, opened or written.

mod closure;
mod figures;
mod file_pages;
mod findings;
mod initialisers;
pub mod layout;
mod loader_reads;
mod names;
mod object;
mod owners;
mod parts;
mod relocations;
mod report;
mod slots;
mod space;
mod writable;

pub use closure::{Missing, Offers, SearchCost, Unused, Wants};
pub use figures::{Figure, Figures};
pub use findings::{Certainty, Finding, FindingKind, Fix, Saving, rank};
pub use initialisers::{Initialiser, InitialiserKind, InitialiserTotals, Initialisers, SizeSource, initialisers};
pub use layout::{Layout, layout};
pub use loader_reads::{LoaderReads, LoaderStep, LoaderStepReads, USUAL_READAHEAD_PAGES, loader_reads};
pub use names::{NameSource, Named, Names};
pub use object::{Object, Refusal};
pub use owners::{
    LARGEST, Owner, OwnerCount, Owners, PointerTable, ShapeAccuracy, ToldBy, Untold, owners, shape_accuracy,
};
pub use parts::Parts;
pub use relocations::{
    DirtiedPages, KindCount, PackedFacts, Packing, References, RelocationTableFacts, Relocations, Runs, Waste,
    relocations,
};
pub use report::{Inspection, ObjectFacts, ObjectKind, inspect};
pub use slots::{Slot, Slots, Target};
pub use space::{SpaceUse, Use, space};
