//! Page faults and mappings of a process tree, as the kernel records them (`perf_event_open(2)`).

mod record;

pub use record::{Fault, Mapped, Record, RecordKind};
