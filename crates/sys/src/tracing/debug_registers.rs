//! Breakpoints in a thread's debug registers: they change no byte of the program and touch no page.
//!
//! A breakpoint written into memory copies the page, so that the program's own first use of the page is never seen.
//! A thread has four debug registers, a new thread starts without any set, and `execve` clears them. At a hit the thread
//! stops with SIGTRAP *before* the instruction, and continues when it is resumed: the kernel sets the resume flag
//! (`hw_breakpoint_handler` in `arch/x86/kernel/hw_breakpoint.c`).

use std::io;

use super::requests::Tracer;
#[cfg(target_arch = "x86_64")]
use super::requests::{request, unless_gone};

impl Tracer {
    /// Whether [`set_breakpoints`](Self::set_breakpoints) is there for this architecture.
    pub const HAS_BREAKPOINTS: bool = cfg!(target_arch = "x86_64");

    /// Sets a stopped thread's breakpoints; `None` clears a register.
    ///
    /// # Errors
    /// `ENOSPC` where all registers are in use by the system, `EINVAL` for addresses outside the program's memory, `Unsupported` on
    /// architectures other than x86-64. No error if the thread was killed meanwhile.
    pub fn set_breakpoints(&self, thread: u32, first: Option<u64>, second: Option<u64>) -> io::Result<()> {
        #[cfg(target_arch = "x86_64")]
        {
            // Local enable bits; type and length bits 0 mean "execute, one byte".
            let enable = usize::from(first.is_some()) | usize::from(second.is_some()) << 2;
            self.poke_debug_register(thread, 7, 0)?;
            for (number, address) in [(0, first), (1, second)] {
                if let Some(address) = address {
                    let address = usize::try_from(address).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
                    self.poke_debug_register(thread, number, address)?;
                }
            }
            if enable != 0 {
                self.poke_debug_register(thread, 7, enable)?;
            }
            Ok(())
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (thread, first, second);
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn poke_debug_register(&self, thread: u32, number: usize, value: usize) -> io::Result<()> {
        let place = std::mem::offset_of!(libc::user, u_debugreg) + number * size_of::<u64>();
        unless_gone(request(libc::PTRACE_POKEUSER as libc::c_uint, thread, place, value))
    }
}
