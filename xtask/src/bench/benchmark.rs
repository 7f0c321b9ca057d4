//! The list of benchmarks: name, number of runs, target.

use std::fmt;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use super::bed::BedKind;
use super::figure::Figure;
use super::program::{FIREFOX, LIBREOFFICE};
use super::record::Record;
use super::start::{Seen, StartBenchmark};
use super::workshop::Workshop;
use super::{
    gate, inspect_chromium, inspect_usr_lib, launcher_hot, pack_files, pack_load, pack_size, pack_speed,
    pagecache_saved, precision, readiness, same_against_same, search, selective, trace, view_page,
};
use crate::tools::{FOR_BENCHMARKS, Tool};

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
    /// `coldstart resolve` against ldd
    SearchResolve,
    /// `coldstart trace` with phases and pages, against programs alone
    TracePages,
    /// `coldstart trace` with functions, against the program alone, the traps alone and valgrind
    TraceFunctions,
    /// How large traces are, and how long a million events take to show
    TraceFile,
    /// How large the page of a million events is, how long it takes to open, how smoothly it pans
    ViewPage,
}

impl Benchmark {
    pub(super) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    /// Counted runs unless others are asked for.
    pub(super) fn default_runs(self) -> u32 {
        match self {
            Self::LauncherHot => 20,
            Self::Precision => 200,
            Self::SameAgainstSame => 10,
            Self::Gate => 8,
            Self::InspectChromium => 20,
            Self::InspectUsrLib => 15,
            Self::PackSize => 1,
            Self::PackSpeed => 11,
            Self::PackLoad => 42,
            Self::PagecacheSaved => 11,
            Self::Readiness => 40,
            Self::SearchSynthetic | Self::SearchDlopen | Self::SearchStore => 60,
            Self::SearchResolve => 20,
            Self::TracePages => 15,
            Self::TraceFunctions => 15,
            Self::TraceFile | Self::ViewPage => 9,
            _ => 7,
        }
    }

    /// Whether it brings a bed up, for which the corpus must be built.
    pub(super) fn needs_bed(self) -> bool {
        self.start().is_some() || matches!(self, Self::LauncherHot | Self::Selective | Self::SearchStoreNetwork)
    }

