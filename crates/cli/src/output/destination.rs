//! Streaming results to stdout.

use std::io::{self, BufWriter, Write};

use coldstart_app::error::AppError;
use coldstart_app::writing::{AT_ONCE, Watched};
use coldstart_launch::Interrupt;

use super::ReaderLeft;

/// Lets `fill` write all of a result to stdout, and gives its size in bytes.
///
/// # Errors
/// If writing fails, or `interrupt` received a signal.
pub(crate) fn to_stdout(
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), AppError>,
) -> Result<u64, AppError> {
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(io::stdout().lock(), interrupt));
    let filled = fill(&mut out).and_then(|()| Ok(out.flush()?));
    let count = out.get_ref().count();
    if count > 0 {
        super::note_result();
    }
    match filled {
        // Not flushed once more on the way out.
        Err(error) => {
            drop(out.into_parts());
            if error.is_broken_pipe() {
                Err(ReaderLeft.into())
            } else {
                Err(error.within("cannot write to stdout".to_owned()))
            }
        }
        Ok(()) => Ok(count),
    }
}
