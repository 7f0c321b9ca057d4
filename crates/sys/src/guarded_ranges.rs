//! Address ranges where an unreadable page becomes a page of zeros instead of raising `SIGBUS`.
//!
//! The kernel raises `SIGBUS` where a mapped file ends before its mapping does (`filemap_fault` in `mm/filemap.c`), and
//! a check beforehand is useless: another process may truncate the file between the check and the read. So one handler
//! for the whole process looks the address up among the guarded ranges and maps an empty page there; the read is then
//! retried. Every other `SIGBUS` goes to the previous handler, which in a Rust program is the standard
//! library's report of stack overflows.
//!
//! Not obvious: the handler may run at any instruction of any thread, so it takes no lock and allocates
//! nothing, and the table it reads is a chain of slots that are never freed, only reused.
//!
//! Limits: a thread that blocks `SIGBUS` is still killed (`force_sig_info_to_task` in `kernel/signal.c`), a system call
//! that reads a guarded range gets `EFAULT` and no signal, and a handler installed later must forward to this
//! one.
//!
//! Sources: `sigaction(2)`, `signal-safety(7)`, `mmap(2)`.

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, compiler_fence, fence};

use libc::{c_int, c_void, sigaction, siginfo_t};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

/// A guarded range, until this is dropped. Drop it before the memory is unmapped: a later mapping at the same address is
/// not ours to change.
#[derive(Debug)]
pub(crate) struct GuardedRange {
    slot: &'static Slot,
}

/// An entry of the table. `start` and `length` are valid together only between two equal odd readings of `generation`.
#[derive(Debug)]
struct Slot {
    /// Owned by a [`GuardedRange`]. Only the owner writes the fields below, except for the handler's `filled`.
    taken: AtomicBool,
    /// Odd while a range is published. It only grows, so an equal number means no change in between.
    generation: AtomicUsize,
    start: AtomicUsize,
    length: AtomicUsize,
    /// Whether the handler has put zeros anywhere in the range.
    filled: AtomicBool,
    /// Written before the slot joins the chain, and never after.
    next: Option<&'static Slot>,
}

/// The chain's newest slot: null, or from `Box::leak`.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(ptr::null_mut());
/// Size of a base page in bytes, written before the handler is installed.
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);
/// The previous `SIGBUS` action. Reading it in the handler is one atomic load.
static PREVIOUS: OnceLock<sigaction> = OnceLock::new();

impl GuardedRange {
    /// Allocates a range, and installs the handler the first time. Nothing is guarded before [`Self::publish`].
    ///
    /// # Errors
    /// The kernel's error of `sigaction`.
    pub(crate) fn claim() -> io::Result<Self> {
        install_handler()?;
        // Acquire: what the former owner did to the slot is over before we begin.
        let free =
            slots().find(|slot| slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok());
        Ok(Self { slot: free.unwrap_or_else(Slot::leak_taken) })
    }

    /// From now on an unreadable page of the `length` bytes from `start` becomes zeros. The range must be whole
    /// pages, mapped readable, and ours to replace.
    pub(crate) fn publish(&mut self, start: usize, length: usize) {
        self.withdraw();
        let slot = self.slot;
        // Whoever sees one of the new values also sees the withdrawal, so old and new are never taken for one range.
        fence(Ordering::Release);
        slot.filled.store(false, Ordering::Relaxed);
        slot.start.store(start, Ordering::Relaxed);
        slot.length.store(length, Ordering::Relaxed);
        slot.generation.fetch_add(1, Ordering::Release);
    }

    fn withdraw(&mut self) {
        if is_published(self.slot.generation.load(Ordering::Relaxed)) {
            self.slot.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// Whether a page of the range was replaced by zeros since [`Self::publish`].
    pub(crate) fn filled(&self) -> bool {
        // The handler runs inside a read: keep reads that stand before this question from being moved behind it.
        compiler_fence(Ordering::SeqCst);
        self.slot.filled.load(Ordering::Acquire)
    }
}

impl Drop for GuardedRange {
    fn drop(&mut self) {
        self.withdraw();
        self.slot.taken.store(false, Ordering::Release);
    }
}

impl Slot {
    /// A new slot with its owner set, at the head of the chain.
    fn leak_taken() -> &'static Self {
        let slot: *mut Self = Box::leak(Box::new(Self {
            taken: AtomicBool::new(true),
            generation: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            filled: AtomicBool::new(false),
            next: None,
        }));
        let mut head = SLOTS.load(Ordering::Acquire);
        loop {
            // SAFETY: nobody else knows `slot` yet; `head` is null or a slot that lives for ever.
            unsafe { (*slot).next = head.as_ref() };
            match SLOTS.compare_exchange_weak(head, slot, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: leaked above, and from here on only shared.
                Ok(_) => return unsafe { &*slot },
                Err(newer) => head = newer,
            }
        }
    }

    /// Start and length of the published range, if `address` is in it. A slot that changes meanwhile has no range: it
    /// is not that of the interrupted reader, because a reader borrows its owner.
    fn range_around(&self, address: usize) -> Option<(usize, usize)> {
        let generation = self.generation.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let length = self.length.load(Ordering::Relaxed);
        // Pairs with the fence in `publish`.
        fence(Ordering::Acquire);
        let unchanged = self.generation.load(Ordering::Relaxed) == generation;
        let inside = address.checked_sub(start).is_some_and(|offset| offset < length);
        (is_published(generation) && unchanged && inside).then_some((start, length))
    }

    /// Maps zeros at `address`, if it is in this slot's range. Returns whether the read can be retried.
    fn fill_around(&self, address: usize) -> bool {
        let Some((start, length)) = self.range_around(address) else { return false };
        self.filled.store(true, Ordering::Release);
        let page_size = PAGE_SIZE.load(Ordering::Relaxed);
        // A process has a limited number of mappings (`vm.max_map_count`) and one page in the middle costs two more.
        // The whole range costs none, so at the limit the reader gets zeros everywhere rather than being killed.
        map_zeros(address - address % page_size.max(1), page_size) || map_zeros(start, length)
    }
}

/// Every slot ever made. Safe in the handler: slots live for ever and `next` never changes.
fn slots() -> impl Iterator<Item = &'static Slot> {
    // SAFETY: null, or leaked by `leak_taken`, whose writes the Acquire makes visible.
    std::iter::successors(unsafe { SLOTS.load(Ordering::Acquire).as_ref() }, |slot| slot.next)
}

