//! The figures by which objects are summed, ranked and compared.

use serde::Serialize;

use crate::report::Inspection;

/// The costs of one or more objects. All figures can be summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Number of objects.
    pub objects: u64,
    /// Size of the files in bytes.
    pub file_bytes: u64,
    /// Relocated words.
    pub relocations: u64,
    /// Bytes of the relocation tables.
    pub relocation_bytes: u64,
    /// Relocations already packed as RELR.
    pub packed_relocations: u64,
    /// Bytes that packing would save.
    pub packing_saves_bytes: u64,
    /// Pages of 4 KiB that relocation makes private to each process.
    pub private_pages: u64,
    /// Symbols that the loader looks up before the program starts.
    pub lookups: u64,
    /// Functions that run before `main`.
    pub initialisers: u64,
    /// Disk requests of the loader's work from a cold cache, by the model.
    pub read_requests: u64,
    /// The requests among them that do not follow the previous one.
    pub seeks: u64,
    /// Bytes read by these requests.
    pub read_bytes: u64,
}

/// One of the figures, for a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it counts.
    pub name: &'static str,
    /// Whether it counts bytes.
    pub is_bytes: bool,
    /// Its value.
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

    /// The sum.
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

    /// All figures with names, in table order.
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
