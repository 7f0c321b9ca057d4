//! Why a program cannot be resolved.

use std::path::PathBuf;

use crate::ProbeFailure;

/// Why a program cannot be resolved at all. Later failures are part of the [`Closure`](crate::Closure).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The program itself cannot be opened, or is not an ELF object.
    #[error("cannot tell what `{}` loads: {reason}", path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// Why.
        reason: ProbeFailure,
    },
    /// The program's interpreter is missing or does not fit; the kernel would refuse to start the program.
    #[error("interpreter `{1}` of `{0}`: {reason}", program.display(), path.display())]
    Interpreter {
        /// The program.
        program: PathBuf,
        /// The interpreter's path in the program.
        path: PathBuf,
        /// Why.
        reason: ProbeFailure,
    },
}
