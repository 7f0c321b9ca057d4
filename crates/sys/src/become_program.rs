//! Executing another program without leaving any state of ours behind.
//!
//! Before `main` Rust's runtime ignores SIGPIPE and opens `/dev/null` for closed standard streams (`std::rt`), and its own
//! `exec` empties the signal mask. A launcher must pass on the state it was given, so the state is saved before the
//! runtime starts, in `.init_array`, and restored before `execv`.

use std::convert::Infallible;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::atomic::{AtomicU8, Ordering};

/// Bit 0 to 2: this standard stream was closed. Bit 3: SIGPIPE was ignored.
static GIVEN: AtomicU8 = AtomicU8::new(0);
const SIGPIPE_IGNORED: u8 = 1 << 3;

// SAFETY: the loader calls entries of `.init_array` once, before `main`, with C calling convention; the function only
// makes two kinds of system calls and stores to an atomic.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE_WHAT_WAS_GIVEN: extern "C" fn() = note_what_was_given;

extern "C" fn note_what_was_given() {
    let mut given = 0;
    for stream in 0..3 {
        // SAFETY: F_GETFD takes no pointer and changes nothing.
        if unsafe { libc::fcntl(stream, libc::F_GETFD) } < 0 {
            given |= 1 << stream;
        }
    }
    // SAFETY: all-zero bytes are a valid `sigaction` to be overwritten by the call.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only the present action is asked for.
    if unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut action) } == 0
        && action.sa_sigaction == libc::SIG_IGN
    {
        given |= SIGPIPE_IGNORED;
    }
    GIVEN.store(given, Ordering::Relaxed);
}

/// Replaces this process's program, searching PATH as a shell does. PID, environment, working directory,
/// limits, terminal, signal mask and dispositions, and all descriptors without close-on-exec stay as they were given.
///
/// # Errors
/// Returns only when the program cannot be started: `NotFound`, `PermissionDenied`, or another error of the kernel.
/// `InvalidInput` for a word with a NUL byte.
pub fn become_program(words: &[OsString]) -> io::Result<Infallible> {
    let strings: Vec<CString> = words.iter().map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()?;
    let Some(program) = strings.first() else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut pointers: Vec<*const libc::c_char> = strings.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    let given = GIVEN.load(Ordering::Relaxed);
    if given & SIGPIPE_IGNORED == 0 {
        // SAFETY: the default action runs no code of ours.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
    for stream in (0..3).filter(|stream| given & (1 << stream) != 0) {
        // SAFETY: these descriptors are the runtime's own `/dev/null`; after this only an error is printed, which has no reader,
        // as before.
        unsafe { libc::close(stream) };
    }
    Err(execute(program, &mut pointers))
}

/// `execvp` by the rules of glibc (posix/execvpe.c). musl's does not start a script without a `#!` line.
///
/// `pointers` are the arguments, terminated by a null pointer.
fn execute(program: &CStr, pointers: &mut Vec<*const libc::c_char>) -> io::Error {
    let mut reason = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(program) {
        // SAFETY: the strings and the list, which ends with a null pointer, live until the call is over.
        unsafe { libc::execv(candidate.as_ptr(), pointers.as_ptr()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT)
                if reason.raw_os_error() == Some(libc::EACCES) => {}
            Some(libc::EACCES | libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT) => {
                reason = error;
            }
            Some(libc::ENOEXEC) => return run_by_shell(&candidate, pointers),
            _ => return error,
        }
    }
    reason
}

/// The paths to try: the name itself if it contains a slash, otherwise one in each directory of PATH.
fn candidates(program: &CStr) -> Vec<CString> {
    let name = OsStr::from_bytes(program.to_bytes());
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let directories = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&directories)
        .filter_map(|directory| CString::new(directory.join(name).into_os_string().into_vec()).ok())
        .collect()
}

/// Runs a script without a `#!` line with the shell.
fn run_by_shell(script: &CStr, pointers: &mut Vec<*const libc::c_char>) -> io::Error {
    if let Some(first) = pointers.first_mut() {
        *first = script.as_ptr();
    }
    pointers.insert(0, c"/bin/sh".as_ptr());
    // SAFETY: as above.
    unsafe { libc::execv(c"/bin/sh".as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}
