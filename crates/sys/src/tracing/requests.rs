//! Requests of a tracer to its threads.

use std::io;
use std::marker::PhantomData;
use std::ptr;

use super::memory::read_word;

/// The right to trace the threads seized by this thread; not `Send`.
#[derive(Debug)]
pub struct Tracer {
    _only_this_thread: PhantomData<*const ()>,
}

/// A stop at a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyscallStop {
    /// `AUDIT_ARCH_*` of the thread's mode: determines the numbering of its calls.
    pub architecture: u32,
    /// The instruction pointer.
    pub instruction_pointer: u64,
    /// Before or after the call.
    pub point: SyscallPoint,
}

/// Before or after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallPoint {
    /// Entry.
    Entry {
        /// As in the register: -1 for a call that a seccomp filter has skipped.
        number: u64,
        /// As in the registers; unused ones are left over from before.
        arguments: [u64; 6],
    },
    /// Exit.
    Exit {
        /// The result; the negative error number if it failed.
        value: i64,
        /// Whether that is a failure. `ERESTARTSYS` (512) and the like, which no program ever sees, are failures here.
        is_error: bool,
    },
    /// The thread is not in a system call.
    Elsewhere,
}

/// The cause of a signal (`si_code` of `sigaction(2)`), as far as needed to tell breakpoints from signals sent by processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalCause {
    /// The kernel, as for a breakpoint instruction (`exc_int3` in `arch/x86/kernel/traps.c`).
    Instruction,
    /// A breakpoint of the debug registers.
    DebugRegister,
    /// Anything else: a process, a timer.
    Other,
}

/// `siginfo_t` has 128 bytes: number, error, code, and what goes with it.
const SIGNAL_INFO_WORDS: usize = 32;
const SI_KERNEL: i32 = 0x80;
const TRAP_HWBKPT: i32 = 4;

const OPTIONS: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// Optional stops besides system calls, signals, and the creation and replacement of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoreStops {
    /// None.
    No,
    /// Calls that a filter reports to us ([`stop_filter`](crate::stop_filter)), and each thread's end while its memory still exists.
    FilterAndExit,
}

/// `PTRACE_GET_SYSCALL_INFO` (Linux 5.3, `linux/ptrace.h`).
const GET_SYSCALL_INFO: libc::c_uint = 0x420e;
/// Words of `struct ptrace_syscall_info`, and some to spare: the kernel writes no more than fits.
const INFO_WORDS: usize = 12;

/// A breakpoint instruction and its length in bytes, and the offset of the instruction pointer after its trap.
#[cfg(target_arch = "x86_64")]
const BREAKPOINT: Option<(u64, u32, u64)> = Some((0xcc, 1, 1));
#[cfg(target_arch = "aarch64")]
const BREAKPOINT: Option<(u64, u32, u64)> = Some((0xd420_0000, 4, 0));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const BREAKPOINT: Option<(u64, u32, u64)> = None;

impl Tracer {
    /// Traces a process with one thread, starting with a stop before its next instruction.
    pub(super) fn seize(process: u32, more: MoreStops) -> io::Result<Self> {
        let options = match more {
            MoreStops::No => OPTIONS,
            MoreStops::FilterAndExit => OPTIONS | libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACEEXIT,
        };
        request(libc::PTRACE_SEIZE as libc::c_uint, process, 0, options as usize)?;
        request(libc::PTRACE_INTERRUPT as libc::c_uint, process, 0, 0)?;
        Ok(Self { _only_this_thread: PhantomData })
    }

    /// Resumes a stopped thread until its next system call entry or exit, delivering a signal unless it is 0.
    ///
    /// # Errors
    /// None if the thread was killed meanwhile; otherwise the kernel's error.
    pub fn resume(&self, thread: u32, signal: i32) -> io::Result<()> {
        let signal = usize::try_from(signal).unwrap_or(0);
        unless_gone(request(libc::PTRACE_SYSCALL as libc::c_uint, thread, 0, signal))
    }

