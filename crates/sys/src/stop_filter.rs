//! A seccomp filter that stops a traced program at a few of its system calls; all others run at full speed (`seccomp(2)`,
//! `SECCOMP_RET_TRACE`).
//!
//! A process with the filter must stay traced, with all its descendants: without a tracer the filtered calls fail with `ENOSYS`.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The kind of a filtered call: [`Event::Filtered`](crate::tracing::Event::Filtered) has the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilteredCall {
    /// `mmap` of a file.
    MapFile = 1,
    /// `execve` or `execveat`.
    Execute = 2,
    /// `mprotect` to read-only.
    Protect = 3,
    /// `ptrace`.
    Trace = 4,
    /// `rt_sigaction` for SIGTRAP.
    HandleTrap = 5,
    /// `seccomp` for a filter with a listener.
    Listen = 6,
}

impl FilteredCall {
    /// From the filter's number.
    pub fn from_number(number: u32) -> Option<Self> {
        let all = [Self::MapFile, Self::Execute, Self::Protect, Self::Trace, Self::HandleTrap, Self::Listen];
        all.into_iter().find(|&call| call as u32 == number)
    }
}

/// Makes `command` and all its descendants stop at these calls. The process gets `PR_SET_NO_NEW_PRIVS` unless it may install filters without it.
pub fn stop_at_filtered_calls(command: &mut Command) {
    let program = program();
    let no_new_privileges = crate::syscall_observer::needs_no_new_privileges();
    let hook = move || install(&program, no_new_privileges);
    // SAFETY: the hook runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
}

const AUDIT_ARCH_X86_64: u32 = crate::tracing::ARCHITECTURE_X86_64;
const AUDIT_ARCH_I386: u32 = crate::tracing::ARCHITECTURE_I386;
/// `-1` in the lower half of a register: an `mmap` without a file.
const NO_DESCRIPTOR: u32 = u32::MAX;
const PROT_READ: u32 = 1;
const SIGTRAP: u32 = 5;
/// `SECCOMP_FILTER_FLAG_NEW_LISTENER` (`linux/seccomp.h`).
const NEW_LISTENER: u32 = 8;

/// Offsets in `struct seccomp_data`: number 0, architecture 4, arguments from 16 on, eight bytes each, lower half first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(at: u32) -> u32 {
    16 + 8 * at
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap_or(0), jt: 0, jf: 0, k }
}

fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// Continue if equal, else skip this many.
fn unless_equal_skip(k: u32, skip: u8) -> libc::sock_filter {
    libc::sock_filter { jf: skip, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) }
}

/// Continue if any of these bits is set, else skip this many.
fn unless_set_skip(bits: u32, skip: u8) -> libc::sock_filter {
    libc::sock_filter { jf: skip, ..statement(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, bits) }
}

/// Skip this many if equal, else continue.
fn if_equal_skip(k: u32, skip: u8) -> libc::sock_filter {
    libc::sock_filter { jt: skip, ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) }
}

fn answer(action: u32, data: u32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, action | data)
}

/// The rules for one architecture: numbers of mmap, mprotect, execve, execveat, ptrace, rt_sigaction, seccomp. Ends with "allow".
fn rules([map, protect, execute, execute_at, trace, handle, filter]: [u32; 7]) -> Vec<libc::sock_filter> {
    let told = |call: FilteredCall| answer(libc::SECCOMP_RET_TRACE, call as u32);
    // Calls that are filtered only with certain arguments: `passes_by` skips the stop, by that argument.
    let some = |number, place, passes_by, call| {
        let allow = answer(libc::SECCOMP_RET_ALLOW, 0);
        [unless_equal_skip(number, 4), load(argument(place)), passes_by, told(call), allow]
    };
    let all = |number, call| [unless_equal_skip(number, 1), told(call)];
    let mut rules = vec![load(NUMBER)];
    rules.extend(some(map, 4, if_equal_skip(NO_DESCRIPTOR, 1), FilteredCall::MapFile));
    rules.extend(some(protect, 2, unless_equal_skip(PROT_READ, 1), FilteredCall::Protect));
    rules.extend(some(handle, 0, unless_equal_skip(SIGTRAP, 1), FilteredCall::HandleTrap));
    rules.extend(some(filter, 1, unless_set_skip(NEW_LISTENER, 1), FilteredCall::Listen));
    rules.extend(all(execute, FilteredCall::Execute));
    rules.extend(all(execute_at, FilteredCall::Execute));
    rules.extend(all(trace, FilteredCall::Trace));
    rules.push(answer(libc::SECCOMP_RET_ALLOW, 0));
    rules
}

/// Numbers of 64-bit programs: x86-64's, or the generic ones of newer architectures.
fn native_numbers() -> [u32; 7] {
    [
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_rt_sigaction,
        libc::SYS_seccomp,
    ]
    .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

/// `mmap2`, `mprotect`, `execve`, `execveat`, `ptrace`, `rt_sigaction`, `seccomp` of i386 (`arch/x86/entry/syscalls/syscall_32.tbl`).
const I386_NUMBERS: [u32; 7] = [192, 125, 11, 358, 26, 174, 354];

fn program() -> Vec<libc::sock_filter> {
    let native = rules(native_numbers());
    let skip = u8::try_from(native.len()).unwrap_or(u8::MAX);
    let native_architecture =
        if cfg!(target_arch = "x86_64") { AUDIT_ARCH_X86_64 } else { crate::tracing::ARCHITECTURE_AARCH64 };
    let mut program = vec![load(ARCHITECTURE), unless_equal_skip(native_architecture, skip)];
    program.extend(native);
    let i386 = rules(I386_NUMBERS);
    program.push(unless_equal_skip(AUDIT_ARCH_I386, u8::try_from(i386.len()).unwrap_or(u8::MAX)));
    program.extend(i386);
    program.push(answer(libc::SECCOMP_RET_ALLOW, 0));
    program
}

/// Runs in the child between fork and exec: only system calls.
fn install(program: &[libc::sock_filter], no_new_privileges: bool) -> io::Result<()> {
    // SAFETY: prctl with integer arguments touches no memory of ours.
    if no_new_privileges && unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let length = libc::c_ushort::try_from(program.len()).unwrap_or(0);
    let description = libc::sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: `description` names `program`, which outlives the call; the kernel copies and checks it.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const description) };
    if done != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
