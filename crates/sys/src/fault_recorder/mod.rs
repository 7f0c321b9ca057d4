//! Page faults and mappings of a process tree, as the kernel records them (`perf_event_open(2)`).
//!
//! A process stopped before its `execve` gets events that all its descendants inherit (tracepoints, though, cover the whole
//! machine, see `source`). Each processor has one ring of
//! memory that the kernel writes records into; a thread of ours sleeps until a ring is a quarter full and copies its bytes out.
//! Bytes are decoded to [`PerfRecord`]s only at the end, and one at a time, because a large program has a million of them.
//!
//! Not obvious: the two sources report different ends of a fault. The tracepoint
//! (`exceptions:page_fault_user`) reports when it *begins*, and distinguishes writes and fetches; the software event
//! (`PERF_COUNT_SW_PAGE_FAULTS_MIN`) reports when it is *served*. Neither sees faults that the kernel serves without an exception:
//! `MAP_POPULATE`, `mlock`, direct I/O, a debugger's access (`mm/memory.c`, `mm_account_fault`: "regs will be NULL").
//!
//! Not recorded at all: `munmap`, `mremap` (a moved range has no record), and programs with more privileges than their caller,
//! because the kernel drops the events when it executes one (`fs/exec.c`, `begin_new_exec`).
//!
//! Sources: `perf_event_open(2)`, `include/uapi/linux/perf_event.h`, `kernel/events/{core,ring_buffer}.c`.

mod buffer_size;
mod collector;
mod decode;
mod error;
mod event;
mod order;
mod processors;
mod record;
mod recorded;
mod ring;
mod source;
mod tracepoint;

pub use error::FaultRecorderError;
pub use record::{Fault, Mapped, PerfRecord, PerfRecordKind};
pub use recorded::{Recorded, Records};
pub use source::{FaultAbilities, FaultSource};

use std::io;
use std::sync::Arc;

use self::collector::Collector;
use self::decode::RingLayout;
use self::event::PerfEvent;
use self::ring::Ring;
use self::source::EventSet;

/// What to record, and the memory for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultRecorderOptions {
    /// Memory for each processor's ring, in bytes; `None` for the best permitted size. Rounded down to a power of
    /// two, at least eight pages, and halved until the kernel grants it: see `kernel.perf_event_mlock_kb`.
    pub buffer_bytes_per_cpu: Option<usize>,
    /// Whether to record faults; if not, only mappings, new threads, executed programs and exits.
    pub faults: bool,
    /// The source of faults; `None` for the best permitted one. Ignored without `faults`.
    pub source: Option<FaultSource>,
}

impl Default for FaultRecorderOptions {
    /// Faults, from the best source, with the best permitted amount of memory.
    fn default() -> Self {
        Self { buffer_bytes_per_cpu: None, faults: true, source: None }
    }
}

/// A running recording. Dropping it stops it and discards the records.
#[derive(Debug)]
pub struct FaultRecorder {
    collector: Collector,
    processors: Vec<(Processor, Arc<[PerfEvent]>)>,
    process: u32,
    abilities: FaultAbilities,
    buffer_bytes: usize,
}

/// A processor with its events: the first one owns the ring, and records mappings and threads as well.
#[derive(Debug)]
struct Processor {
    number: u32,
    layout: RingLayout,
}

impl FaultRecorder {
    /// Records `process`, which is stopped before its `execve` and has one thread, and all its descendants.
    ///
    /// The PID is that of our own PID namespace, and so are those in the records.
    ///
    /// # Errors
    /// See [`FaultRecorderError`]. With a `source` of `None`, a better one that is not permitted is no error.
    pub fn start(process: u32, options: &FaultRecorderOptions) -> Result<Self, FaultRecorderError> {
        let online = processors::online();
        let mut refused = None;
        for set in source::candidates(options) {
            match Self::start_with(process, &online, &set, options) {
                Err(error) if error.is_refusal() => refused = refused.or(Some(error)),
                // The tracepoints' numbers were read, but this kernel rejects them.
                Err(error) if options.source.is_none() && set.is_tracepoints() => refused = Some(error),
                other => return other,
            }
        }
        Err(refused.unwrap_or(FaultRecorderError::NoTracepoints))
    }

