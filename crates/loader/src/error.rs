//! Why a program cannot be asked about.

use std::path::PathBuf;

use crate::ProbeFailure;

/// Why a program cannot be asked about at all. What goes wrong later is part of the answer.
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
    /// The interpreter the program names is not there or does not fit; the kernel would refuse to start the program.
    #[error("`{}` names the interpreter `{}`: {reason}", program.display(), path.display())]
    Interpreter {
        /// The program.
        program: PathBuf,
        /// The interpreter, as the program names it.
        path: PathBuf,
        /// Why.
        reason: ProbeFailure,
    },
}
