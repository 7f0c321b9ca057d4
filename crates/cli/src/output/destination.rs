//! Where a file goes: beside its place first, and renamed once it is whole; or to stdout.

use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_launch::Interrupt;

use super::ReaderLeft;
use super::file::{begin_beside, is_trace};
use super::path::printable;
use crate::error::{CliError, HintExt};

const AT_ONCE: usize = 1 << 18;
/// As many links as the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: usize = 40;
/// Advice where a folder was named.
const IN_FOLDER: &str = "name a file in it";

/// Where a file goes.
#[derive(Clone, Debug)]
pub(crate) enum Destination {
    Stdout,
    File {
        /// As it was given.
        path: PathBuf,
        /// Behind symbolic links, which stay.
        target: PathBuf,
    },
}

impl Destination {
    /// A file, which must not be one of those that are read, nor any other trace, nor anything that is no regular file.
    ///
    /// # Errors
    /// What stands against writing there, as far as can be told without doing it.
    pub(crate) fn file(path: &Path, traces: &[&Path]) -> Result<Self, CliError> {
        let cannot = || format!("cannot write `{}`", printable(path));
        let refused = |why: &'static str| Err(anyhow!(why)).with_context(cannot);
        let target = match fs::metadata(path) {
            Ok(found) if found.is_dir() => return refused("it is a directory").hint(|| IN_FOLDER),
            Ok(found) if !found.is_file() => {
                return refused("it is no regular file").hint(|| "name a file; what is there stays as it is");
            }
            Ok(found) => {
                let is_same = |trace: &&&Path| {
                    fs::metadata(trace).is_ok_and(|trace| (trace.dev(), trace.ino()) == (found.dev(), found.ino()))
                };
                if traces.iter().any(|trace| is_same(&trace)) {
                    return refused("it is the trace itself").hint(|| "name another file");
                }
                if is_trace(path).context("cannot tell whether it is a trace").with_context(cannot)? {
                    return refused("it is a trace, and traces are never written over")
                        .hint(|| "name another file, or remove that trace first");
                }
                fs::canonicalize(path)
            }
            Err(error) if error.kind() == ErrorKind::NotFound && names_folder(path) => {
                return refused("it is the name of a directory").hint(|| IN_FOLDER);
            }
            Err(error) if error.kind() == ErrorKind::NotFound => behind_links(path),
            Err(error) => Err(error),
        };
        let kind = kind_of(&target);
        let target = advised(kind, target.with_context(cannot))?;
        Ok(Self::File { path: path.to_owned(), target })
    }

    /// The same name with something put before its ending.
    pub(crate) fn beside(&self, addition: &str, traces: &[&Path]) -> Result<Self, CliError> {
        let Self::File { path, .. } = self else { return Ok(Self::Stdout) };
        let mut name = path.file_stem().unwrap_or_default().to_os_string();
        name.push(addition);
        if let Some(ending) = path.extension() {
            name.push(".");
            name.push(ending);
        }
        Self::file(&path.with_file_name(name), traces)
    }

    /// Tries out whether a file can be written there.
    ///
    /// # Errors
    /// When its folder is not there or may not be written to.
    pub(crate) fn try_out(&self) -> Result<(), CliError> {
        let Self::File { path, target } = self else { return Ok(()) };
        // Gone again as soon as it is there.
        let tried = begin_beside(target).map(drop);
        advised(kind_of(&tried), tried.with_context(|| format!("cannot write `{}`", printable(path))))
    }

    /// As it was given; `None` for stdout.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Stdout => None,
            Self::File { path, .. } => Some(path),
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdout, Self::Stdout) => true,
            (Self::File { target, .. }, Self::File { target: other, .. }) => target == other,
            _ => false,
        }
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
            Self::File { path, target } => {
                let written = to_file(target, interrupt, fill);
                written.map_err(|error| error.within(format!("cannot write `{}`", printable(path))))
            }
        }
    }
}

/// Writes all of a file that a user named; what was there before stays until it is whole.
///
/// # Errors
/// Those of [`Destination::file`], and whatever stands against writing.
pub(crate) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    Destination::file(path, &[])?.write(None, |out| Ok(out.write_all(bytes)?))?;
    Ok(())
}

/// Tries out whether [`write_file`] can write there: now, and not after an hour of measuring.
///
/// # Errors
/// When the folder is not there or may not be written to, or the name is that of a folder, a device, a pipe or a trace.
pub(crate) fn try_out(path: Option<&Path>) -> Result<(), CliError> {
    path.map_or(Ok(()), |path| Destination::file(path, &[])?.try_out())
}

/// Whether a name can only be that of a folder: it ends in a slash or in dots.
fn names_folder(path: &Path) -> bool {
    let name = path.as_os_str().as_bytes();
    matches!(name.rsplit(|byte| *byte == b'/').next(), Some(b"" | b"." | b".."))
}

/// The place of a file that is not there yet: behind links that lead to it, its folder without links and dots.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..=MOST_LINKS {
        if names_folder(&place) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder)?;
        place = folder.join(place.file_name().ok_or(ErrorKind::IsADirectory)?);
        match fs::read_link(&place) {
            Ok(leads_to) => place = folder.join(leads_to),
            // The kernel's word for what is no link; somebody made a file there a moment ago.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) => return Ok(place),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::from(rustix::io::Errno::LOOP))
}

fn kind_of<T>(result: &io::Result<T>) -> Option<ErrorKind> {
    result.as_ref().err().map(io::Error::kind)
}

/// Says what helps against the system's refusal.
fn advised<T, E: Into<CliError>>(kind: Option<ErrorKind>, result: Result<T, E>) -> Result<T, CliError> {
    let advice = match kind {
        Some(ErrorKind::NotFound | ErrorKind::NotADirectory) => "make its folder first, or name a file in another one",
        Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            "name a file in a folder that you may write to"
        }
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => "make room there, or name a file on another disk",
        Some(ErrorKind::FileTooLarge) => {
            "files may not become that large there (`ulimit -f`): name a file on another disk"
        }
        Some(ErrorKind::InvalidFilename) => "name it shorter",
        Some(ErrorKind::IsADirectory) => IN_FOLDER,
        _ => return result.map_err(E::into),
    };
    result.hint(|| advice)
}

fn to_file(
    target: &Path,
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    let begun = begin_beside(target);
    let mut file = advised(kind_of(&begun), begun)?;
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(file.as_file_mut(), interrupt));
    let filled = fill(&mut out).and_then(|()| Ok(out.flush()?));
    // Not flushed once more on the way out.
    let (Watched { count, failed, .. }, _) = out.into_parts();
    advised(failed, filled)?;
    let done = file.as_file().sync_all().and_then(|()| file.persist(target).map_err(|error| error.error));
    advised(kind_of(&done), done)?;
    Ok(count)
}

fn to_stdout(
    interrupt: Option<&Interrupt>,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(io::stdout().lock(), interrupt));
    let filled = fill(&mut out).and_then(|()| Ok(out.flush()?));
    let count = out.get_ref().count;
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
        self.failed = kind_of(&written);
        let written = written?;
        self.count = self.count.saturating_add(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
