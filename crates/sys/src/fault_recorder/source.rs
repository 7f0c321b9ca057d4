//! The sources of faults, and what each can record.

use super::FaultRecorderOptions;
use super::decode::SampleLayout;
use super::event::{Counts, Description};
use super::tracepoint::{self, Tracepoint};

/// The source of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultSource {
    /// The tracepoints `exceptions:page_fault_user` and `page_fault_kernel`, and the software event for major faults. Requires
    /// `CAP_PERFMON` or `kernel.perf_event_paranoid` of -1, and an x86 processor. During the recording, faults of all processes of the
    /// machine are a little slower; those outside the tree are filtered out.
    Tracepoints,
    /// The software events for minor and major faults.
    SoftwareEvents,
}

/// What a recording covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultAbilities {
    /// The source of faults; `None` if they are not recorded.
    pub source: Option<FaultSource>,
    /// Whether it includes faults of the kernel on the program's behalf, such as a `read` into a fresh buffer.
    pub kernel_faults: bool,
    /// Whether it distinguishes reads, writes and instruction fetches.
    pub access_kinds: bool,
}

/// Kernel addresses have the highest bit set; faults there are not of the program's pages.
const OF_THE_PROGRAM: &std::ffi::CStr = c"address < 0x8000000000000000";

/// The events of each processor: the first one owns the ring.
#[derive(Debug)]
pub(super) struct EventSet {
    first: Description,
    others: Vec<Description>,
    abilities: FaultAbilities,
}

impl EventSet {
    pub(super) fn first(&self) -> &Description {
        &self.first
    }

    pub(super) fn others(&self) -> &[Description] {
        &self.others
    }

    pub(super) fn len(&self) -> usize {
        self.others.len() + 1
    }

    pub(super) fn abilities(&self) -> FaultAbilities {
        self.abilities
    }

    pub(super) fn is_tracepoints(&self) -> bool {
        self.abilities.source == Some(FaultSource::Tracepoints)
    }

    fn mappings_only() -> Self {
        Self {
            first: Description {
                counts: Counts::Nothing,
                layout: SampleLayout::Nothing,
                tells_of_mappings: true,
                user_only: true,
                of_all_processes: false,
                filter: None,
            },
            others: Vec::new(),
            abilities: FaultAbilities { source: None, kernel_faults: false, access_kinds: false },
        }
    }

    fn tracepoints(user: Tracepoint, kernel: Tracepoint) -> Self {
        let begun = |tracepoint: Tracepoint, by_kernel| Description {
            counts: Counts::Tracepoint(tracepoint.number),
            layout: SampleLayout::Begun { fields: tracepoint.fields, by_kernel },
            tells_of_mappings: false,
            user_only: false,
            // A new thread copies all events that it inherits, and for each copy of a tracepoint's event the kernel searches its
            // list of tracepoints (`perf_trace_init`): 15 µs for each processor. Others' faults are filtered out at the end.
            of_all_processes: true,
            filter: by_kernel.then_some(OF_THE_PROGRAM),
        };
        Self {
            // Fewer events mean fewer copies for each new thread, so the rare one carries the mappings.
            first: served(true, false, true),
            others: vec![begun(user, false), begun(kernel, true)],
            abilities: FaultAbilities {
                source: Some(FaultSource::Tracepoints),
                kernel_faults: true,
                access_kinds: true,
            },
        }
    }

    fn software(user_only: bool) -> Self {
        Self {
            first: served(true, user_only, true),
            others: vec![served(false, user_only, false)],
            abilities: FaultAbilities {
                source: Some(FaultSource::SoftwareEvents),
                kernel_faults: !user_only,
                access_kinds: false,
            },
        }
    }
}

fn served(major: bool, user_only: bool, tells_of_mappings: bool) -> Description {
    Description {
        counts: if major { Counts::MajorFaults } else { Counts::MinorFaults },
        layout: SampleLayout::Served { major },
        tells_of_mappings,
        user_only,
        of_all_processes: false,
        filter: None,
    }
}

/// The possible sets of events, the best first.
pub(super) fn candidates(options: &FaultRecorderOptions) -> Vec<EventSet> {
    if !options.faults {
        return vec![EventSet::mappings_only()];
    }
    let mut sets = Vec::new();
    if options.source != Some(FaultSource::SoftwareEvents) {
        sets.extend(tracepoint::find().map(|(user, kernel)| EventSet::tracepoints(user, kernel)));
    }
    if options.source != Some(FaultSource::Tracepoints) {
        sets.extend([EventSet::software(false), EventSet::software(true)]);
    }
    sets
}
