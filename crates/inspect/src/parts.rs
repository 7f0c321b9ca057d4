//! The counts for one object, from which findings are made.

use serde::Serialize;

use crate::initialisers::Initialisers;
use crate::layout::Layout;
use crate::loader_reads::LoaderReads;
use crate::owners::Owners;
use crate::relocations::Relocations;
use crate::space::SpaceUse;

/// All counts for one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parts {
    /// The use of its bytes.
    pub space: Vec<SpaceUse>,
    /// The cost of relocation.
    pub relocations: Relocations,
    /// The classes of its relocated words.
    pub owners: Owners,
    /// Functions that run before `main`.
    pub initialisers: Initialisers,
    /// Its layout.
    pub layout: Layout,
    /// The loader's reads.
    pub loader_reads: LoaderReads,
}
