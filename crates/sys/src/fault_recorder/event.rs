//! One perf event, for one process on one processor.
//!
//! The structure, with bit fields whose order depends on the architecture, comes from `perf-event-open-sys2`.

use std::ffi::CStr;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use perf_event_open_sys::bindings;
use perf_event_open_sys::{ioctls, perf_event_open};
use rustix::io::{Errno, Result};

use super::decode::SampleLayout;

/// What an event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// Nothing: it carries records of mappings and threads only.
    Nothing,
    /// Faults that were served from memory.
    MinorFaults,
    /// Faults that waited for the disk.
    MajorFaults,
    /// Hits of a tracepoint, by its number in tracefs.
    Tracepoint(u64),
}

/// An event to be opened.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) counts: Counts,
    /// The layout of a sample; `sample_type` follows from it.
    pub(super) layout: SampleLayout,
    /// Whether it also records mappings, new threads, executed programs and exits.
    pub(super) tells_of_mappings: bool,
    /// Whether it is limited to user mode.
    pub(super) user_only: bool,
    /// Whether it covers all processes of the machine, rather than one and its descendants.
    pub(super) of_all_processes: bool,
    /// A filter on the tracepoint's fields.
    pub(super) filter: Option<&'static CStr>,
}

/// An open event. Closing it ends it, also in processes that inherited it.
#[derive(Debug)]
pub(super) struct PerfEvent {
    descriptor: OwnedFd,
    id: u64,
    tells_lost: bool,
}

impl PerfEvent {
    /// Opens it, switched off. `buffer_bytes` is the size of the ring that it will have.
    pub(super) fn open(description: &Description, process: u32, processor: u32, buffer_bytes: usize) -> Result<Self> {
        let process = libc::pid_t::try_from(process).map_err(|_| Errno::SRCH)?;
        let process = if description.of_all_processes { -1 } else { process };
        let mut attributes = attributes(description, buffer_bytes);
        // Linux 6.0. On older kernels nothing else here gives EINVAL.
        let (descriptor, tells_lost) = match open(&mut attributes, process, processor) {
            Err(Errno::INVAL) => {
                attributes.read_format = 0;
                (open(&mut attributes, process, processor)?, false)
            }
            opened => (opened?, true),
        };
        if let Some(filter) = description.filter {
            // SAFETY: the descriptor is an event's, and the kernel only reads the NUL-terminated text.
            check(unsafe { ioctls::SET_FILTER(descriptor.as_raw_fd(), filter.as_ptr().cast_mut()) })?;
        }
        let mut id = 0;
        // SAFETY: the kernel writes the eight bytes of `id`.
        check(unsafe { ioctls::ID(descriptor.as_raw_fd(), &raw mut id) })?;
        Ok(Self { descriptor, id, tells_lost })
    }

    /// Its ID in its samples, and in those of inherited events.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Redirects its records to the ring of `other`, on the same processor.
    pub(super) fn write_to_the_ring_of(&self, other: &Self) -> Result<()> {
        // SAFETY: both are open events; no memory of ours is involved.
        check(unsafe { ioctls::SET_OUTPUT(self.descriptor.as_raw_fd(), other.descriptor.as_raw_fd()) })
    }

    /// Enables it, in all processes that inherited it.
    pub(super) fn enable(&self) -> Result<()> {
        // SAFETY: no memory of ours is involved.
        check(unsafe { ioctls::ENABLE(self.descriptor.as_raw_fd(), 0) })
    }

    /// Disables it, in all processes that inherited it.
    pub(super) fn disable(&self) -> Result<()> {
        // SAFETY: no memory of ours is involved.
        check(unsafe { ioctls::DISABLE(self.descriptor.as_raw_fd(), 0) })
    }

    /// The number of lost records, those of inherited events included; `None` where the kernel does not report it.
    pub(super) fn lost(&self) -> Option<u64> {
        let mut words = [0u8; 16];
        let read = self.tells_lost.then(|| rustix::io::read(&self.descriptor, &mut words).ok())??;
        // The count itself comes first.
        let lost = words.get(8..16).filter(|_| read == 16)?;
        Some(u64::from_ne_bytes(lost.try_into().ok()?))
    }
}

impl AsFd for PerfEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn check(result: libc::c_int) -> Result<()> {
    if result < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn open(attributes: &mut bindings::perf_event_attr, process: libc::pid_t, processor: u32) -> Result<OwnedFd> {
    let processor = libc::c_int::try_from(processor).map_err(|_| Errno::NODEV)?;
    // SAFETY: the structure is whole and its size stands in it; the kernel may write the size that it expects.
    let descriptor =
        unsafe { perf_event_open(attributes, process, processor, -1, bindings::PERF_FLAG_FD_CLOEXEC as libc::c_ulong) };
    if descriptor < 0 {
        return Err(last_error());
    }
    // SAFETY: the call has made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn attributes(description: &Description, buffer_bytes: usize) -> bindings::perf_event_attr {
    let (kind, config) = match description.counts {
        Counts::Nothing => (bindings::PERF_TYPE_SOFTWARE, u64::from(bindings::PERF_COUNT_SW_DUMMY)),
        Counts::MinorFaults => (bindings::PERF_TYPE_SOFTWARE, u64::from(bindings::PERF_COUNT_SW_PAGE_FAULTS_MIN)),
        Counts::MajorFaults => (bindings::PERF_TYPE_SOFTWARE, u64::from(bindings::PERF_COUNT_SW_PAGE_FAULTS_MAJ)),
        Counts::Tracepoint(number) => (bindings::PERF_TYPE_TRACEPOINT, number),
    };
    let mut attributes = bindings::perf_event_attr::default();
    attributes.type_ = kind;
    attributes.size = mem::size_of::<bindings::perf_event_attr>() as u32;
    attributes.config = config;
    attributes.sample_type = sample_type(description.layout);
    attributes.read_format = u64::from(bindings::PERF_FORMAT_LOST);
    attributes.clockid = libc::CLOCK_MONOTONIC;
    attributes.sample_period = 1;
    attributes.set_disabled(1);
    attributes.set_inherit((!description.of_all_processes).into());
    attributes.set_exclude_kernel(description.user_only.into());
    attributes.set_exclude_hv(1);
    attributes.set_sample_id_all(1);
    attributes.set_use_clockid(1);
    attributes.set_watermark(1);
    attributes.wakeup_watermark = u32::try_from(buffer_bytes / 4).unwrap_or(u32::MAX);
    if description.tells_of_mappings {
        attributes.set_mmap(1);
        attributes.set_mmap2(1);
        attributes.set_mmap_data(1);
        attributes.set_comm(1);
        attributes.set_comm_exec(1);
        attributes.set_task(1);
    }
    attributes
}

fn sample_type(layout: SampleLayout) -> u64 {
    let common = bindings::PERF_SAMPLE_IDENTIFIER | bindings::PERF_SAMPLE_TID | bindings::PERF_SAMPLE_TIME;
    let further = match layout {
        SampleLayout::Nothing => 0,
        SampleLayout::Served { .. } => bindings::PERF_SAMPLE_IP | bindings::PERF_SAMPLE_ADDR,
        SampleLayout::Begun { .. } => bindings::PERF_SAMPLE_RAW,
    };
    u64::from(common | further)
}
