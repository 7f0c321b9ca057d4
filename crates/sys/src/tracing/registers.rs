//! The registers of a stopped thread.
//!
//! x86-64: `PTRACE_GETREGS`, `arch/x86/include/asm/user_64.h`. 32-bit programs have 64-bit registers here, too; their call arguments
//! are in other ones. aarch64: `PTRACE_GETREGSET` with `NT_PRSTATUS`, `arch/arm64/include/uapi/asm/ptrace.h`.

use std::io;

use super::requests::Tracer;

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::Raw;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::Raw;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use other::Raw;

/// The general registers of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Registers {
    pub(super) raw: Raw,
}

impl Registers {
    /// The instruction pointer.
    pub fn instruction_pointer(&self) -> u64 {
        self.raw.instruction_pointer()
    }

    /// Sets the instruction pointer, and cancels the restart of an interrupted system call.
    pub fn set_instruction_pointer(&mut self, address: u64) {
        self.raw.set_instruction_pointer(address);
    }

    /// Whether it runs 32-bit code.
    pub fn is_32_bit(&self) -> bool {
        self.raw.is_32_bit()
    }

    /// The result of a system call; the negative error number if it failed.
    pub fn call_result(&self) -> i64 {
        self.raw.call_result()
    }

    /// The first three arguments of the current system call. On aarch64 the first one is there only before the call: its result takes
    /// the register.
    pub fn call_arguments(&self) -> [u64; 3] {
        self.raw.call_arguments()
    }

    /// The first argument of the function just entered; `None` in 32-bit code, where it is on the stack.
    pub fn first_argument(&self) -> Option<u64> {
        self.raw.first_argument()
    }
}

impl Tracer {
    /// The registers of a stopped thread; `None` if it was killed meanwhile.
    ///
    /// # Errors
    /// `Unsupported` on architectures other than x86-64 and aarch64.
    pub fn registers(&self, thread: u32) -> io::Result<Option<Registers>> {
        Ok(Raw::read(thread)?.map(|raw| Registers { raw }))
    }

