//! Possible improvements, each with location, cost, fix, saving and certainty.
//!
//! A finding is made only when its fix saves something worth a line. They are ordered by [`Saving::weight`], which
//! puts bytes, pages and seeks on one scale; it is used for sorting and never shown.

mod binding;
mod initialising;
mod mapping;
mod packing;
mod searching;

use serde::Serialize;

use crate::file_pages::{PAGE, READAHEAD_WINDOW};
use crate::loader_reads::LoaderStep;
use crate::object::Object;
use crate::parts::Parts;

/// The kind of a finding; its name is the argument of `--fail-on`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Relative relocations that RELR could encode.
    UnpackedRelocations,
    /// References to the object's own exported symbols.
    OwnSymbolReferences,
    /// References to `__cxa_pure_virtual`.
    PureVirtualReferences,
    /// Relocation changes memory that is mapped read-only.
    TextRelocations,
    /// Variables that the program copies out of libraries.
    CopyRelocations,
    /// Pages that relocation makes private to each process.
    PrivatePages,
    /// `.bss` begins inside a page of the file.
    BssInFilePage,
    /// The loader's first accesses are scattered across the file.
    ScatteredReads,
    /// Many functions run before the program's own.
    ManyInitialisers,
    /// Initialisers run against the order of the file.
    BackwardInitialisers,
    /// Only the old hash table.
    SysvHashOnly,
    /// Both hash tables.
    TwoHashTables,
    /// The Bloom filter passes too many absent names.
    WeakBloomFilter,
    /// Padding for an alignment larger than any page in use.
    AlignmentPadding,
    /// Cannot be mapped by kernels with 64 KiB pages.
    SmallAlignment,
    /// A search path with many directories.
    LongSearchPath,
    /// Prelinked without effect.
    PrelinkIgnored,
    /// A needed library that is not used. Found only with the whole closure.
    UnusedLibrary,
    /// A library that is not found. Found only with the whole closure.
    MissingLibrary,
}

impl FindingKind {
    /// All kinds.
    pub const ALL: [Self; 19] = [
        Self::UnpackedRelocations,
        Self::OwnSymbolReferences,
        Self::PureVirtualReferences,
        Self::TextRelocations,
        Self::CopyRelocations,
        Self::PrivatePages,
        Self::BssInFilePage,
        Self::ScatteredReads,
        Self::ManyInitialisers,
        Self::BackwardInitialisers,
        Self::SysvHashOnly,
        Self::TwoHashTables,
        Self::WeakBloomFilter,
        Self::AlignmentPadding,
        Self::SmallAlignment,
        Self::LongSearchPath,
        Self::PrelinkIgnored,
        Self::UnusedLibrary,
        Self::MissingLibrary,
    ];

    /// Its name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::UnpackedRelocations => "unpacked-relocations",
            Self::OwnSymbolReferences => "own-symbol-references",
            Self::PureVirtualReferences => "pure-virtual-references",
            Self::TextRelocations => "text-relocations",
            Self::CopyRelocations => "copy-relocations",
            Self::PrivatePages => "private-pages",
            Self::BssInFilePage => "bss-in-file-page",
            Self::ScatteredReads => "scattered-reads",
            Self::ManyInitialisers => "many-initialisers",
            Self::BackwardInitialisers => "backward-initialisers",
            Self::SysvHashOnly => "sysv-hash-only",
            Self::TwoHashTables => "two-hash-tables",
            Self::WeakBloomFilter => "weak-bloom-filter",
            Self::AlignmentPadding => "alignment-padding",
            Self::SmallAlignment => "small-alignment",
            Self::LongSearchPath => "long-search-path",
            Self::PrelinkIgnored => "prelink-ignored",
            Self::UnusedLibrary => "unused-library",
            Self::MissingLibrary => "missing-library",
        }
    }
}

