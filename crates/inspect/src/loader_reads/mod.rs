//! A model of the kernel's disk reads while the loader processes one file from a cold cache.
//!
//! The loader touches few bytes at many offsets, and for each the kernel reads 128 KiB around it. So the order of the
//! touches and the distances between them determine how much is read, in how many requests, and how often a disk has
//! to seek. The model replays the touches in glibc's order through the kernel's rules ([`readahead`]).
//!
//! Simplifications:
//! - Only this file's own pages count. Its symbols are found in other files, and their hash tables, symbols and names
//!   are touched as well; and others look up symbols in this one.
//! - A page is read when it is touched; the duration of reads and the competition of threads and files are left out.
//! - Linux 6.18 was observed to read executable memory forwards from the touched page, to the end of the segment at
//!   most, instead of around it; the model reads around everything, as all earlier kernels do.
//! - Pages are 4 KiB and file systems read exactly the requested pages, not larger folios or blocks.
//! - A request is a run of uncached pages; merges and splits in the block layer are left out.
//! - `IRELATIVE` relocations are applied in table order; glibc applies them last. Only the page with the beginning of
//!   the resolver is counted.
//! - For an initialiser, its own code counts, up to [`CODE_PAGES`] pages from its beginning, without its callees.

mod readahead;
mod relocations;
mod tables;

use coldstart_elf::Vaddr;
use serde::Serialize;

use crate::file_pages::{PAGE, READAHEAD_WINDOW, page_of};
use crate::initialisers::initialisers;
use crate::layout::zeros::shared_page;
use crate::object::Object;

use readahead::{Counts, Disk};

/// The kernel's default readahead in pages: 128 KiB. It can be changed, for example to 8 MiB
/// (`/sys/block/*/queue/read_ahead_kb`).
pub const USUAL_READAHEAD_PAGES: u64 = READAHEAD_WINDOW / PAGE;

/// Limit on the pages of one initialiser's code; longer ones hardly run from end to end.
const CODE_PAGES: u64 = 16;

/// The reads of a file during the loader's work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoaderReads {
    /// The assumed readahead, in pages.
    pub readahead_pages: u64,
    /// Size of the file in pages.
    pub file_pages: u64,
    /// Number of read requests.
    pub requests: u64,
    /// Requests that do not begin at the end of the previous one.
    pub seeks: u64,
    /// Pages that are read.
    pub read_pages: u64,
    /// Bytes that are read; whole pages.
    pub read_bytes: u64,
    /// Pages that are read and touched. All others are useless to the loader.
    pub useful_pages: u64,
    /// The reads of each loader step, in order. Steps without touches are left out.
    pub steps: Vec<LoaderStepReads>,
}

/// The pages that one loader step touches first, and the reads for them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoaderStepReads {
    /// The step.
    pub step: LoaderStep,
    /// Its lowest file page, from 0.
    pub first_page: u64,
    /// Its highest file page.
    pub last_page: u64,
    /// Pages that no earlier step has touched.
    pub new_pages: u64,
    /// Read requests for it.
    pub requests: u64,
    /// Requests that do not begin at the end of the previous one.
    pub seeks: u64,
    /// Pages read for it.
    pub read_pages: u64,
}

/// A step of loading a file, in glibc's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoaderStep {
    /// The ELF header, the program headers and the path of the loader.
    Headers,
    /// Clearing the page in which zero-filled memory begins.
    ZeroFill,
    /// The dynamic table.
    DynamicTable,
    /// The head of the hash table.
    HashTable,
    /// The names of needed libraries and its own.
    Names,
    /// The versions that are needed and defined.
    Versions,
    /// Packed relative relocations.
    Relr,
    /// The other relocations, without the PLT's.
    Relocations,
    /// The relocations of the PLT.
    PltRelocations,
    /// The template of thread-local storage.
    ThreadLocalTemplate,
    /// The functions that run before `main`.
    Initialisers,
}

