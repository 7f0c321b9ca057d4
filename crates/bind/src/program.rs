//! The program to bind, and the facts that only its caller knows.

use std::path::PathBuf;

use crate::Binding;

/// The program to bind, with the facts that are not in its content.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its path; symbolic links are followed, as the kernel does for the path it gives to the loader.
    pub path: PathBuf,
    /// It gains privileges at start: set-user-ID, set-group-ID, file capabilities (`AT_SECURE`).
    pub secure: bool,
    /// Its note from an earlier binding.
    pub binding: Option<Binding>,
}
