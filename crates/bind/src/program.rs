//! The program to bind, and what only its caller can know of it.

use std::path::PathBuf;

use crate::Binding;

/// The program to bind, and what is known of it besides its content.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Its path; symbolic links are followed, as the kernel does when it tells the loader where the program lies.
    pub path: PathBuf,
    /// It gains rights when it starts: set-user-ID, set-group-ID, file capabilities (`AT_SECURE`).
    pub secure: bool,
    /// The note that it carries from an earlier binding.
    pub binding: Option<Binding>,
}
