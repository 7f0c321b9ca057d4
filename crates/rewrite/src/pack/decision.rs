//! The decision about a file: a script with a summary, or nothing to do.

use std::collections::BTreeSet;

use serde::Serialize;

use super::own::OwnReferences;
use super::pass::{PassOutcome, PassReport, Passes};
use crate::libc_floor::LibcFloor;
use crate::note::World;
use crate::script::Script;
use crate::way_back::WayBack;

/// The options.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The passes.
    pub passes: Passes,
    /// For `bind-local`: the programs for which the file is rewritten.
    pub closed_world: Option<ClosedWorld>,
    /// The oldest C library that must load the result. Without it, glibc 2.36 is assumed for objects of glibc, and
    /// those of other libraries are refused.
    pub libc_floor: Option<LibcFloor>,
    /// Make freed bytes that cannot be removed from the file a hole that takes no space on disk.
    pub sparse: bool,
    /// If nothing else frees an entry of the dynamic table, use that of `DT_SYMENT`. The generic ABI requires the
    /// tag; no loader reads it.
    pub drop_syment: bool,
    /// Store the undo data in the file.
    pub undo: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            passes: Passes::default(),
            closed_world: None,
            libc_floor: None,
            sparse: false,
            drop_syment: false,
            undo: true,
        }
    }
}

impl PackOptions {
    /// The closed world for the note, if one of its programs loads the file.
    pub(super) fn world(&self) -> Option<&World> {
        self.closed_world.as_ref().filter(|closed| closed.not_interposed.is_some()).map(|closed| &closed.world)
    }
}

/// What is known of all programs that will load a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClosedWorld {
    /// The programs, for the note in the file.
    pub world: World,
    /// Dynamic symbols of the file, by index, that no object defines before this one in any of these programs; `None` if
    /// none of them loads it.
    pub not_interposed: Option<BTreeSet<u32>>,
}

/// What to do with a file.
#[derive(Clone, Debug)]
pub enum PackDecision {
    /// Rewrite it.
    Pack(Box<PackPlan>),
    /// Do not change it.
    Nothing(NothingToPack),
}

/// Why there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum NothingToPack {
    /// Already packed by us.
    PackedByUs,
    /// All its relative relocations are RELR.
    AlreadyRelr,
    /// It has no relative relocations.
    NoRelative,
    /// All its relative relocations are of words that may be read before a stub runs.
    NoneForStub,
    /// No reference to its own definitions can become relative.
    NoOwnReferences,
    /// It has no two references to `__cxa_pure_virtual`.
    NoPureVirtual,
    /// No segment's alignment keeps freed bytes in the file.
    AlignmentCostsNothing,
    /// A section needs the alignment of the segments.
    AlignmentNeeded,
    /// `NoOwnReferences`, and no program of the closed world loads it.
    NotInClosedWorld,
    /// The file would not become a page smaller.
    #[serde(rename_all = "snake_case")]
    NoGain {
        /// Bytes that the tables would become smaller.
        table_bytes: u64,
        /// Why they cannot be removed from the file, if they could be saved.
        stuck: Option<Stuck>,
    },
}

/// Why free bytes cannot be removed from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stuck {
    /// The rest of the segment needs a program header, and there is no room for one.
    NoProgramHeader,
    /// The data after it can only move by a multiple of its alignment, which is larger.
    Alignment,
}

/// How to rewrite a file.
#[derive(Clone, Debug)]
pub struct PackPlan {
    /// The new file's script.
    pub script: Script,
    /// Its effects.
    pub summary: PackSummary,
}

/// The effects of packing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackSummary {
    /// The outcome of each pass that ran, in their order.
    pub passes: Vec<PassReport>,
    /// References to the file's own definitions, counted by `bind-local`; `None` if it did not run.
    pub own_references: Option<OwnReferences>,
    /// Size of the file before, in bytes.
    pub size_before: u64,
    /// Size after.
    pub size_after: u64,
    /// Number of relocations that become RELR.
    pub packed: u64,
    /// Number of relocations with a symbol that became relative, as RELR or in their table.
    pub bound: u64,
    /// Those among `bound` that lead to a pure virtual function.
    pub pure_virtual: u64,
    /// Number of relative relocations that stay, because RELR cannot encode them.
    pub kept_relative: u64,
    /// Number of other relocations in the same table, which stay.
    pub kept_others: u64,
    /// Bytes of relocation records before, without the PLT's.
    pub record_bytes_before: u64,
    /// Bytes of them after.
    pub record_bytes_after: u64,
    /// Bytes of the RELR table.
    pub relr_bytes: u64,
    /// Words whose addend was written in place.
    pub words_written: u64,
    /// How the space was saved.
    pub room: Room,
    /// Freed bytes that stay part of the file's size, as a hole without blocks; 0 without `sparse`.
    pub hole_bytes: u64,
    /// Reused dynamic entries, in order.
    pub slots: Vec<SlotSource>,
    /// Whether `GLIBC_ABI_DT_RELR` was added to the versions needed from libc.so.6.
    pub version_added: bool,
    /// Whether the result has undo data.
    pub way_back: WayBack,
    /// Cautions for the user.
    pub cautions: Vec<Caution>,
}

impl PackSummary {
    /// Whether segments are aligned to less than before.
    pub fn lowers_alignment(&self) -> bool {
        self.passes.iter().any(|report| matches!(report.outcome, PassOutcome::Lowered { .. }))
    }
}

/// How the bytes are removed from the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// The segment ended after the tables, and ends earlier.
    SegmentCut,
    /// The segment was split after the tables.
    SegmentSplit,
    /// They stay part of the file's size, as a hole without blocks.
    Hole,
    /// No bytes were to be removed: RELR is not among the passes, or refused the file.
    Unchanged,
}

/// What an entry of the dynamic table for `DT_RELR`, `DT_RELRSZ` or `DT_RELRENT` was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotSource {
    /// One of the spare `DT_NULL` entries.
    Spare,
    /// `DT_RELACOUNT` or `DT_RELCOUNT` that would be 0.
    RelativeCount,
    /// `DT_RELA`, `DT_RELASZ`, `DT_RELAENT` (or `DT_REL*`) of an empty table.
    EmptyTable,
    /// `DT_FLAGS` that duplicates `DT_FLAGS_1`, or `DT_BIND_NOW` or `DT_SYMBOLIC` that duplicates a flag.
    RedundantFlags,
    /// `DT_FINI` or `DT_INIT` of an empty function.
    EmptyFunction,
    /// `DT_INIT` of a function that only calls `__gmon_start__`, as a profiled program does anyway.
    ProfilingOnly,
    /// `DT_RPATH` next to `DT_RUNPATH`, and therefore ignored.
    IgnoredRpath,
    /// `DT_SYMENT`, as requested.
    SymbolEntrySize,
}

/// A caution for the user of a packed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "caution")]
pub enum Caution {
    /// A loader without RELR support would not refuse it.
    NoVersionGuard,
    /// Words had neither zero nor their addend before; loaders ignore these values.
    #[serde(rename_all = "snake_case")]
    InPlaceValues {
        /// Their number.
        count: u64,
    },
}
