//! What each benchmark does and which figures it gives.

use anyhow::Result;

use super::bed::BedKind;
use super::benchmark::Benchmark;
use super::figure::Figure;
use super::program::{FIREFOX, LIBREOFFICE};
use super::record::Record;
use super::start::{Seen, StartBenchmark};
use super::workshop::Workshop;
use super::{
    container, gate, index, inspect_chromium, inspect_usr_lib, launcher_hot, order, own_speed, pack_files, pack_load,
    pack_passes, pack_size, pack_speed, pagecache_saved, precision, programs, readiness, same_against_same, search,
    selective, session, starts_at_once, trace, view_page,
};
use crate::tools::{FOR_BENCHMARKS, Tool};

impl Benchmark {
    /// What must be installed for it.
    pub(super) fn tools(self) -> &'static [Tool] {
        match self {
            Self::Container => container::TOOLS,
            Self::Gate => gate::TOOLS,
            Self::IndexPython
            | Self::IndexPythonPrograms
            | Self::IndexPerl
            | Self::IndexGuile
            | Self::IndexRuby
            | Self::IndexNode => index::TOOLS,
            Self::InspectChromium => inspect_chromium::TOOLS,
            Self::InspectUsrLib => inspect_usr_lib::TOOLS,
            Self::Order => order::TOOLS,
            Self::OrderPrograms | Self::OrderWorkloads => order::TOOLS_OF_PROGRAMS,
            Self::OrderArchivesHdd | Self::OrderArchivesNetwork => order::archives::TOOLS,
            Self::OrderList => order::list::TOOLS,
            Self::OwnSpeed => own_speed::TOOLS,
            Self::PackSize | Self::PackSpeed | Self::PackLoad | Self::PackPasses => pack_files::TOOLS,
            Self::PagecacheSaved => pagecache_saved::TOOLS,
            Self::Readiness => readiness::TOOLS,
            Self::SearchSynthetic
            | Self::SearchDlopen
            | Self::SearchStore
            | Self::SearchStoreNetwork
            | Self::SearchStorePlan => search::TOOLS,
            Self::SearchResolve => search::RESOLVE_TOOLS,
            Self::Session => session::TOOLS,
            Self::TracePages | Self::TraceFunctions | Self::TraceFile | Self::ViewPage => trace::TOOLS,
            _ => FOR_BENCHMARKS,
        }
    }

    /// Carries it out and puts what was measured into `record`.
    pub(super) fn measure(self, workshop: &Workshop, record: &mut Record) -> Result<()> {
        match self {
            Self::Programs => programs::measure(workshop, record),
            Self::ImagesNetwork => programs::images::measure(workshop, record, BedKind::Net),
            Self::ImagesDisk => programs::images::measure(workshop, record, BedKind::Disk),
            Self::ImagesHdd => programs::images::measure(workshop, record, BedKind::Hdd),
            Self::Container => container::measure(workshop, record),
            Self::StartsAtOnce => starts_at_once::measure(workshop, record),
            Self::Session => session::measure(workshop, record),
            Self::LauncherHot => launcher_hot::measure(workshop, record),
            Self::Precision => precision::measure(workshop, record),
            Self::SameAgainstSame => same_against_same::measure(workshop, record),
            Self::Gate => gate::measure(workshop, record),
            Self::InspectChromium => inspect_chromium::measure(workshop, record),
            Self::InspectUsrLib => inspect_usr_lib::measure(workshop, record),
            Self::PackSize => pack_size::measure(workshop, record),
            Self::OwnSpeed => own_speed::measure(workshop, record),
            Self::PackSpeed => pack_speed::measure(workshop, record),
            Self::PackLoad => pack_load::measure(workshop, record),
            Self::PackPasses => pack_passes::measure(workshop, record),
            Self::PagecacheSaved => pagecache_saved::measure(workshop, record),
            Self::Selective => selective::measure(workshop, record),
            Self::Readiness => readiness::measure(workshop, record),
            Self::SearchSynthetic => search::synthetic::measure(workshop, record),
            Self::SearchDlopen => search::dlopen::measure(workshop, record),
            Self::SearchStore => search::store::measure(workshop, record),
            Self::SearchStoreNetwork => search::network::measure(workshop, record),
            Self::SearchStorePlan => search::plans::measure(workshop, record),
            Self::SearchResolve => search::resolve::measure(workshop, record),
            Self::TracePages => trace::pages::measure(workshop, record),
            Self::TraceFunctions => trace::functions::measure(workshop, record),
            Self::TraceFile => trace::file::measure(workshop, record),
            Self::Order => order::measure(workshop, record),
            Self::OrderPrograms => order::measure_programs(workshop, record),
            Self::OrderWorkloads => order::workloads::measure(workshop, record),
            Self::OrderArchivesHdd => order::archives::measure(workshop, record, BedKind::Hdd),
            Self::OrderArchivesNetwork => order::archives::measure(workshop, record, BedKind::Net),
            Self::OrderList => order::list::measure(workshop, record),
            Self::ViewPage => view_page::measure(workshop, record),
            Self::IndexPython => index::measure(workshop, record, index::Language::Python),
            Self::IndexPythonPrograms => index::measure(workshop, record, index::Language::PythonPrograms),
            Self::IndexPerl => index::measure(workshop, record, index::Language::Perl),
            Self::IndexGuile => index::measure(workshop, record, index::Language::Guile),
            Self::IndexRuby => index::measure(workshop, record, index::Language::Ruby),
            Self::IndexNode => index::measure(workshop, record, index::Language::Node),
            _ => self.start().map_or(Ok(()), |start| start.measure(workshop, record)),
        }
    }

    /// The figures of a record of it.
    ///
    /// # Errors
    /// When the record lacks a part, or a part has another form than expected.
    pub(super) fn figures(self, record: &Record) -> Result<Vec<Figure>> {
        match self {
            Self::Programs => programs::figures(record),
            Self::ImagesNetwork | Self::ImagesDisk | Self::ImagesHdd => programs::images::figures(record),
            Self::Container => container::figures(record),
            Self::StartsAtOnce => starts_at_once::figures(record),
            Self::Session => session::figures(record),
            Self::LauncherHot => launcher_hot::figures(record),
            Self::Precision => precision::figures(record),
            Self::SameAgainstSame => same_against_same::figures(record),
            Self::Gate => gate::figures(record),
            Self::InspectChromium => inspect_chromium::figures(record),
            Self::InspectUsrLib => inspect_usr_lib::figures(record),
            Self::PackSize => pack_size::figures(record),
            Self::OwnSpeed => own_speed::figures(record),
            Self::PackSpeed => pack_speed::figures(record),
            Self::PackLoad => pack_load::figures(record),
            Self::PackPasses => pack_passes::figures(record),
            Self::PagecacheSaved => pagecache_saved::figures(record),
            Self::Selective => selective::figures(record),
            Self::Readiness => readiness::figures(record),
            Self::SearchSynthetic => search::synthetic::figures(record),
            Self::SearchDlopen => search::dlopen::figures(record),
            Self::SearchStore => search::store::figures(record),
            Self::SearchStoreNetwork => search::network::figures(record),
            Self::SearchStorePlan => search::plans::figures(record),
            Self::SearchResolve => search::resolve::figures(record),
            Self::TracePages => trace::pages::figures(record),
            Self::TraceFunctions => trace::functions::figures(record),
            Self::TraceFile => trace::file::figures(record),
            Self::Order | Self::OrderPrograms => order::figures(record),
            Self::OrderWorkloads => order::workloads::figures(record),
            Self::OrderArchivesHdd | Self::OrderArchivesNetwork => order::archives::figures(record),
            Self::OrderList => order::list::figures(record),
            Self::ViewPage => view_page::figures(record),
            Self::IndexPython
            | Self::IndexPythonPrograms
            | Self::IndexPerl
            | Self::IndexGuile
            | Self::IndexRuby
            | Self::IndexNode => index::figures(record),
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
            Self::Programs
            | Self::ImagesNetwork
            | Self::ImagesDisk
            | Self::ImagesHdd
            | Self::StartsAtOnce
            | Self::Session
            | Self::LauncherHot
            | Self::Precision
            | Self::SameAgainstSame
            | Self::Gate
            | Self::InspectChromium
            | Self::InspectUsrLib
            | Self::PackSize
            | Self::OwnSpeed
            | Self::PackSpeed
            | Self::PackLoad
            | Self::PackPasses
            | Self::PagecacheSaved
            | Self::Selective
            | Self::Readiness
            | Self::SearchSynthetic
            | Self::SearchDlopen
            | Self::SearchStore
            | Self::SearchStoreNetwork
            | Self::SearchStorePlan
            | Self::SearchResolve
            | Self::TracePages
            | Self::TraceFunctions
            | Self::TraceFile
            | Self::ViewPage
            | Self::Order
            | Self::OrderPrograms
            | Self::OrderWorkloads
            | Self::OrderArchivesHdd
            | Self::OrderArchivesNetwork
            | Self::OrderList
            | Self::IndexPython
            | Self::IndexPythonPrograms
            | Self::IndexPerl
            | Self::IndexGuile
            | Self::IndexRuby
            | Self::IndexNode
            | Self::Container => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_benchmark_measures_something() {
        for benchmark in Benchmark::all() {
            let others = [
                Benchmark::Programs,
                Benchmark::ImagesNetwork,
                Benchmark::ImagesDisk,
                Benchmark::ImagesHdd,
                Benchmark::StartsAtOnce,
                Benchmark::Session,
                Benchmark::LauncherHot,
                Benchmark::Precision,
                Benchmark::SameAgainstSame,
                Benchmark::Gate,
                Benchmark::InspectChromium,
                Benchmark::InspectUsrLib,
                Benchmark::PackSize,
                Benchmark::PackSpeed,
                Benchmark::PackLoad,
                Benchmark::PackPasses,
                Benchmark::PagecacheSaved,
                Benchmark::Selective,
                Benchmark::Readiness,
                Benchmark::SearchSynthetic,
                Benchmark::SearchDlopen,
                Benchmark::SearchStore,
                Benchmark::SearchStoreNetwork,
                Benchmark::SearchStorePlan,
                Benchmark::SearchResolve,
                Benchmark::TracePages,
                Benchmark::TraceFunctions,
                Benchmark::TraceFile,
                Benchmark::ViewPage,
                Benchmark::Container,
                Benchmark::IndexPython,
                Benchmark::IndexPythonPrograms,
                Benchmark::IndexPerl,
                Benchmark::IndexGuile,
                Benchmark::IndexRuby,
                Benchmark::IndexNode,
                Benchmark::Order,
                Benchmark::OrderPrograms,
                Benchmark::OrderWorkloads,
                Benchmark::OrderArchivesHdd,
                Benchmark::OrderArchivesNetwork,
                Benchmark::OrderList,
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
        for benchmark in Benchmark::all().into_iter().filter(|benchmark| benchmark.start().is_some()) {
            assert!(benchmark.needs_bed(), "{benchmark}");
        }
        assert!(Benchmark::LauncherHot.needs_bed() && Benchmark::FirefoxDisk.needs_bed());
    }
}