    /// Sets the registers of a stopped thread; does nothing if it was killed meanwhile.
    ///
    /// # Errors
    /// `Unsupported` on architectures other than x86-64, and in 32-bit programs on aarch64.
    pub fn set_registers(&self, thread: u32, registers: &Registers) -> io::Result<()> {
        registers.raw.write(thread)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::io;

    use super::super::remote_call::Argument;
    use super::super::requests::{if_there, request, unless_gone};

    /// What has to be at `cs` for 64-bit code (`__USER_CS`, `arch/x86/include/asm/segment.h`).
    const CODE_SEGMENT_64_BIT: u64 = 0x33;

    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Raw(libc::user_regs_struct);

    impl Raw {
        pub(super) fn read(thread: u32) -> io::Result<Option<Self>> {
            let mut raw = std::mem::MaybeUninit::<libc::user_regs_struct>::uninit();
            let told = request(libc::PTRACE_GETREGS as libc::c_uint, thread, 0, raw.as_mut_ptr() as usize);
            // SAFETY: the request succeeded, so the kernel has filled the structure.
            Ok(if_there(told)?.map(|_| Self(unsafe { raw.assume_init() })))
        }

        pub(super) fn write(&self, thread: u32) -> io::Result<()> {
            unless_gone(request(libc::PTRACE_SETREGS as libc::c_uint, thread, 0, &raw const self.0 as usize))
        }

        pub(super) fn instruction_pointer(&self) -> u64 {
            self.0.rip
        }

        pub(super) fn set_instruction_pointer(&mut self, address: u64) {
            self.0.rip = address;
            self.0.orig_rax = u64::MAX;
        }

        pub(super) fn is_32_bit(&self) -> bool {
            self.0.cs != CODE_SEGMENT_64_BIT
        }

        pub(super) fn call_result(&self) -> i64 {
            if self.is_32_bit() { i64::from(self.0.rax as u32 as i32) } else { self.0.rax.cast_signed() }
        }

        pub(super) fn call_arguments(&self) -> [u64; 3] {
            let raw = &self.0;
            if self.is_32_bit() {
                [raw.rbx, raw.rcx, raw.rdx].map(|word| word & 0xffff_ffff)
            } else {
                [raw.rdi, raw.rsi, raw.rdx]
            }
        }

        pub(super) fn first_argument(&self) -> Option<u64> {
            (!self.is_32_bit()).then_some(self.0.rdi)
        }

        /// What they have to be to make a call at an instruction.
        pub(in super::super) fn calling(mut self, instruction: u64, call: &Argument) -> Option<Self> {
            let is_32_bit = self.is_32_bit();
            let [first, second, third, fourth, fifth, sixth] = call.arguments;
            self.set_instruction_pointer(instruction);
            let raw = &mut self.0;
            if is_32_bit {
                raw.rax = call.number_32_bit;
                (raw.rbx, raw.rcx, raw.rdx, raw.rsi, raw.rdi, raw.rbp) = (first, second, third, fourth, fifth, sixth);
            } else {
                raw.rax = call.number;
                (raw.rdi, raw.rsi, raw.rdx, raw.r10, raw.r8, raw.r9) = (first, second, third, fourth, fifth, sixth);
            }
            Some(self)
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    use std::io;

    use super::super::remote_call::Argument;
    use super::super::requests::{if_there, request, unless_gone};

    /// `elf.h`.
    const NT_PRSTATUS: usize = 1;
    /// `x0` to `x30`, `sp`, `pc`, `pstate` (`struct user_pt_regs`).
    const WORDS: usize = 34;
    const PROGRAM_COUNTER: usize = 32;
    /// The register of a call's number.
    const CALL_NUMBER: usize = 8;

    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Raw {
        words: [u64; WORDS],
        /// The kernel's set for a 32-bit program is shorter, and of another form.
        is_32_bit: bool,
    }

    impl Raw {
        pub(super) fn read(thread: u32) -> io::Result<Option<Self>> {
            let mut words = [0u64; WORDS];
            let mut place = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: size_of_val(&words) };
            let told = request(libc::PTRACE_GETREGSET as libc::c_uint, thread, NT_PRSTATUS, &raw mut place as usize);
            let is_32_bit = place.iov_len < size_of_val(&words);
            Ok(if_there(told)?.map(|_| Self { words, is_32_bit }))
        }

        pub(super) fn write(&self, thread: u32) -> io::Result<()> {
            if self.is_32_bit {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let place =
                libc::iovec { iov_base: self.words.as_ptr().cast_mut().cast(), iov_len: size_of_val(&self.words) };
            unless_gone(request(libc::PTRACE_SETREGSET as libc::c_uint, thread, NT_PRSTATUS, &raw const place as usize))
        }

        pub(super) fn instruction_pointer(&self) -> u64 {
            self.words[PROGRAM_COUNTER]
        }

        /// The kernel restarts a call only where the program counter still is what it was (`do_signal`, `arch/arm64/kernel/signal.c`).
        pub(super) fn set_instruction_pointer(&mut self, address: u64) {
            self.words[PROGRAM_COUNTER] = address;
        }

        pub(super) fn is_32_bit(&self) -> bool {
            self.is_32_bit
        }

        pub(super) fn call_result(&self) -> i64 {
            self.words[0].cast_signed()
        }

        pub(super) fn call_arguments(&self) -> [u64; 3] {
            let [first, second, third, ..] = self.words;
            [first, second, third]
        }

        pub(super) fn first_argument(&self) -> Option<u64> {
            (!self.is_32_bit).then_some(self.words[0])
        }

        /// What they have to be to make a call at an instruction; `None` in 32-bit programs.
        pub(in super::super) fn calling(mut self, instruction: u64, call: &Argument) -> Option<Self> {
            if self.is_32_bit {
                return None;
            }
            self.words[..call.arguments.len()].copy_from_slice(&call.arguments);
            self.words[CALL_NUMBER] = call.number;
            self.set_instruction_pointer(instruction);
            Some(self)
        }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    use std::io;

    use super::super::remote_call::Argument;

    /// There is never one.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) enum Raw {}

    impl Raw {
        pub(super) fn read(_thread: u32) -> io::Result<Option<Self>> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn write(&self, _thread: u32) -> io::Result<()> {
            match *self {}
        }

        pub(super) fn instruction_pointer(&self) -> u64 {
            match *self {}
        }

        pub(super) fn set_instruction_pointer(&mut self, _address: u64) {
            match *self {}
        }

        pub(super) fn is_32_bit(&self) -> bool {
            match *self {}
        }

        pub(super) fn call_result(&self) -> i64 {
            match *self {}
        }

        pub(super) fn call_arguments(&self) -> [u64; 3] {
            match *self {}
        }

        pub(super) fn first_argument(&self) -> Option<u64> {
            match *self {}
        }

        pub(in super::super) fn calling(self, _instruction: u64, _call: &Argument) -> Option<Self> {
            match self {}
        }
    }
}
