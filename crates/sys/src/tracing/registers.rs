//! The registers of a stopped thread (`PTRACE_GETREGS`, `PTRACE_SETREGS`; `arch/x86/include/asm/user_64.h`).
//!
//! 32-bit programs on x86-64 have 64-bit registers here, too; their call arguments are in other ones.

use std::io;

use super::requests::Tracer;
#[cfg(target_arch = "x86_64")]
use super::requests::{if_there, request, unless_gone};

/// The general registers of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    #[cfg(target_arch = "x86_64")]
    pub(super) raw: libc::user_regs_struct,
}

/// What has to be at `cs` for 64-bit code (`__USER_CS`, `arch/x86/include/asm/segment.h`).
#[cfg(target_arch = "x86_64")]
const CODE_SEGMENT_64_BIT: u64 = 0x33;

#[cfg(target_arch = "x86_64")]
impl Registers {
    /// The instruction pointer.
    pub fn instruction_pointer(&self) -> u64 {
        self.raw.rip
    }

    /// Sets the instruction pointer, and cancels the restart of an interrupted system call.
    pub fn set_instruction_pointer(&mut self, address: u64) {
        self.raw.rip = address;
        self.raw.orig_rax = u64::MAX;
    }

    /// Whether it runs 32-bit code.
    pub fn is_32_bit(&self) -> bool {
        self.raw.cs != CODE_SEGMENT_64_BIT
    }

    /// The result of a system call; the negative error number if it failed.
    pub fn call_result(&self) -> i64 {
        if self.is_32_bit() { i64::from(self.raw.rax as u32 as i32) } else { self.raw.rax.cast_signed() }
    }

    /// The first three arguments of the current system call.
    pub fn call_arguments(&self) -> [u64; 3] {
        let raw = &self.raw;
        if self.is_32_bit() {
            [raw.rbx, raw.rcx, raw.rdx].map(|word| word & 0xffff_ffff)
        } else {
            [raw.rdi, raw.rsi, raw.rdx]
        }
    }

    /// The first argument of the function just entered; `None` in 32-bit code, where it is on the stack.
    pub fn first_argument(&self) -> Option<u64> {
        (!self.is_32_bit()).then_some(self.raw.rdi)
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Registers {
    /// The instruction pointer.
    pub fn instruction_pointer(&self) -> u64 {
        0
    }

    /// Sets the instruction pointer, and cancels the restart of an interrupted system call.
    pub fn set_instruction_pointer(&mut self, _address: u64) {}

    /// Whether it runs 32-bit code.
    pub fn is_32_bit(&self) -> bool {
        false
    }

    /// The result of a system call; the negative error number if it failed.
    pub fn call_result(&self) -> i64 {
        0
    }

    /// The first three arguments of the current system call.
    pub fn call_arguments(&self) -> [u64; 3] {
        [0; 3]
    }

    /// The first argument of the function just entered; `None` in 32-bit code, where it is on the stack.
    pub fn first_argument(&self) -> Option<u64> {
        None
    }
}

impl Tracer {
    /// The registers of a stopped thread; `None` if it was killed meanwhile.
    ///
    /// # Errors
    /// `Unsupported` on architectures other than x86-64.
    pub fn registers(&self, thread: u32) -> io::Result<Option<Registers>> {
        #[cfg(target_arch = "x86_64")]
        {
            let mut raw = std::mem::MaybeUninit::<libc::user_regs_struct>::uninit();
            let told = request(libc::PTRACE_GETREGS as libc::c_uint, thread, 0, raw.as_mut_ptr() as usize);
            // SAFETY: the request succeeded, so the kernel has filled the structure.
            Ok(if_there(told)?.map(|_| Registers { raw: unsafe { raw.assume_init() } }))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = thread;
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    /// Sets the registers of a stopped thread; does nothing if it was killed meanwhile.
    ///
    /// # Errors
    /// `Unsupported` on architectures other than x86-64.
    pub fn set_registers(&self, thread: u32, registers: &Registers) -> io::Result<()> {
        #[cfg(target_arch = "x86_64")]
        {
            let place = &raw const registers.raw as usize;
            unless_gone(request(libc::PTRACE_SETREGS as libc::c_uint, thread, 0, place))
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (thread, registers);
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}
