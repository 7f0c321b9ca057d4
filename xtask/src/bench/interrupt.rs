//! Ctrl-C, polled between steps, so that a running bed is taken down before we end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use coldstart_host::process::ProcessFiles;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether this program was asked to stop. The asking itself does nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Takes over SIGINT, SIGTERM and SIGHUP, except those that were ignored when we were started: a series under
    /// `nohup` is meant to outlive its terminal.
    pub(super) fn watch() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        let status = ProcessFiles::own().status();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if !status.has_signal("SigIgn", signal) {
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
