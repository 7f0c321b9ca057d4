//! Ctrl-C: what is running ends, what was mounted is taken down, and then we end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether this program was asked to stop.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on signals that ask for an end only set the flag.
    pub(super) fn watch() -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&asked))?;
        }
        Ok(Self(asked))
    }

    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// When the user asked for an end.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(!self.came(), "interrupted");
        Ok(())
    }
}