impl LoaderStep {
    /// The object of the step, as part of a sentence: `the relocations`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Headers => "the headers",
            Self::ZeroFill => "clearing the start of the zero-filled memory",
            Self::DynamicTable => "the dynamic table",
            Self::HashTable => "the hash table",
            Self::Names => "names of libraries",
            Self::Versions => "symbol versions",
            Self::Relr => "the packed relocations and what they change",
            Self::Relocations => "the relocations and what they change",
            Self::PltRelocations => "the relocations of the PLT and what they change",
            Self::ThreadLocalTemplate => "the template of thread-local storage",
            Self::Initialisers => "the initialisers' code",
        }
    }
}

/// Models the reads of a file during the loader's work, from a cold cache. `readahead_pages` is the kernel's
/// readahead, usually [`USUAL_READAHEAD_PAGES`].
pub fn loader_reads(object: &Object<'_>, readahead_pages: u64) -> LoaderReads {
    let file_pages = object.file.size().div_ceil(PAGE);
    let mut run = Run { disk: Disk::new(file_pages, readahead_pages), steps: Vec::new() };
    run.step(LoaderStep::Headers, |disk| {
        disk.read_start();
        tables::headers(object, disk);
    });
    run.step(LoaderStep::ZeroFill, |disk| {
        object
            .file
            .load_segments()
            .filter_map(|segment| shared_page(object, segment))
            .for_each(|page| disk.touch(page));
    });
    run.step(LoaderStep::DynamicTable, |disk| tables::dynamic_table(object, disk));
    run.step(LoaderStep::HashTable, |disk| tables::hash_table(object, disk));
    run.step(LoaderStep::Names, |disk| tables::names(object, disk));
    run.step(LoaderStep::Versions, |disk| tables::versions(object, disk));
    run.step(LoaderStep::Relr, |disk| relocations::relr(object, disk));
    run.step(LoaderStep::Relocations, |disk| relocations::tables(object, disk));
    run.step(LoaderStep::PltRelocations, |disk| relocations::plt(object, disk));
    run.step(LoaderStep::ThreadLocalTemplate, |disk| tables::thread_local_template(object, disk));
    run.step(LoaderStep::Initialisers, |disk| run_initialisers(object, disk));
    let counts = run.disk.counts();
    LoaderReads {
        readahead_pages,
        file_pages,
        requests: counts.requests,
        seeks: counts.seeks,
        read_pages: counts.read_pages,
        read_bytes: counts.read_pages.saturating_mul(PAGE),
        useful_pages: counts.touched_pages,
        steps: run.steps,
    }
}

struct Run {
    disk: Disk,
    steps: Vec<LoaderStepReads>,
}

impl Run {
    fn step(&mut self, step: LoaderStep, work: impl FnOnce(&mut Disk)) {
        let before = self.disk.begin_step();
        work(&mut self.disk);
        let Some(touched) = self.disk.touched_in_step() else { return };
        let Counts { requests, seeks, read_pages, touched_pages } = self.disk.counts();
        self.steps.push(LoaderStepReads {
            step,
            first_page: *touched.start(),
            last_page: *touched.end(),
            new_pages: touched_pages.saturating_sub(before.touched_pages),
            requests: requests.saturating_sub(before.requests),
            seeks: seeks.saturating_sub(before.seeks),
            read_pages: read_pages.saturating_sub(before.read_pages),
        });
    }
}

fn run_initialisers(object: &Object<'_>, disk: &mut Disk) {
    for function in initialisers(object).functions {
        let slot = function.slot_address.and_then(|slot| object.file.offset_of(Vaddr(slot)));
        if let Some(slot) = slot {
            disk.touch(page_of(slot.0));
        }
        if let Some(start) = function.file_offset {
            let last = start.saturating_add(function.bytes.unwrap_or(1).max(1)).saturating_sub(1);
            (page_of(start)..=page_of(last)).take(CODE_PAGES as usize).for_each(|page| disk.touch(page));
        }
    }
}
