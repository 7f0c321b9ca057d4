//! What is decided about a file: a script with a summary, or that there is nothing to do.

use serde::Serialize;

use crate::libc_floor::LibcFloor;
use crate::note::WayBack;
use crate::script::Script;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// The oldest C library that must load the result. Without it, glibc 2.36 is taken for objects of glibc, and
    /// those of other libraries are refused.
    pub libc_floor: Option<LibcFloor>,
    /// Where bytes cannot leave the file, make them a hole that takes no room on disk and is read from no disk.
    pub sparse: bool,
    /// If nothing else frees an entry of the dynamic table, take that of `DT_SYMENT`. The generic ABI demands the tag;
    /// no loader reads it.
    pub drop_syment: bool,
    /// Keep in the file what `unpack` needs.
    pub undo: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { libc_floor: None, sparse: false, drop_syment: false, undo: true }
    }
}

/// What to do with a file.
#[derive(Clone, Debug)]
pub enum PackDecision {
    /// Rewrite it.
    Pack(Box<PackPlan>),
    /// Leave it.
    Nothing(NothingToPack),
}

/// Why a file is left as it is, although nothing is in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum NothingToPack {
    /// It was packed by us.
    PackedByUs,
    /// All its relative relocations are RELR.
    AlreadyRelr,
    /// It has no relative relocation.
    NoRelative,
    /// The file would not get a page smaller.
    #[serde(rename_all = "snake_case")]
    NoGain {
        /// Bytes by which the tables would be smaller.
        table_bytes: u64,
        /// Why they cannot leave the file, if they would make it smaller.
        stuck: Option<Stuck>,
    },
}

/// Why bytes that are free cannot leave a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stuck {
    /// The rest of the segment needs a program header, and there is no room for one.
    NoProgramHeader,
    /// What follows can only move by a multiple of its alignment, which is larger.
    Alignment,
}

/// How to rewrite a file.
#[derive(Clone, Debug)]
pub struct PackPlan {
    /// What to write.
    pub script: Script,
    /// What that does.
    pub summary: PackSummary,
}

/// What packing does to a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackSummary {
    /// Size of the file before, in bytes.
    pub size_before: u64,
    /// Size after.
    pub size_after: u64,
    /// Number of relative relocations that go to RELR.
    pub packed: u64,
    /// Number of relative relocations that stay, because RELR cannot hold them.
    pub kept_relative: u64,
    /// Number of other relocations in the same table, which stay.
    pub kept_others: u64,
    /// Bytes of relocation records before, those of the PLT left out.
    pub record_bytes_before: u64,
    /// Bytes of them after.
    pub record_bytes_after: u64,
    /// Bytes of the RELR table.
    pub relr_bytes: u64,
    /// Words that got their addend written in place.
    pub words_written: u64,
    /// Where the room went.
    pub room: Room,
    /// Dynamic entries that were taken, in order.
    pub slots: Vec<SlotSource>,
    /// Whether `GLIBC_ABI_DT_RELR` was added to the versions needed from libc.so.6.
    pub version_added: bool,
    /// Whether the note in the result lets `unpack` restore the original.
    pub way_back: WayBack,
    /// What its user should know.
    pub cautions: Vec<Caution>,
}

/// How the bytes leave the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Room {
    /// The segment ended after the tables, and ends earlier.
    SegmentCut,
    /// The segment was split after the tables.
    SegmentSplit,
    /// They stay in the file's length, as a hole without blocks.
    Hole,
}

/// What an entry of the dynamic table for `DT_RELR`, `DT_RELRSZ` or `DT_RELRENT` was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlotSource {
    /// One of the spare `DT_NULL` entries.
    Spare,
    /// `DT_RELACOUNT` or `DT_RELCOUNT` that would be 0.
    RelativeCount,
    /// `DT_RELA`, `DT_RELASZ`, `DT_RELAENT` (or `DT_REL*`) of a table without entries.
    EmptyTable,
    /// `DT_FLAGS` that says no more than `DT_FLAGS_1`, or `DT_BIND_NOW` or `DT_SYMBOLIC` that a flag says, too.
    RedundantFlags,
    /// `DT_FINI` or `DT_INIT` of a function that does nothing.
    EmptyFunction,
    /// `DT_INIT` of a function that only calls `__gmon_start__`, as the one of a profiled program does anyway.
    ProfilingOnly,
    /// `DT_RPATH` beside `DT_RUNPATH`, which makes loaders ignore it.
    IgnoredRpath,
    /// `DT_SYMENT`, as asked for.
    SymbolEntrySize,
}

/// What the user of a packed file should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "caution")]
pub enum Caution {
    /// Nothing in it would make a loader that does not know RELR refuse it.
    NoVersionGuard,
    /// Words held neither zero nor their addend before; loaders ignore what they hold.
    #[serde(rename_all = "snake_case")]
    InPlaceValues {
        /// How many.
        count: u64,
    },
}
