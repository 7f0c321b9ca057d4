//! Writing result files: whole or not at all, by the rule for outputs (`coldstart_output`).

use std::io::{self, BufWriter, ErrorKind, Write};

use anyhow::anyhow;
use coldstart_launch::Interrupt;
use coldstart_output::{OutputRefusal, OutputTarget};
use coldstart_profile::printable;

use crate::error::{AppError, HintExt};

/// Size of the write buffer in bytes.
pub const AT_ONCE: usize = 1 << 18;

/// Writes a file; an existing file is replaced only by the complete new one.
///
/// # Errors
/// If the file cannot be written.
pub fn write_file(place: &OutputTarget, bytes: &[u8]) -> Result<(), AppError> {
    fill_file(place, None, |out| Ok(out.write_all(bytes)?)).map(drop)
}

/// Lets `fill` write a file, and returns its size in bytes.
///
/// # Errors
/// If the file cannot be written, or `interrupt` received a signal. An existing file is then unchanged, and no temporary file
/// is left.
pub fn fill_file(
    place: &OutputTarget,
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), AppError>,
) -> Result<u64, AppError> {
    let staged = place.begin()?;
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(staged.file(), interrupt));
    let filled = fill(&mut out).and_then(|()| Ok(out.flush()?));
    // Not flushed once more on the way out.
    let (Watched { count, failed, .. }, _) = out.into_parts();
    let filled = filled.map_err(|error| error.within(format!("cannot write `{}`", printable(place.path()))));
    match failed.and_then(|kind| OutputRefusal::Io(kind.into()).hint()) {
        Some(hint) => filled.hint(|| hint)?,
        None => filled?,
    }
    place.finish(staged)?;
    Ok(count)
}

/// Checks that all outputs of a command can be written before an hour of measuring, not after it.
///
/// # Errors
/// When one of them cannot be written, or two have the same name.
pub fn try_out<'a>(places: impl IntoIterator<Item = &'a OutputTarget>) -> Result<(), AppError> {
    let places: Vec<&OutputTarget> = places.into_iter().collect();
    for (number, place) in places.iter().enumerate() {
        if places.iter().take(number).any(|other| other.is_same_name(place)) {
            return Err(anyhow!("`{}` is given twice as output", printable(place.path())))
                .hint(|| "give each output once");
        }
    }
    Ok(places.into_iter().try_for_each(OutputTarget::try_out)?)
}

/// Counts the bytes written, and fails after a signal.
pub struct Watched<'a, W> {
    out: W,
    interrupt: Option<&'a Interrupt>,
    count: u64,
    /// Why the last write was refused.
    failed: Option<ErrorKind>,
}

impl<'a, W> Watched<'a, W> {
    /// Writes to `out`, until `interrupt` has noted a signal.
    pub fn new(out: W, interrupt: Option<&'a Interrupt>) -> Self {
        Self { out, interrupt, count: 0, failed: None }
    }

    /// Bytes that were written so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.interrupt.is_some_and(|interrupt| interrupt.signal().is_some()) {
            return Err(io::Error::other("interrupted"));
        }
        let written = self.out.write(bytes);
        self.failed = written.as_ref().err().map(io::Error::kind);
        let written = written?;
        self.count = self.count.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
