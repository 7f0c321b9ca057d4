//! Printing: results to stdout, everything else to stderr.
//!
//! Nothing else in this program writes to stdout or stderr. `println!` would panic when the reader has left.

pub(crate) mod charset;
pub(crate) mod destination;
pub(crate) mod json;
pub(crate) mod page;
pub(crate) mod path;
pub(crate) mod printed;
pub(crate) mod size;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod wrap;

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::adapter::strip_str;
use anstyle::Style;
use coldstart_app::error::AppError;

/// The reader closed stdout early, as `| head` does. Not reported.
#[derive(Debug, thiserror::Error)]
#[error("the reader has closed the output")]
pub(crate) struct ReaderLeft;

/// Writes a result to stdout. Colours are dropped when stdout is no terminal.
pub(crate) fn print(text: &str) -> Result<(), AppError> {
    // In one piece: the stream that drops colours would hand on each stretch between two of them by a call of its own.
    let drops_colours = anstream::stdout().current_choice() == anstream::ColorChoice::Never;
    let text = if drops_colours { Cow::Owned(strip_str(text).to_string()) } else { Cow::Borrowed(text) };
    print_bytes(text.as_bytes())
}

/// Writes a binary result to stdout.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), AppError> {
    note_result();
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderLeft.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write the result to stdout").into()),
    }
}

/// Whether a result, or a part of one, went to stdout.
static RESULT: AtomicBool = AtomicBool::new(false);

/// To be called before a result is written to stdout.
pub(crate) fn note_result() {
    RESULT.store(true, Ordering::Relaxed);
}

/// Whether a result, or a part of one, went to stdout: nothing about errors may follow it there.
pub(crate) fn has_result() -> bool {
    RESULT.load(Ordering::Relaxed)
}

/// Writes `LABEL: text` to stderr. Errors are ignored.
pub(crate) fn complain(style: &Style, label: &str, text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{style}{label}:{style:#} {text}");
}

/// Writes a result to stderr, if stdout belongs to the started program.
pub(crate) fn report(text: &str) {
    let _ = anstream::stderr().lock().write_all(text.as_bytes());
}

/// Prints a note to stderr about a fallback or a skipped step. The result is still correct.
pub(crate) fn note(text: &str) {
    complain(&style::NOTE, "note", text);
}

/// Prints a hint to stderr, below its note.
pub(crate) fn hint(text: &str) {
    complain(&style::HINT, "hint", text);
}
