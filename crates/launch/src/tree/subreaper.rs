//! Adopting orphans: when a process of the launch dies, its children are reparented to us instead of to init
//! (`PR_SET_CHILD_SUBREAPER`, `prctl(2)`). Daemons leave their starter in exactly this way.

use std::io;

use rustix::process::{child_subreaper, getpid, set_child_subreaper};

/// Restores the previous setting when dropped.
#[derive(Debug)]
pub(crate) struct Subreaper {
    was_set: bool,
}

impl Subreaper {
    pub(crate) fn become_one() -> io::Result<Self> {
        let was_set = child_subreaper()?.is_some();
        if !was_set {
            set_child_subreaper(Some(getpid()))?;
        }
        Ok(Self { was_set })
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        if !self.was_set {
            // Refused only for an unknown prctl, and then it could not have been set.
            let _ = set_child_subreaper(None);
        }
    }
}
