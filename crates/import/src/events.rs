//! The recorded events: which of them are page faults, and whether their data is sufficient.

use byteorder::{BigEndian, LittleEndian};
use linux_perf_data::Endianness;
use linux_perf_data::linux_perf_event_reader::{
    AttrFlags, PerfEventAttr, PerfEventType, RecordParseInfo, SampleFormat, SamplingPolicy, SoftwareCounterType,
};

use super::bytes::Order;
use super::container::RawEvent;
use super::error::Damage;

/// What an event tells of page faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// All faults; not which of them waited for the disk.
    PageFaults,
    /// Those that did not wait for the disk.
    Minor,
    /// Those that did.
    Major,
    /// The tracepoint of programs' faults.
    OfPrograms,
    /// The tracepoint of the kernel's own.
    OfKernel,
    /// Nothing.
    Other,
}

impl Source {
    pub(super) fn is_tracepoint(self) -> bool {
        matches!(self, Self::OfPrograms | Self::OfKernel)
    }
}

/// One in how many faults was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    Each,
    OneIn(u64),
    /// So many in a second, at most.
    PerSecond(u64),
}

/// An event.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) sampling: Sampling,
    /// What its samples hold.
    pub(super) format: SampleFormat,
    /// Whether mappings of data were recorded.
    pub(super) maps_data: bool,
    /// Whether other records than samples have a time.
    pub(super) stamps_all: bool,
    pub(super) layout: RecordParseInfo,
    /// The numbers under which records name it.
    pub(super) numbers: Vec<u64>,
}

/// The fields in front of a sample, all of the same size, that the library reads for us.
pub(super) const PREFIX: SampleFormat = SampleFormat::IDENTIFIER
    .union(SampleFormat::IP)
    .union(SampleFormat::TID)
    .union(SampleFormat::TIME)
    .union(SampleFormat::ADDR)
    .union(SampleFormat::ID)
    .union(SampleFormat::STREAM_ID)
    .union(SampleFormat::CPU)
    .union(SampleFormat::PERIOD);

impl Event {
    /// Reads one; its name is told elsewhere, or is not.
    pub(super) fn read(raw: &RawEvent<'_>, order: Order, name: Option<&str>) -> Result<Self, Damage> {
        let read = match order {
            Order::Little => PerfEventAttr::parse::<_, LittleEndian>(raw.attribute),
            Order::Big => PerfEventAttr::parse::<_, BigEndian>(raw.attribute),
        };
        let wrong = Damage { offset: raw.at, what: "an event attribute is malformed" };
        let (attributes, _) = read.map_err(|_| wrong)?;
        let endian = match order {
            Order::Little => Endianness::LittleEndian,
            Order::Big => Endianness::BigEndian,
        };
        let source = source(attributes.type_, name);
        Ok(Self {
            name: name.map_or_else(|| made_up_name(source, attributes.type_), str::to_owned),
            source,
            sampling: match attributes.sampling_policy {
                SamplingPolicy::NoSampling => Sampling::Each,
                SamplingPolicy::Period(period) if period.get() == 1 => Sampling::Each,
                SamplingPolicy::Period(period) => Sampling::OneIn(period.get()),
                SamplingPolicy::Frequency(frequency) => Sampling::PerSecond(frequency),
            },
            format: attributes.sample_format,
            maps_data: attributes.flags.contains(AttrFlags::MMAP_DATA),
            stamps_all: attributes.flags.contains(AttrFlags::SAMPLE_ID_ALL),
            layout: RecordParseInfo::new(&attributes, endian),
            numbers: raw.numbers.clone(),
        })
    }

    /// What is missing in it that a trace cannot do without, and the option of perf that matters.
    pub(super) fn unfit(&self) -> Option<(String, &'static str)> {
        let name = &self.name;
        if self.source == Source::Other {
            return None;
        }
        let has = |field| self.format.contains(field);
        if self.source.is_tracepoint() {
            if !has(SampleFormat::RAW) {
                let what = format!("the fields of the tracepoint `{name}` were not recorded, so no address is known");
                return Some((what, "add `-R`"));
            }
            if has(SampleFormat::READ) {
                return Some((format!("the event `{name}` was recorded with counters"), "omit `-S`"));
            }
        } else if !has(SampleFormat::ADDR) {
            return Some((format!("the addresses of `{name}` were not recorded"), "add `-d`"));
        }
        if !has(SampleFormat::TID) {
            return Some((format!("the process of a `{name}` was not recorded"), "omit other options"));
        }
        if !has(SampleFormat::TIME) || !self.stamps_all {
            return Some(("its records have no times".to_owned(), "add `-T`"));
        }
        None
    }
}

fn source(kind: PerfEventType, name: Option<&str>) -> Source {
    match kind {
        PerfEventType::Software(SoftwareCounterType::PageFaults) => Source::PageFaults,
        PerfEventType::Software(SoftwareCounterType::PageFaultsMin) => Source::Minor,
        PerfEventType::Software(SoftwareCounterType::PageFaultsMaj) => Source::Major,
        // Tracepoints have another number in each kernel; the name may carry modifiers (`:u`).
        PerfEventType::Tracepoint(_) => match name.unwrap_or_default() {
            name if name.starts_with("exceptions:page_fault_user") => Source::OfPrograms,
            name if name.starts_with("exceptions:page_fault_kernel") => Source::OfKernel,
            _ => Source::Other,
        },
        _ => Source::Other,
    }
}

fn made_up_name(source: Source, kind: PerfEventType) -> String {
    match (source, kind) {
        (Source::PageFaults, _) => "page-faults".to_owned(),
        (Source::Minor, _) => "minor-faults".to_owned(),
        (Source::Major, _) => "major-faults".to_owned(),
        (_, PerfEventType::Tracepoint(number)) => format!("tracepoint {number}"),
        _ => "an event without a name".to_owned(),
    }
}

/// What has to be said of the choice of events, a sentence each.
pub(super) fn notes(events: &[Event]) -> Vec<String> {
    let mut notes = Vec::new();
    let sources: Vec<Source> = events.iter().map(|event| event.source).collect();
    let has = |source| sources.contains(&source);
    for event in events.iter().filter(|event| event.source != Source::Other) {
        match event.sampling {
            Sampling::Each => {}
            Sampling::OneIn(count) => {
                notes.push(format!("Only one in {count} faults was recorded (`{}`): all counts are too low.", event.name));
            }
            Sampling::PerSecond(count) => notes.push(format!(
                "Only one in N faults was recorded, at most {count} in a second (`{}`): all counts are too low; `-c 1` records each.",
                event.name
            )),
        }
    }
    let only = match (has(Source::PageFaults), has(Source::OfPrograms), has(Source::OfKernel)) {
        (true, _, _) | (_, true, true) => None,
        (_, true, false) => Some("Faults of the kernel on the program's behalf were not recorded."),
        (_, false, true) => Some("Only faults of the kernel on the program's behalf were recorded."),
        _ if has(Source::Minor) && has(Source::Major) => None,
        _ if has(Source::Minor) => Some("Faults that waited for the disk were not recorded."),
        _ => Some("Only faults that waited for the disk were recorded."),
    };
    notes.extend(only.map(str::to_owned));
    if !has(Source::Major) {
        notes.push("It was not recorded which faults waited for the disk.".to_owned());
    }
    if !events.iter().any(|event| event.maps_data) {
        notes.push("Mappings of data were not recorded (perf's option `-d`): only pages of code are known.".to_owned());
    }
    notes
}

/// The names of events, for a message.
pub(super) fn names(events: &[Event]) -> String {
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.join("`, `")
}