fn is_published(generation: usize) -> bool {
    generation % 2 == 1
}

fn map_zeros(start: usize, length: usize) -> bool {
    let (protection, flags) = (ProtFlags::READ, MapFlags::PRIVATE | MapFlags::FIXED);
    // SAFETY: only called for pages of a published range. Its owner gave it to us to replace, and cannot withdraw it
    // and unmap while the thread we interrupted reads from it. The kernel swaps the pages in one step, so other readers
    // see either the file or zeros. rustix makes the system call itself, without libc's errno.
    unsafe { mmap_anonymous(ptr::without_provenance_mut(start), length, protection, flags) }.is_ok()
}

fn install_handler() -> io::Result<()> {
    static OUTCOME: OnceLock<Result<(), i32>> = OnceLock::new();
    let outcome =
        OUTCOME.get_or_init(|| try_install_handler().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)));
    outcome.map_err(io::Error::from_raw_os_error)
}

fn try_install_handler() -> io::Result<()> {
    PAGE_SIZE.store(rustix::param::page_size(), Ordering::Relaxed);
    // The former handler is asked for first: ours may be needed by another thread as soon as it is installed.
    // SAFETY: all-zero is a valid `struct sigaction`, which the call only writes to.
    let mut action: sigaction = unsafe { mem::zeroed() };
    // SAFETY: a valid place to write to; nothing is changed.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut action) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = PREVIOUS.set(action);
    // The former mask stays, because the former handler may run inside ours.
    action.sa_sigaction = on_sigbus as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `on_sigbus` has the form that SA_SIGINFO asks for and does only what a handler may do.
    if unsafe { libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn on_sigbus(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a valid `siginfo_t`. Where the code says otherwise `si_addr` is
    // another field of the union, plain bytes too, and not used.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr()) };
    if code == libc::BUS_ADRERR && slots().any(|slot| slot.fill_around(address.addr())) {
        return;
    }
    // Sent by a process, or a warning about broken memory that nobody reads now: returning does not bring it again.
    let sent = code <= 0 || code == libc::BUS_MCEERR_AO;
    let (handler, flags) = PREVIOUS.get().map_or((libc::SIG_DFL, 0), |former| (former.sa_sigaction, former.sa_flags));
    match handler {
        libc::SIG_IGN if sent => {}
        // The kernel does not let a fault be ignored either.
        libc::SIG_DFL | libc::SIG_IGN => die_of(signal, sent),
        // This is the standard library's handler: it restores the default action and returns to the fault.
        handler if flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: installed with SA_SIGINFO, so a function of this form; it gets what the kernel gave us.
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = unsafe { mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: installed without SA_SIGINFO, so a function of the old form.
            let handler: extern "C" fn(c_int) = unsafe { mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// Leaves the signal to the default action, which kills: a fault happens again on return; a sent signal is sent
/// again and stays pending until the handler returns.
fn die_of(signal: c_int, sent: bool) {
    // SAFETY: all-zero is the default action with an empty mask; `sigaction` and `raise` may be called in a handler.
    unsafe {
        let default: sigaction = mem::zeroed();
        libc::sigaction(signal, &default, ptr::null_mut());
        if sent {
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because the table is process-wide and no other unit test uses it.
    #[test]
    fn slots_are_used_again_and_never_seen_half_changed() {
        for _ in 0..1000 {
            GuardedRange::claim().unwrap().publish(0x10_0000, 0x1000);
        }
        assert_eq!(slots().count(), 1, "a dropped range's slot is used again");

        let found = |address| slots().find_map(|slot| slot.range_around(address));
        let mut range = GuardedRange::claim().unwrap();
        assert_eq!(found(0), None, "claimed but not published");
        range.publish(0x10_0000, 0x1000);
        assert_eq!(found(0x10_0000), Some((0x10_0000, 0x1000)));
        assert_eq!(found(0x10_0fff), Some((0x10_0000, 0x1000)));
        assert_eq!((found(0x0f_ffff), found(0x10_1000)), (None, None));
        drop(range);
        assert_eq!(found(0x10_0000), None);

        // The short range's start with the long one's length would reach 0x20_0000, which is in neither.
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut range = GuardedRange::claim().unwrap();
                for _ in 0..2_000_000 {
                    range.publish(0x10_0000, 0x1000);
                    range.publish(0x90_0000, 0x50_0000);
                }
                done.store(true, Ordering::Relaxed);
            });
            while !done.load(Ordering::Relaxed) {
                for slot in slots() {
                    assert_eq!(slot.range_around(0x20_0000), None);
                }
            }
        });

        let live: Vec<_> = (0..1000).map(|_| GuardedRange::claim().unwrap()).collect();
        assert_eq!(slots().count(), live.len());
    }
}
