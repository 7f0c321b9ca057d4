//! `unpack`: restore files as they were before packing, byte for byte.

use coldstart_launch::Interrupt;

use crate::error::AppError;
use crate::observer::Observer;
use crate::restoring::{Beside, Options, Report, Taking, restore};

const PACKING: Taking =
    Taking { verb: "unpack", edit: "relr", was: "packed", doing: "packing", schema: "coldstart.unpack/1" };

/// Restores packed files from their notes, several in parallel.
///
/// After a signal to `interrupt` no further file is started. Errors of the walk go to the observer; the result of each file,
/// errors included, is in the report.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn unpack(options: &Options, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Report, AppError> {
    restore(PACKING, options, interrupt, observer, Beside::NOTHING)
}
