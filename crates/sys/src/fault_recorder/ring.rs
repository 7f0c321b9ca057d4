//! A ring of memory that the kernel writes records into, on one processor.

use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::io::Result;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::event::PerfEvent;

/// A mapped ring: a page that says how far it is written and read, and the records behind it.
#[derive(Debug)]
pub(super) struct Ring {
    head: NonNull<perf_event_mmap_page>,
    /// Where the data begin: one page behind `head`.
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

    /// Moves all records that are whole to the end of `into`, unless there is no memory left for them or more than `most` bytes:
    /// then they stay, and the kernel counts those that it has no place for.
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
