//! Injecting system calls into a stopped thread.
//!
//! The thread is moved to an existing instruction that makes calls (in the vDSO), with the call's registers, and afterwards back.
//! Its memory does not change.

use std::io;

use super::registers::Registers;
use super::requests::{Tracer, if_there, request, unless_gone};
use super::stops::{Event, Stop, Waited};

/// An instruction in a program at which calls can be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemoteCall {
    /// Address of a `syscall` or `svc #0` instruction; in 32-bit programs of `int 0x80`.
    pub instruction: u64,
}

/// The call's number in 64-bit and in 32-bit programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// For 64-bit programs.
    pub number: u64,
    /// For 32-bit programs.
    pub number_32_bit: u64,
    /// All six arguments.
    pub arguments: [u64; 6],
}

impl RemoteCall {
    /// Where in code that begins on a page an instruction is at which calls can be made.
    pub fn offset_in(code: &[u8], is_32_bit: bool) -> Option<usize> {
        let (bytes, alignment): (&[u8], usize) = match (cfg!(target_arch = "aarch64"), is_32_bit) {
            (false, false) => (&[0x0f, 0x05], 1),
            (false, true) => (&[0xcd, 0x80], 1),
            // `svc #0`.
            (true, false) => (&[0x01, 0x00, 0x00, 0xd4], 4),
            (true, true) => return None,
        };
        code.windows(bytes.len()).enumerate().step_by(alignment).find(|(_, found)| *found == bytes).map(|(at, _)| at)
    }

    /// Makes a call. The thread must be in its own code, or at the end of a call of its own; `registers` are its current ones.
    ///
    /// The inner error if the call was not finished: the thread ended instead, or another thread of its process replaced it by `execve`. That
    /// stop was consumed from the wait, and is returned with it; `None` if the thread ended without one.
    ///
    /// Signals for the thread stay pending until the call is over, unchanged.
    ///
    /// # Errors
    /// The kernel's errors of ptrace requests. The result of the call itself is a value: a negative error number.
    pub fn make(
        self,
        tracer: &Tracer,
        thread: u32,
        registers: &Registers,
        call: &Argument,
    ) -> io::Result<Result<i64, Option<Stop>>> {
        let Some(raw) = registers.raw.calling(self.instruction, call) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let prepared = Registers { raw };
        let blocked = tracer.block_signals(thread)?;
        tracer.set_registers(thread, &prepared)?;
        let mut points = 0;
        let mut signals = Vec::new();
        let mut is_in_group_stop = false;
        let result = loop {
            tracer.resume(thread, 0)?;
            match tracer.wait_for(thread)? {
                Waited::Stopped(_, Stop::Syscall) => {
                    points += 1;
                    // Entry, then exit.
                    if points == 2 {
                        let Some(now) = tracer.registers(thread)? else { return Ok(Err(None)) };
                        break now.call_result();
                    }
                }
                Waited::Stopped(_, other @ (Stop::Ended(_) | Stop::Event(Event::Exit | Event::Exec))) => {
                    return Ok(Err(Some(other)));
                }
                // Only where signals could not be blocked. It is delivered again below, after the call.
                Waited::Stopped(_, Stop::Signal(signal)) => signals.push(signal),
                Waited::Stopped(_, Stop::Group) => is_in_group_stop = true,
                // The notification of SIGCONT.
                Waited::Stopped(_, Stop::Pause) => is_in_group_stop = false,
                Waited::Stopped(..) | Waited::Nothing => {}
                Waited::AllGone => return Ok(Err(None)),
            }
        };
        tracer.set_registers(thread, registers)?;
        if let Some(blocked) = blocked {
            tracer.set_blocked_signals(thread, blocked)?;
        }
        if is_in_group_stop {
            signals.push(libc::SIGSTOP);
        }
        for signal in signals {
            tracer.send_again(thread, signal);
        }
        Ok(Ok(result))
    }
}

/// `linux/ptrace.h`; the set of the kernel has 64 bits.
const GET_SIGNAL_MASK: libc::c_uint = 0x420a;
const SET_SIGNAL_MASK: libc::c_uint = 0x420b;

impl Tracer {
    /// Blocks all of a stopped thread's signals; returns those that were blocked before, `None` if the thread was killed meanwhile.
    fn block_signals(&self, thread: u32) -> io::Result<Option<u64>> {
        let mut blocked = 0u64;
        let told = if_there(request(GET_SIGNAL_MASK, thread, size_of::<u64>(), &raw mut blocked as usize))?;
        self.set_blocked_signals(thread, u64::MAX)?;
        Ok(told.map(|_| blocked))
    }

    fn set_blocked_signals(&self, thread: u32, blocked: u64) -> io::Result<()> {
        unless_gone(request(SET_SIGNAL_MASK, thread, size_of::<u64>(), &raw const blocked as usize))
    }

    /// Sends a traced thread a signal that was consumed.
    fn send_again(&self, thread: u32, signal: i32) {
        let Ok(thread) = libc::pid_t::try_from(thread) else { return };
        // SAFETY: no memory is passed. A followed thread's number is not reused before this very thread has waited for it.
        unsafe { libc::syscall(libc::SYS_tkill, thread, signal) };
    }
}
