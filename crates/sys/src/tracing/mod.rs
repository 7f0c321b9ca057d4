//! Following a program and all it starts from system call to system call (`ptrace(2)`), as strace does.
//!
//! The child is seized between `fork` and `exec`, so that its first counted call is its own `execve`. Three things are
//! not obvious. Only the seizing thread may send requests, so a [`Tracer`] is not `Send`,
//! and waits with `__WNOTHREAD`, or it would take other threads' children. A wait for the child by any *other* thread of this process, though,
//! takes the tracer's stops: while a tracer is active, no other thread may wait for the program. And a stopped thread can
//! be killed at any instant: a request then fails with `ESRCH`, and the next wait reports the end.
//!
//! Processes that the program makes with `CLONE_UNTRACED` are not followed. When the tracing thread ends, the kernel kills
//! whatever it still follows (`PTRACE_O_EXITKILL`).
//!
//! Sources: `ptrace(2)`, `include/uapi/linux/ptrace.h`, `kernel/ptrace.c`, `kernel/exit.c` (`do_wait`).

mod debug_registers;
pub(crate) mod memory;
mod registers;
mod remote_call;
mod requests;
mod start;
mod stops;

pub use memory::{FileMapping, ProcessMappings, ProcessMemory, read_byte, read_name, share_memory};
pub use registers::Registers;
pub use remote_call::{Argument, RemoteCall};
pub use requests::{MoreStops, SignalCause, SyscallPoint, SyscallStop, Tracer};
pub use start::{PendingTracee, SeizeError, traced};
pub use stops::{Event, Stop, Waited};

/// `AUDIT_ARCH_*` of x86-64 (`linux/audit.h`): ELF machine number, 64-bit and little-endian flags. x32 calls have it too,
/// with bit 30 of the number set.
pub const ARCHITECTURE_X86_64: u32 = 62 | 0x8000_0000 | 0x4000_0000;
/// `AUDIT_ARCH_I386`: 32-bit programs on x86-64 as well.
pub const ARCHITECTURE_I386: u32 = 3 | 0x4000_0000;
/// `AUDIT_ARCH_AARCH64`.
pub const ARCHITECTURE_AARCH64: u32 = 183 | 0x8000_0000 | 0x4000_0000;
/// `AUDIT_ARCH_RISCV64`.
pub const ARCHITECTURE_RISCV64: u32 = 243 | 0x8000_0000 | 0x4000_0000;
/// `__AUDIT_ARCH_64BIT`: set where pointers have eight bytes.
pub const ARCHITECTURE_IS_64_BIT: u32 = 0x8000_0000;

#[cfg(test)]
mod tests;
