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
    become_program_with(words, &[])
}

/// As [`become_program`], with variables set on top of the environment. PATH is searched as it is here.
///
/// # Errors
/// As [`become_program`]; `InvalidInput` also for a variable with a NUL byte.
pub fn become_program_with(words: &[OsString], variables: &[(OsString, OsString)]) -> io::Result<Infallible> {
    let set: Vec<CString> = variables
        .iter()
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect::<Result<_, _>>()?;
    let environment = environment_with(variables, &set);
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
    Err(execute(program, &mut pointers, &environment))
}

unsafe extern "C" {
    /// The environment, `environ(7)`.
    static environ: *const *const libc::c_char;
}

/// The environment's entries as they are, also those that are no variables, without the ones of these names; then `set`, and a null
/// pointer.
fn environment_with(variables: &[(OsString, OsString)], set: &[CString]) -> Vec<*const libc::c_char> {
    let mut entries = Vec::new();
    // SAFETY: the C library's list ends with a null pointer, and nothing here or on another thread changes it: Rust permits changes
    // of the environment only where no other thread reads it.
    let mut next = unsafe { environ };
    // SAFETY: not behind the null pointer at the list's end; each entry is a string.
    while let Some(entry) = unsafe { next.as_ref() }.copied().filter(|entry| !entry.is_null()) {
        // SAFETY: as above.
        let text = unsafe { CStr::from_ptr(entry) }.to_bytes();
        let is_set = |name: &OsStr| text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="));
        if !variables.iter().any(|(name, _)| is_set(name)) {
            entries.push(entry);
        }
        // SAFETY: as above.
        next = unsafe { next.add(1) };
    }
    entries.extend(set.iter().map(|entry| entry.as_ptr()));
    entries.push(std::ptr::null());
    entries
}

/// `execvp` by the rules of glibc (posix/execvpe.c). musl's does not start a script without a `#!` line.
///
/// `pointers` are the arguments, `environment` the variables, each terminated by a null pointer.
fn execute(program: &CStr, pointers: &mut Vec<*const libc::c_char>, environment: &[*const libc::c_char]) -> io::Error {
    let mut reason = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(program) {
        // SAFETY: the strings and the lists, which end with a null pointer, live until the call is over.
        unsafe { libc::execve(candidate.as_ptr(), pointers.as_ptr(), environment.as_ptr()) };
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT)
                if reason.raw_os_error() == Some(libc::EACCES) => {}
            Some(libc::EACCES | libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT) => {
                reason = error;
            }
            Some(libc::ENOEXEC) => return run_by_shell(&candidate, pointers, environment),
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
fn run_by_shell(
    script: &CStr,
    pointers: &mut Vec<*const libc::c_char>,
    environment: &[*const libc::c_char],
) -> io::Error {
    if let Some(first) = pointers.first_mut() {
        *first = script.as_ptr();
    }
    pointers.insert(0, c"/bin/sh".as_ptr());
    // SAFETY: as above.
    unsafe { libc::execve(c"/bin/sh".as_ptr(), pointers.as_ptr(), environment.as_ptr()) };
    io::Error::last_os_error()
}