    /// What must be installed for it.
    pub(super) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Gate => gate::TOOLS,
            Self::InspectChromium => inspect_chromium::TOOLS,
            Self::InspectUsrLib => inspect_usr_lib::TOOLS,
            Self::PackSize | Self::PackSpeed | Self::PackLoad => pack_files::TOOLS,
            Self::PagecacheSaved => pagecache_saved::TOOLS,
            Self::Readiness => readiness::TOOLS,
            Self::SearchSynthetic | Self::SearchDlopen | Self::SearchStore | Self::SearchStoreNetwork => search::TOOLS,
            Self::SearchResolve => search::RESOLVE_TOOLS,
            Self::TracePages | Self::TraceFunctions | Self::TraceFile | Self::ViewPage => trace::TOOLS,
            _ => FOR_BENCHMARKS,
        }
    }

    /// Carries it out and puts what was measured into `record`.
    pub(super) fn measure(self, workshop: &Workshop, record: &mut Record) -> Result<()> {
        match self {
            Self::LauncherHot => launcher_hot::measure(workshop, record),
            Self::Precision => precision::measure(workshop, record),
            Self::SameAgainstSame => same_against_same::measure(workshop, record),
            Self::Gate => gate::measure(workshop, record),
            Self::InspectChromium => inspect_chromium::measure(workshop, record),
            Self::InspectUsrLib => inspect_usr_lib::measure(workshop, record),
            Self::PackSize => pack_size::measure(workshop, record),
            Self::PackSpeed => pack_speed::measure(workshop, record),
            Self::PackLoad => pack_load::measure(workshop, record),
            Self::PagecacheSaved => pagecache_saved::measure(workshop, record),
            Self::Selective => selective::measure(workshop, record),
            Self::Readiness => readiness::measure(workshop, record),
            Self::SearchSynthetic => search::synthetic::measure(workshop, record),
            Self::SearchDlopen => search::dlopen::measure(workshop, record),
            Self::SearchStore => search::store::measure(workshop, record),
            Self::SearchStoreNetwork => search::network::measure(workshop, record),
            Self::SearchResolve => search::resolve::measure(workshop, record),
            Self::TracePages => trace::pages::measure(workshop, record),
            Self::TraceFunctions => trace::functions::measure(workshop, record),
            Self::TraceFile => trace::file::measure(workshop, record),
            Self::ViewPage => view_page::measure(workshop, record),
            _ => self.start().map_or(Ok(()), |start| start.measure(workshop, record)),
        }
    }

    /// The figures of a record of it.
    ///
    /// # Errors
    /// When the record lacks a part, or a part has another form than expected.
    pub(super) fn figures(self, record: &Record) -> Result<Vec<Figure>> {
        match self {
            Self::LauncherHot => launcher_hot::figures(record),
            Self::Precision => precision::figures(record),
            Self::SameAgainstSame => same_against_same::figures(record),
            Self::Gate => gate::figures(record),
            Self::InspectChromium => inspect_chromium::figures(record),
            Self::InspectUsrLib => inspect_usr_lib::figures(record),
            Self::PackSize => pack_size::figures(record),
            Self::PackSpeed => pack_speed::figures(record),
            Self::PackLoad => pack_load::figures(record),
            Self::PagecacheSaved => pagecache_saved::figures(record),
            Self::Selective => selective::figures(record),
            Self::Readiness => readiness::figures(record),
            Self::SearchSynthetic => search::synthetic::figures(record),
            Self::SearchDlopen => search::dlopen::figures(record),
            Self::SearchStore => search::store::figures(record),
            Self::SearchStoreNetwork => search::network::figures(record),
            Self::SearchResolve => search::resolve::figures(record),
            Self::TracePages => trace::pages::figures(record),
            Self::TraceFunctions => trace::functions::figures(record),
            Self::TraceFile => trace::file::figures(record),
            Self::ViewPage => view_page::figures(record),
            _ => self.start().map_or(Ok(Vec::new()), |start| start.figures(record)),
        }
    }

    /// Those which time a program's start on a bed. `seen` is what the first measurements gave, on another day's
    /// machine; `asked` is what a plan must reach, set from the best that a prototype reached on the same beds.
    fn start(self) -> Option<StartBenchmark> {
        let start = |program, bed, cold, hot, asked, with_vmtouch| {
            Some(StartBenchmark { program, bed, seen: Seen { cold, hot }, asked, with_vmtouch })
        };
        match self {
            Self::LibreofficeHdd => start(&LIBREOFFICE, BedKind::Hdd, 13.0, 0.9, 3.4, true),
            Self::LibreofficeNetwork => start(&LIBREOFFICE, BedKind::Net, 3.1, 0.8, 1.45, true),
            Self::FirefoxNetwork => start(&FIREFOX, BedKind::Net, 2.85, 0.5, 1.25, false),
            Self::LibreofficeDisk => start(&LIBREOFFICE, BedKind::Disk, 1.11, 0.84, 0.94, false),
            Self::FirefoxDisk => start(&FIREFOX, BedKind::Disk, 0.88, 0.5, 0.7, false),
            Self::LauncherHot
            | Self::Precision
            | Self::SameAgainstSame
            | Self::Gate
            | Self::InspectChromium
            | Self::InspectUsrLib
            | Self::PackSize
            | Self::PackSpeed
            | Self::PackLoad
            | Self::PagecacheSaved
            | Self::Selective
            | Self::Readiness
            | Self::SearchSynthetic
            | Self::SearchDlopen
            | Self::SearchStore
            | Self::SearchStoreNetwork
            | Self::SearchResolve
            | Self::TracePages
            | Self::TraceFunctions
            | Self::TraceFile
            | Self::ViewPage => None,
        }
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

    #[test]
    fn every_benchmark_measures_something() {
        for benchmark in Benchmark::all() {
            let others = [
                Benchmark::LauncherHot,
                Benchmark::Precision,
                Benchmark::SameAgainstSame,
                Benchmark::Gate,
                Benchmark::InspectChromium,
                Benchmark::InspectUsrLib,
                Benchmark::PackSize,
                Benchmark::PackSpeed,
                Benchmark::PackLoad,
                Benchmark::PagecacheSaved,
                Benchmark::Selective,
                Benchmark::Readiness,
                Benchmark::SearchSynthetic,
                Benchmark::SearchDlopen,
                Benchmark::SearchStore,
                Benchmark::SearchStoreNetwork,
                Benchmark::SearchResolve,
                Benchmark::TracePages,
                Benchmark::TraceFunctions,
                Benchmark::TraceFile,
                Benchmark::ViewPage,
            ];
            assert!(others.contains(&benchmark) != benchmark.start().is_some(), "{benchmark}");
        }
    }

    #[test]
    fn inspecting_and_packing_need_neither_a_bed_nor_its_tools() {
        let packing = [Benchmark::PackSize, Benchmark::PackSpeed, Benchmark::PackLoad];
        for benchmark in packing.into_iter().chain([Benchmark::InspectChromium, Benchmark::InspectUsrLib]) {
            assert!(!benchmark.needs_bed());
            assert!(benchmark.tools().iter().all(|tool| tool.package != "debootstrap"));
        }
        assert!(Benchmark::LauncherHot.needs_bed() && Benchmark::FirefoxDisk.needs_bed());
    }
}
