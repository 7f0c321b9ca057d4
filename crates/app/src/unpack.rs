//! `unpack`: restore what was there before packing, byte for byte.

use coldstart_launch::Interrupt;

use crate::error::AppError;
use crate::observer::Observer;
use crate::restoring::{Options, Report, Taking, restore};

const PACKING: Taking =
    Taking { verb: "unpack", edit: "relr", was: "packed", doing: "packing", schema: "coldstart.unpack/1" };

/// Restores packed files from the note in each, several at a time.
///
/// Once `interrupt` has noted a signal no further file is begun. The observer is told of what cannot be walked; what becomes of
/// a file, errors included, is in the report.
///
/// # Errors
/// When it cannot be said where results go, or one of them would lie over something that must stay. Nothing is written then.
pub fn unpack(options: &Options, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Report, AppError> {
    restore(PACKING, options, interrupt, observer, &|_, _| Vec::new())
}
