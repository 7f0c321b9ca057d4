//! Ctrl-C as a question asked between steps, so that a bed which is up is taken down before we end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use fs_err as fs;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether this program was asked to stop. The asking itself does nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP, except those that were ignored when we were started: a series under
    /// `nohup` is meant to outlive its terminal.
    pub(super) fn watch() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) == 0 {
                signal_hook::flag::register(signal, Arc::clone(&asked))?;
            }
        }
        Ok(Self(asked))
    }

    /// As if a signal had come.
    #[cfg(test)]
    pub(super) fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// `SigIgn` of `/proc/self/status`: bit n - 1 is signal n (proc_pid_status(5)).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap_or_default();
    u64::from_str_radix(mask.trim(), 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tcat\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000000001\nSigCgt:\t0\n";
        assert_eq!(super::ignored(status), 1 << (signal_hook::consts::SIGHUP - 1));
        assert_eq!(super::ignored(""), 0);
    }
}