    fn start_with(
        process: u32,
        online: &[u32],
        set: &EventSet,
        options: &FaultRecorderOptions,
    ) -> Result<Self, FaultRecorderError> {
        let (first, buffer_bytes) = first_events(process, online, set, options)?;
        let (mut processors, mut rings) = (Vec::new(), Vec::new());
        for (number, event, ring) in first {
            let mut layout = RingLayout::default();
            layout.add(event.id(), set.first().layout);
            let mut events = vec![event];
            for description in set.others() {
                let event = PerfEvent::open(description, process, number, buffer_bytes)
                    .map_err(|errno| FaultRecorderError::opening(process, online.len() * set.len(), errno))?;
                if let Some(first) = events.first() {
                    event.write_to_the_ring_of(first).map_err(FaultRecorderError::failed("join the events' rings"))?;
                }
                layout.add(event.id(), description.layout);
                events.push(event);
            }
            let events: Arc<[PerfEvent]> = events.into();
            rings.push((ring, Arc::clone(&events)));
            processors.push((Processor { number, layout }, events));
        }
        let collector =
            Collector::start(rings).map_err(FaultRecorderError::failed("start the thread that empties the rings"))?;
        let recorder = Self { collector, processors, process, abilities: set.abilities(), buffer_bytes };
        for event in recorder.events() {
            event.enable().map_err(FaultRecorderError::failed("switch the events on"))?;
        }
        Ok(recorder)
    }

    /// What it can record.
    pub fn abilities(&self) -> FaultAbilities {
        self.abilities
    }

    /// The ring size per processor that the kernel granted, in bytes.
    pub fn buffer_bytes_per_cpu(&self) -> usize {
        self.buffer_bytes
    }

    /// Stops, and returns the records. The processes themselves continue.
    ///
    /// # Errors
    /// [`FaultRecorderError::Failed`] if the thread that empties the rings has failed.
    pub fn finish(self) -> Result<Recorded, FaultRecorderError> {
        for event in self.events() {
            event.disable().map_err(FaultRecorderError::failed("switch the events off"))?;
        }
        // A lost record is reported by the next successful one; of the last ones only the event knows.
        let lost = self.events().map(PerfEvent::lost).sum::<Option<u64>>();
        let recorded_on: Vec<u32> = self.processors.iter().map(|(processor, _)| processor.number).collect();
        let late = processors::online().into_iter().filter(|number| !recorded_on.contains(number)).collect();
        let bytes = self.collector.finish().map_err(|source| FaultRecorderError::Failed {
            what: "take over the records of the thread that empties the rings",
            source,
        })?;
        let layouts = self.processors.into_iter().map(|(processor, _)| processor.layout);
        Ok(Recorded::new(bytes.into_iter().zip(layouts).collect(), self.process, self.abilities, lost, late))
    }

    fn events(&self) -> impl Iterator<Item = &PerfEvent> {
        self.processors.iter().flat_map(|(_, events)| events.iter())
    }
}

/// A processor's number, its first event and that event's ring.
type First = (u32, PerfEvent, Ring);

/// Opens each processor's first event and maps its ring, in the largest size that the kernel grants.
fn first_events(
    process: u32,
    online: &[u32],
    set: &EventSet,
    options: &FaultRecorderOptions,
) -> Result<(Vec<First>, usize), FaultRecorderError> {
    let mut refused = None;
    for bytes in buffer_size::sizes(options.buffer_bytes_per_cpu, online.len()) {
        match first_events_of_size(process, online, set, bytes) {
            Ok(first) => return Ok((first, bytes)),
            Err(error @ FaultRecorderError::NoMemory { .. }) => refused = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refused.unwrap_or_else(|| FaultRecorderError::no_memory(0, io::ErrorKind::OutOfMemory.into())))
}

/// The ring's watermark is a property of the event, so another size requires new events.
fn first_events_of_size(
    process: u32,
    online: &[u32],
    set: &EventSet,
    bytes: usize,
) -> Result<Vec<First>, FaultRecorderError> {
    let mut first = Vec::new();
    for &number in online {
        let event = match PerfEvent::open(set.first(), process, number, bytes) {
            // It has gone offline since.
            Err(rustix::io::Errno::NODEV) => continue,
            opened => opened.map_err(|errno| FaultRecorderError::opening(process, online.len() * set.len(), errno))?,
        };
        let ring = Ring::map(&event, bytes).map_err(|errno| FaultRecorderError::no_memory(bytes, errno.into()))?;
        first.push((number, event, ring));
    }
    Ok(first)
}