    /// Resumes a stopped thread until its next stop that is not a system call, delivering a signal unless it is 0.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn run(&self, thread: u32, signal: i32) -> io::Result<()> {
        let signal = usize::try_from(signal).unwrap_or(0);
        unless_gone(request(libc::PTRACE_CONT as libc::c_uint, thread, 0, signal))
    }

    /// Makes a running thread stop as soon as possible, with [`Stop::Pause`](super::Stop::Pause).
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn interrupt(&self, thread: u32) -> io::Result<()> {
        unless_gone(request(libc::PTRACE_INTERRUPT as libc::c_uint, thread, 0, 0))
    }

    /// Leaves a thread in its job-control stop, as without a tracer.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn leave_stopped(&self, thread: u32) -> io::Result<()> {
        unless_gone(request(libc::PTRACE_LISTEN as libc::c_uint, thread, 0, 0))
    }

    /// Detaches from a stopped thread.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn release(&self, thread: u32) -> io::Result<()> {
        unless_gone(request(libc::PTRACE_DETACH as libc::c_uint, thread, 0, 0))
    }

    /// Kills the process of a traced thread, stopped or not. The end of the thread must not have been reported yet.
    pub fn kill(&self, thread: u32) {
        let Ok(thread) = libc::pid_t::try_from(thread) else { return };
        // SAFETY: no memory is passed. A followed thread's number is not reused before this very thread has waited for it.
        unsafe { libc::syscall(libc::SYS_tkill, thread, libc::SIGKILL) };
    }

    /// The system call at which a thread is stopped; `None` if it was killed meanwhile.
    ///
    /// # Errors
    /// `EIO` or `EINVAL` before Linux 5.3.
    pub fn syscall(&self, thread: u32) -> io::Result<Option<SyscallStop>> {
        let mut words = [0u64; INFO_WORDS];
        let length = size_of_val(&words);
        let told = if_there(request(GET_SYSCALL_INFO, thread, length, words.as_mut_ptr() as usize))?;
        Ok(told.map(|_| decode(&words)))
    }

    /// The message of an event; `None` if the thread was killed meanwhile.
    ///
    /// # Errors
    /// None is known.
    pub fn event_message(&self, thread: u32) -> io::Result<Option<u32>> {
        let mut message: libc::c_ulong = 0;
        let what = libc::PTRACE_GETEVENTMSG as libc::c_uint;
        let told = if_there(request(what, thread, 0, &raw mut message as usize))?;
        Ok(told.and_then(|_| u32::try_from(message).ok()))
    }

    /// The cause of the signal that a stopped thread is about to receive; `None` if it was killed meanwhile.
    ///
    /// # Errors
    /// None is known.
    pub fn signal_cause(&self, thread: u32) -> io::Result<Option<SignalCause>> {
        Ok(self.signal_code(thread)?.map(|code| match code {
            SI_KERNEL => SignalCause::Instruction,
            TRAP_HWBKPT => SignalCause::DebugRegister,
            _ => SignalCause::Other,
        }))
    }

    /// Whether the signal that a stopped thread is about to receive is a fault of its own, rather than sent by a process or a timer.
    ///
    /// # Errors
    /// None is known.
    pub fn is_fault(&self, thread: u32) -> io::Result<bool> {
        Ok(self.signal_code(thread)?.is_some_and(|code| code > 0))
    }

    /// `si_code`; `None` if the thread was killed meanwhile.
    fn signal_code(&self, thread: u32) -> io::Result<Option<i32>> {
        let mut words = [0i32; SIGNAL_INFO_WORDS];
        match request(libc::PTRACE_GETSIGINFO as libc::c_uint, thread, 0, words.as_mut_ptr() as usize) {
            Ok(_) => {
                let [_, _, code, ..] = words;
                Ok(Some(code))
            }
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes one byte to a stopped thread's memory, as [`ProcessMemory`](super::ProcessMemory) does, but without a descriptor.
    ///
    /// # Errors
    /// `EIO` or `EFAULT` where nothing is mapped.
    pub fn write_byte(&self, thread: u32, address: u64, byte: u8) -> io::Result<()> {
        unless_gone(self.overwrite(thread, address, u64::from(byte), 1))
    }

    /// Sets a permanent breakpoint in the memory of a stopped thread: for a program that is killed when it gets
    /// there. Returns the instruction pointer after the SIGTRAP. The file is not changed: the page is copied first.
    ///
    /// # Errors
    /// `Unsupported` on unsupported processors, or the kernel's error.
    pub fn put_breakpoint(&self, thread: u32, address: u64) -> io::Result<u64> {
        let Some((instruction, length, beyond)) = BREAKPOINT else { return Err(io::ErrorKind::Unsupported.into()) };
        self.overwrite(thread, address, instruction, length)?;
        Ok(address.wrapping_add(beyond))
    }

    /// Writes this many bytes, which must not cross a word: x86-64's breakpoint has one byte, the other's are aligned.
    fn overwrite(&self, thread: u32, address: u64, bytes: u64, length: u32) -> io::Result<()> {
        let word_at = address & !7;
        let shift = u32::try_from(address & 7).unwrap_or(0).saturating_mul(8);
        let mask = u64::MAX.checked_shr(64u32.saturating_sub(length.saturating_mul(8))).unwrap_or(u64::MAX);
        let word = read_word(thread, word_at)? & !(mask << shift) | bytes << shift;
        let place = usize::try_from(word_at).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        let word = usize::try_from(word).map_err(|_| io::Error::from(io::ErrorKind::Unsupported))?;
        request(libc::PTRACE_POKETEXT as libc::c_uint, thread, place, word).map(|_| ())
    }
}

/// `struct ptrace_syscall_info`: op at byte 0, arch at 4, instruction_pointer at 8, stack_pointer at 16, and from 24 on
/// either nr and six args, or rval and the byte is_error.
fn decode(words: &[u64; INFO_WORDS]) -> SyscallStop {
    let [first, instruction_pointer, _, value, rest @ ..] = words;
    let bytes = first.to_ne_bytes();
    let [operation, _, _, _, architecture @ ..] = bytes;
    let [a, b, c, d, e, f, ..] = *rest;
    let point = match operation {
        1 => SyscallPoint::Entry { number: *value, arguments: [a, b, c, d, e, f] },
        2 => SyscallPoint::Exit { value: value.cast_signed(), is_error: a.to_ne_bytes().first() != Some(&0) },
        _ => SyscallPoint::Elsewhere,
    };
    SyscallStop { architecture: u32::from_ne_bytes(architecture), instruction_pointer: *instruction_pointer, point }
}

/// The result of a request; `None` if the thread was killed meanwhile.
pub(super) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(given) => Ok(Some(given)),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

/// For requests without effect on a thread that was killed meanwhile.
pub(super) fn unless_gone<T>(result: io::Result<T>) -> io::Result<()> {
    if_there(result).map(|_| ())
}

pub(super) fn request(what: libc::c_uint, thread: u32, address: usize, data: usize) -> io::Result<libc::c_long> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: callers pass either plain numbers or, for the requests that write to our memory, the address of a live local
    // that is large enough (GET_SYSCALL_INFO and the signal masks: with its
    // length in `address`; GETEVENTMSG: one unsigned long; GETSIGINFO: 128 bytes). The
    // words of the other process's memory are checked by the kernel, there. PEEK requests, which return in another way,
    // are not used.
    let result = unsafe {
        libc::ptrace(what as _, thread, ptr::without_provenance_mut::<libc::c_void>(address), data as *mut libc::c_void)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
