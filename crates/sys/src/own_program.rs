//! Has the kernel read the running program itself.
//!
//! A program that starts cold is read at its page faults, one after the other. The launcher is small enough to be read at once
//! while it opens its plan. With the plan asked for at once, too, 8 waits for the disk are left of 13 (network model).

use coldstart_host::process::own;
use rustix::fs::{Advice, Mode, OFlags, fadvise, open};

/// Asks for all pages of the running program that are not in memory, and does not wait for them. Without `/proc` nothing happens.
pub fn ask_for_own_program() {
    if let Ok(program) = open(own::PROGRAM, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fadvise(&program, 0, None, Advice::WillNeed);
    }
}
