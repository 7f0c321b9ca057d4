//! The list of benchmarks: name, number of runs, whether it needs a bed.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A benchmark. Its name is part of its records' file names, so it does not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Benchmark {
    /// LibreOffice on a disk with a moving head; plan and vmtouch against neither
    LibreofficeHdd,
    /// LibreOffice on a network disk; plan and vmtouch against neither
    LibreofficeNetwork,
    /// Firefox on a network disk; plan against none
    FirefoxNetwork,
    /// LibreOffice on this machine's own disk; plan against none
    LibreofficeDisk,
    /// Firefox on this machine's own disk; plan against none
    FirefoxDisk,
    /// Eight programs on a network disk and on this machine's own; default and exact plans against none
    Programs,
    /// Seven programs from start images on a network disk; against exact plans and none
    ImagesNetwork,
    /// The same on this machine's own disk
    ImagesDisk,
    /// The same on a disk with a moving head: half an hour
    ImagesHdd,
    /// A hundred starts of one program at once on a network disk: bytes read, and the time of the last
    StartsAtOnce,
    /// Starts after boot into two desktops' sessions
    Session,
    /// What the launcher costs when there is nothing to read
    LauncherHot,
    /// `coldstart measure` against hyperfine
    Precision,
    /// How often a difference is claimed where there is none
    SameAgainstSame,
    /// How often a gate fails without a reason, and finds one
    Gate,
    /// `coldstart inspect` against readelf, on a program of 300 MB
    InspectChromium,
    /// `coldstart inspect` on all ELF files below /usr/lib
    InspectUsrLib,
    /// How much smaller `coldstart pack` makes files, beside elfhack and linking anew
    PackSize,
    /// How long `coldstart pack` takes, proof included, beside elfhack
    PackSpeed,
    /// Loading packed files against their originals
    PackLoad,
    /// Each pass of `coldstart pack` alone, and all: sizes, pages dirtied, look-ups, loads hot and cold on three disks
    PackPasses,
    /// How fast the verbs are, beside an earlier build of them
    OwnSpeed,
    /// Saving what the page cache holds of 20,000 files, and bringing it back
    PagecacheSaved,
    /// How near a selective eviction comes to dropping everything, and what it takes from others
    Selective,
    /// How exactly windows and pages are told to be ready
    Readiness,
    /// A program with 150 directories to search: plain and bound
    SearchSynthetic,
    /// A program that opens a library by name while it runs: plain and bound
    SearchDlopen,
    /// A real program in a store of packages: plain and bound
    SearchStore,
    /// The same cold, on a network disk
    SearchStoreNetwork,
    /// The same with prefetch plans: plain, bound, planned, both
    SearchStorePlan,
    /// `coldstart resolve` against ldd
    SearchResolve,
    /// `coldstart trace` with phases and pages, against programs alone
    TracePages,
    /// `coldstart trace` with functions, against the program alone, the traps alone and valgrind
    TraceFunctions,
    /// How large traces are, and how long a million events take to show
    TraceFile,
    /// A container from its unpacked layers and from a start image, on a network disk
    Container,
    /// Python with 100 directories of modules, and with one: plain, a farm of links, an index
    IndexPython,
    /// Real programs in Python, each distribution in a directory of its own
    IndexPythonPrograms,
    /// Perl with 100 directories of modules
    IndexPerl,
    /// Guile with 100 directories of modules
    IndexGuile,
    /// Ruby with 100 directories of files, beside bootsnap
    IndexRuby,
    /// Node with 100 directories of packages
    IndexNode,
    /// Pages of code of a start: plain, with a list of functions, in a random order
    Order,
    /// The same for vim and the library of exiv2
    OrderPrograms,
    /// Pages of code of a start that the list was made without, by first use and by balanced partitioning
    OrderWorkloads,
    /// Starts from a jar, a zipapp, an AppImage and Firefox's archives, as built and in order, on a disk with a moving head
    OrderArchivesHdd,
    /// The same on a network disk
    OrderArchivesNetwork,
    /// How long a list from a trace with 4,000 calls takes
    OrderList,
    /// How large the page of a million events is, how long it takes to open, how smoothly it pans
    ViewPage,
}

impl Benchmark {
    /// Those that run when none is named.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Self::known();
        // It cannot run without the other build.
        all.retain(|benchmark| *benchmark != Self::OwnSpeed || super::own_speed::named_earlier().is_some());
        all
    }

    /// Those of which there can be records.
    pub(super) fn known() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    /// Counted runs unless others are asked for.
    pub(super) fn default_runs(self) -> u32 {
        match self {
            Self::Programs
            | Self::ImagesNetwork
            | Self::ImagesDisk
            | Self::ImagesHdd
            | Self::StartsAtOnce
            | Self::Session => 3,
            Self::LauncherHot => 20,
            Self::Precision => 200,
            Self::SameAgainstSame => 10,
            Self::Gate => 8,
            Self::InspectChromium => 20,
            Self::InspectUsrLib => 15,
            Self::PackSize => 1,
            Self::PackSpeed => 11,
            Self::PackLoad => 42,
            Self::PackPasses => 9,
            Self::OwnSpeed => 15,
            Self::PagecacheSaved => 11,
            Self::Readiness => 40,
            Self::SearchSynthetic | Self::SearchDlopen | Self::SearchStore => 60,
            Self::SearchResolve => 20,
            Self::TracePages => 15,
            Self::TraceFunctions => 15,
            Self::TraceFile | Self::ViewPage => 9,
            // Pages hardly differ from start to start.
            Self::Order | Self::OrderPrograms | Self::OrderWorkloads => 1,
            Self::OrderList => 11,
            Self::IndexPython | Self::IndexPerl | Self::IndexGuile | Self::IndexRuby | Self::IndexNode => 25,
            _ => 7,
        }
    }

    /// Whether it brings a bed up, for which the corpus must be built.
    pub(super) fn needs_bed(self) -> bool {
        matches!(
            self,
            Self::LibreofficeHdd
                | Self::LibreofficeNetwork
                | Self::FirefoxNetwork
                | Self::LibreofficeDisk
                | Self::FirefoxDisk
                | Self::Programs
                | Self::ImagesNetwork
                | Self::ImagesDisk
                | Self::ImagesHdd
                | Self::StartsAtOnce
                | Self::Session
                | Self::LauncherHot
                | Self::Selective
                | Self::SearchStoreNetwork
                | Self::SearchStorePlan
                | Self::Container
                | Self::OrderArchivesHdd
                | Self::OrderArchivesNetwork
                | Self::PackPasses
        )
    }
}

impl fmt::Display for Benchmark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => formatter.pad(value.get_name()),
            None => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_shown_and_recorded_names_are_the_same() {
        for benchmark in Benchmark::all() {
            let recorded = serde_json::to_value(benchmark).unwrap();
            assert_eq!(recorded, benchmark.to_string());
            assert_eq!(Benchmark::from_str(&benchmark.to_string(), false), Ok(benchmark));
        }
    }
}
