//! The figures by which objects are added up, ranked and compared.

use serde::Serialize;

use crate::report::Inspection;

/// What an object, or several together, cost. All figures add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Number of objects.
    pub objects: u64,
    /// Size of the files in bytes.
    pub file_bytes: u64,
    /// Words that relocation changes.
    pub relocations: u64,
    /// Bytes of the tables that say so.
    pub relocation_bytes: u64,
    /// Relocations that are packed as RELR already.
    pub packed_relocations: u64,
    /// Bytes by which packing would make the tables smaller.
    pub packing_saves_bytes: u64,
    /// Pages of 4 KiB that relocation makes private to each process.
    pub private_pages: u64,
    /// Symbols that the loader looks up before the program starts.
    pub lookups: u64,
    /// Functions that run before the program's own.
    pub initialisers: u64,
    /// Requests to the disk that the loader's work makes from a cold cache, by the model.
    pub read_requests: u64,
    /// Of these, requests that are not behind the one before.
    pub seeks: u64,
    /// Bytes that these requests read.
    pub read_bytes: u64,
}

/// One of the figures, for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it counts.
    pub name: &'static str,
    /// Whether it counts bytes.
    pub is_bytes: bool,
    /// How many.
    pub value: u64,
}

impl Figures {
    /// The figures of one object.
    pub fn of(inspection: &Inspection) -> Self {
        let parts = &inspection.parts;
        let relocations = &parts.relocations;
        Self {
            objects: 1,
            file_bytes: inspection.object.bytes,
            relocations: relocations.count,
            relocation_bytes: relocations.bytes,
            packed_relocations: relocations.packed.as_ref().map_or(0, |packed| packed.count),
            packing_saves_bytes: relocations.packing.saved_bytes,
            private_pages: relocations.dirtied_pages.pages,
            lookups: relocations.references.lookups_at_start,
            initialisers: parts.initialisers.totals.count,
            read_requests: parts.loader_reads.requests,
            seeks: parts.loader_reads.seeks,
            read_bytes: parts.loader_reads.read_bytes,
        }
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            objects: self.objects.saturating_add(other.objects),
            file_bytes: self.file_bytes.saturating_add(other.file_bytes),
            relocations: self.relocations.saturating_add(other.relocations),
            relocation_bytes: self.relocation_bytes.saturating_add(other.relocation_bytes),
            packed_relocations: self.packed_relocations.saturating_add(other.packed_relocations),
            packing_saves_bytes: self.packing_saves_bytes.saturating_add(other.packing_saves_bytes),
            private_pages: self.private_pages.saturating_add(other.private_pages),
            lookups: self.lookups.saturating_add(other.lookups),
            initialisers: self.initialisers.saturating_add(other.initialisers),
            read_requests: self.read_requests.saturating_add(other.read_requests),
            seeks: self.seeks.saturating_add(other.seeks),
            read_bytes: self.read_bytes.saturating_add(other.read_bytes),
        }
    }

    /// All of them by name, in the order of a table.
    pub fn list(&self) -> [Figure; 12] {
        let count = |name, value| Figure { name, is_bytes: false, value };
        let bytes = |name, value| Figure { name, is_bytes: true, value };
        [
            count("objects", self.objects),
            bytes("size of the files", self.file_bytes),
            count("relocations", self.relocations),
            bytes("tables of relocations", self.relocation_bytes),
            count("relocations packed as RELR", self.packed_relocations),
            bytes("packing would save", self.packing_saves_bytes),
            count("pages made private by relocation", self.private_pages),
            count("symbols looked up at the start", self.lookups),
            count("initialisers", self.initialisers),
            count("read requests from cold, modelled", self.read_requests),
            count("seeks among these, modelled", self.seeks),
            bytes("read by these, modelled", self.read_bytes),
        ]
    }
}

impl std::iter::Sum for Figures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, figures| sum.plus(&figures))
    }
}