impl FindingKind {
    /// Sort key for findings of this kind whose fixes together save `saving`. Kinds that keep a program from starting
    /// come before kinds that make it slow.
    pub fn weight(self, saves: &Saving) -> u64 {
        if self == Self::MissingLibrary { u64::MAX } else { saves.weight() }
    }
}

/// The origin of a finding's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// Counted in the file.
    Counted,
    /// Counted by simulating the loader's rules.
    Followed,
    /// From a model of the kernel and the loader.
    Modelled,
    /// An upper bound; usually less.
    UpperBound,
}

/// How to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", content = "text", rename_all = "kebab-case")]
pub enum Fix {
    /// A verb of coldstart.
    Verb(&'static str),
    /// Options for the linker.
    Linker(&'static str),
    /// Options for the compiler.
    Compiler(&'static str),
    /// A change of the program's source or build.
    Source(&'static str),
}

/// What a fix saves at each start, or on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Bytes no longer stored or read.
    pub file_bytes: u64,
    /// File pages no longer read, of 4 KiB.
    pub read_pages: u64,
    /// Pages of private memory in each process, of 4 KiB.
    pub private_pages: u64,
    /// Disk requests that do not follow the previous one.
    pub seeks: u64,
    /// Symbol lookups avoided.
    pub lookups: u64,
    /// Failed probes avoided.
    pub probes: u64,
}

impl Saving {
    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            file_bytes: self.file_bytes.saturating_add(other.file_bytes),
            read_pages: self.read_pages.saturating_add(other.read_pages),
            private_pages: self.private_pages.saturating_add(other.private_pages),
            seeks: self.seeks.saturating_add(other.seeks),
            lookups: self.lookups.saturating_add(other.lookups),
            probes: self.probes.saturating_add(other.probes),
        }
    }

    /// Sort key. A seek counts as the 128 KiB that the kernel reads with it; a probe as a tenth of that, since its
    /// result is often in memory; a page as its bytes; a lookup as the cache lines it touches.
    pub fn weight(&self) -> u64 {
        let weights = [
            (self.file_bytes, 1),
            (self.read_pages, PAGE),
            (self.private_pages, PAGE),
            (self.seeks, READAHEAD_WINDOW),
            (self.probes, 13 * 1024),
            (self.lookups, 256),
        ];
        weights.iter().map(|(count, weight)| count.saturating_mul(*weight)).fold(0, u64::saturating_add)
    }
}

/// A possible improvement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// What was found, with figures; one sentence without its full stop.
    pub what: String,
    /// Its location in the file.
    pub place: String,
    /// Its cost.
    pub why: &'static str,
    /// Fixes, best first.
    pub fixes: Vec<Fix>,
    /// The saving.
    pub saves: Saving,
    /// The origin of the figures.
    pub certainty: Certainty,
    /// Preconditions or side effects of the fix. Empty if there are none.
    pub condition: &'static str,
}

impl Finding {
    /// Sort key; see [`FindingKind::weight`].
    pub fn weight(&self) -> u64 {
        self.kind.weight(&self.saves)
    }
}

/// The findings about one object, the most worthwhile first.
pub(crate) fn findings(object: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let makers: [fn(&Object<'_>, &Parts) -> Vec<Finding>; 5] =
        [packing::findings, binding::findings, initialising::findings, mapping::findings, searching::findings];
    let mut findings: Vec<Finding> = makers.iter().flat_map(|make| make(object, parts)).collect();
    rank(&mut findings);
    findings
}

/// Sorts findings, the most worthwhile first.
pub fn rank(findings: &mut [Finding]) {
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.weight()), finding.kind));
}

/// Seeks of one step of the loader, by the model.
fn seeks_in(parts: &Parts, step: LoaderStep) -> u64 {
    parts.loader_reads.steps.iter().filter(|found| found.step == step).map(|found| found.seeks).sum()
}

/// `1 word`, `2 words`, `3 libraries`.
fn counted(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_same_everywhere() {
        for kind in FindingKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
