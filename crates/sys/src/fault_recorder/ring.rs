//! A ring of memory that the kernel writes records into, on one processor.

use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::io::Result;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::event::PerfEvent;

/// A mapped ring: a page with the read and write positions, followed by the records.
#[derive(Debug)]
pub(super) struct Ring {
    head: NonNull<perf_event_mmap_page>,
    /// Start of the data: one page after `head`.
    data_offset: usize,
    /// A power of two.
    size: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and only the owner of the `Ring` reads or advances it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring of `event`. `size` is a power of two and whole pages.
    pub(super) fn map(event: &PerfEvent, size: usize) -> Result<Self> {
        let data_offset = rustix::param::page_size();
        let length = size.checked_add(data_offset).ok_or(rustix::io::Errno::NOMEM)?;
        // SAFETY: a new mapping at a place of the kernel's choice; no existing mapping changes.
        let start =
            unsafe { mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, event, 0) }?;
        let head = NonNull::new(start.cast()).ok_or(rustix::io::Errno::NOMEM)?;
        Ok(Self { head, data_offset, size })
    }

    /// Moves all complete records to the end of `into`, unless there is no memory left for them or more than `most` bytes:
    /// then they stay, and the kernel counts new ones as lost.
    pub(super) fn drain(&mut self, into: &mut Vec<u8>, most: usize) {
        // SAFETY: `head` is a mapped `perf_event_mmap_page`; the kernel and we access these aligned words only atomically.
        let (written, read) = unsafe {
            let page = self.head.as_ptr();
            (AtomicU64::from_ptr(&raw mut (*page).data_head), AtomicU64::from_ptr(&raw mut (*page).data_tail))
        };
        // Pairs with the kernel's barrier: what is before `head` has been written (`perf_output_put_handle`).
        let head = written.load(Ordering::Acquire);
        let tail = read.load(Ordering::Relaxed);
        let Some(length) = usize::try_from(head.wrapping_sub(tail)).ok().filter(|&length| length <= self.size) else {
            return;
        };
        if length > most || into.try_reserve(length).is_err() {
            return;
        }
        let from = (tail as usize) & (self.size - 1);
        let before_the_end = length.min(self.size - from);
        // SAFETY: both ranges lie within the mapping's data, and the kernel writes nothing between tail and head until the tail
        // is advanced below.
        unsafe {
            let data = self.head.as_ptr().cast::<u8>().cast_const().add(self.data_offset);
            into.extend_from_slice(slice::from_raw_parts(data.add(from), before_the_end));
            into.extend_from_slice(slice::from_raw_parts(data, length - before_the_end));
        }
        // Our reads come before the kernel may write there again.
        read.store(head, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`; no slice of it outlives `drain`.
        let _ = unsafe { munmap(self.head.as_ptr().cast(), self.size + self.data_offset) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode::{Decoded, RingLayout, SampleLayout, decode, record_at};
    use super::super::event::{Counts, Description};
    use super::*;
    use rustix::mm::{Advice, madvise, mmap_anonymous};
    use rustix::thread::{CpuSet, gettid, sched_getcpu, sched_setaffinity};

    /// Touches as many fresh pages.
    fn touch(pages: usize) {
        let length = pages * rustix::param::page_size();
        // SAFETY: a new mapping, written to within its bounds and unmapped by nobody else.
        unsafe {
            let start =
                mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE).unwrap();
            madvise(start, length, Advice::LinuxNoHugepage).unwrap();
            for page in 0..pages {
                start.cast::<u8>().add(page * rustix::param::page_size()).write_volatile(1);
            }
            munmap(start, length).unwrap();
        }
    }

    #[test]
    fn what_finds_no_place_is_counted_and_records_may_lie_across_the_end() {
        let layout = SampleLayout::Served { major: false };
        let (counts, tells_of_mappings) = (Counts::MinorFaults, false);
        let (user_only, of_all_processes, filter) = (true, false, None);
        let description = Description { counts, layout, tells_of_mappings, user_only, of_all_processes, filter };
        let processor = sched_getcpu();
        let mut only = CpuSet::new();
        only.set(processor);
        sched_setaffinity(None, &only).unwrap();
        let size = 8 * rustix::param::page_size();
        let thread = gettid().as_raw_nonzero().get().cast_unsigned();
        let event = match PerfEvent::open(&description, thread, u32::try_from(processor).unwrap(), size) {
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
                coldstart_testing::skip("perf_event_open is not permitted");
                return;
            }
            event => event.unwrap(),
        };
        let mut ring = Ring::map(&event, size).unwrap();
        let mut bytes = Vec::new();
        event.enable().unwrap();
        // A record has 48 bytes, which do not divide the ring: every second or third time one lies across its end.
        for _ in 0..20 {
            touch(400);
            ring.drain(&mut bytes, usize::MAX);
        }
        event.disable().unwrap();
        assert_eq!(event.lost().unwrap_or(0), 0);
        let mut layouts = RingLayout::default();
        layouts.add(event.id(), layout);
        let count = |bytes: &[u8]| {
            let (mut next, mut records) = (0, 0);
            while let Some((raw, behind)) = record_at(bytes, next) {
                next = behind;
                records += u64::from(matches!(decode(raw, &layouts), Decoded::Record(_)));
            }
            assert_eq!(next, bytes.len(), "whole records only");
            records
        };
        assert!(count(&bytes) >= 20 * 400);

        event.enable().unwrap();
        touch(5000);
        event.disable().unwrap();
        let mut last = Vec::new();
        ring.drain(&mut last, 16);
        assert!(last.is_empty(), "more than we want stays where it is");
        ring.drain(&mut last, usize::MAX);
        assert!(count(&last) < 1000);
        // Before Linux 6.0 the event does not tell.
        assert!(event.lost().is_none_or(|lost| count(&last) + lost >= 5000));
    }
}
