//! Where a file goes: to its place, by the rule for outputs (`coldstart_output`), or to stdout.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::anyhow;
use coldstart_launch::Interrupt;
use coldstart_output::{OutputPlace, OutputRefusal};

use super::ReaderLeft;
use super::path::printable;
use crate::error::{CliError, HintExt};

const AT_ONCE: usize = 1 << 18;

/// Where a file goes.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Stdout,
    File(OutputPlace),
}

impl Destination {
    /// Its place; `None` for stdout.
    pub(crate) fn place(&self) -> Option<&OutputPlace> {
        match self {
            Self::Stdout => None,
            Self::File(place) => Some(place),
        }
    }

    /// As it was given; `None` for stdout.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.place().map(OutputPlace::path)
    }

    /// Lets `fill` write all of it, and gives its size in bytes.
    ///
    /// # Errors
    /// Whatever went wrong, a signal that `interrupt` noted included: what stood there before stands there still, and nothing
    /// else is left.
    pub(crate) fn write(
        &self,
        interrupt: Option<&Interrupt>,
        fill: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
    ) -> Result<u64, CliError> {
        match self {
            Self::Stdout => to_stdout(interrupt, fill),
            Self::File(place) => to_file(place, interrupt, fill),
        }
    }
}

/// Writes all of a file; what was there before stays until it is whole.
///
/// # Errors
/// Whatever stands against it.
pub(crate) fn write_file(place: &OutputPlace, bytes: &[u8]) -> Result<(), CliError> {
    to_file(place, None, |out| Ok(out.write_all(bytes)?)).map(drop)
}

/// Tries out whether all outputs of a command can be written: now, and not after an hour of measuring.
///
/// # Errors
/// When one of them cannot be written, or two have the same name.
pub(crate) fn try_out<'a>(places: impl IntoIterator<Item = &'a OutputPlace>) -> Result<(), CliError> {
    let places: Vec<&OutputPlace> = places.into_iter().collect();
    for (number, place) in places.iter().enumerate() {
        if places.iter().take(number).any(|other| other.is_same_name(place)) {
            return Err(anyhow!("`{}` is to be written twice", printable(place.path()))).hint(|| "name each file once");
        }
    }
    Ok(places.into_iter().try_for_each(OutputPlace::try_out)?)
}

fn to_file(
    place: &OutputPlace,
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<u64, CliError> {
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

fn to_stdout(
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(io::stdout().lock(), interrupt));
    let filled = fill(&mut out).and_then(|()| Ok(out.flush()?));
    let count = out.get_ref().count;
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

/// Counts what is written, and writes no more once a signal came.
struct Watched<'a, W> {
    out: W,
    interrupt: Option<&'a Interrupt>,
    count: u64,
    /// Why the last write was refused.
    failed: Option<ErrorKind>,
}

impl<'a, W> Watched<'a, W> {
    fn new(out: W, interrupt: Option<&'a Interrupt>) -> Self {
        Self { out, interrupt, count: 0, failed: None }
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
