//! What was counted in one object: what findings are made from.

use serde::Serialize;

use crate::initialisers::Initialisers;
use crate::layout::Layout;
use crate::loader_reads::LoaderReads;
use crate::owners::Owners;
use crate::relocations::Relocations;
use crate::space::SpaceUse;

/// Everything that was counted in one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parts {
    /// Where its bytes go.
    pub space: Vec<SpaceUse>,
    /// What relocation costs.
    pub relocations: Relocations,
    /// What the relocated words belong to.
    pub owners: Owners,
    /// Functions that run before the program's own.
    pub initialisers: Initialisers,
    /// How it is laid out.
    pub layout: Layout,
    /// What the loader reads, and in how many pieces.
    pub loader_reads: LoaderReads,
}
