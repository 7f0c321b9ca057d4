//! How a rewritten file gets into place: written as an unnamed file, proven, flushed, and renamed.
//!
//! | step | file |
//! |---|---|
//! | open and check | `original.rs`, `facts.rs`, `file_refusal.rs` |
//! | resolve the target path | `target.rs` |
//! | unnamed files, and leftovers of killed writers | the crate `output` |
//! | write | `file_output.rs` |
//! | owner, mode, attributes, times | `metadata.rs`, `attributes.rs` |
//! | keep the original | `keep.rs` |
//!
//! What a newcomer would not guess: the old file is never written to. Running programs and mapped libraries keep the
//! old content until their last user ends; and a kill at any instant leaves either the old or the new file under the
//! name, because it changes in a single rename.

mod attributes;
mod error;
mod facts;
mod file_output;
mod file_refusal;
mod keep;
mod metadata;
mod original;
mod target;

pub use error::{ReplaceError, WriteError};
pub use facts::{FileFacts, Signature};
pub use file_refusal::{Allowed, FileRefusal};
pub use original::OriginalFile;
pub use target::Target;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coldstart_output::{StagedFile, flush_directory, remove_leftovers};
use coldstart_sys::file_view::FileView;
use rustix::fs::fstat;
use serde::Serialize;

use self::facts::{blocks_bytes, links};
use self::file_output::{FileOutput, reserve};
use self::keep::{Keeping, Kept};
use self::metadata::{Purpose, copy_metadata};
use self::target::{Destination, OWN};
use crate::script::{Piece, Script};
use coldstart_prove::Source;

/// A file that was put in place.
#[derive(Clone, Debug)]
pub struct Replacement<P> {
    /// The result of the proof.
    pub proof: P,
    /// Its path; in place, the target of the symbolic links.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// Bytes allocated on disk.
    pub blocks_bytes: u64,
    /// The path of the kept original, if requested.
    pub kept_original: Option<PathBuf>,
    /// Number of other names of the replaced file; they still refer to the old content.
    pub other_links: u64,
    /// Omitted metadata.
    pub warnings: Vec<String>,
    /// The durations.
    pub seconds: Seconds,
}

/// Durations of the steps of a replacement, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Writing to memory; writeback runs already.
    pub write: f64,
    /// Proving.
    pub prove: f64,
    /// Flushing to disk, including attributes.
    pub flush: f64,
    /// Keeping the original and renaming.
    pub rename: f64,
}

/// Writes a file by `script` from `source`, the content of `original`, proves it, and puts it in place with its
/// metadata. The original is kept as `keep_original` if that is given.
///
/// `prove` gets the bytes of the new file as read back from the kernel, before the file has a name.
///
/// # Errors
/// [`WriteError::NotProven`] with the error of `prove`; [`WriteError::NotWritten`]. The target is then unchanged.
pub fn write_proven<P, E>(
    original: &OriginalFile,
    source: Source<'_>,
    script: &Script,
    target: &Target,
    keep_original: Option<&Path>,
    prove: impl FnOnce(Source<'_>) -> Result<P, E>,
) -> Result<Replacement<P>, WriteError<E>> {
    let destination = Destination::of(target, original)?;
    let keeping = keep_original.map(|path| Keeping::check(path, original, &destination)).transpose()?;
    let mut warnings = tidy(&destination);

    let mut clock = Clock::start();
    let staged = write_staged(original.facts(), source, script, &destination)?;
    let view = FileView::map(staged.file()).map_err(|source| looking(&destination, source))?;
    let write = clock.lap();

    let release = |range| view.release(range);
    let proof = prove(Source { bytes: view.bytes(), release: &release }).map_err(WriteError::NotProven)?;
    if view.shrank() {
        return Err(looking(&destination, io::ErrorKind::UnexpectedEof.into()).into());
    }
    drop(view);
    let prove = clock.lap();

    let purpose = if matches!(target, Target::InPlace) { Purpose::InPlace } else { Purpose::Elsewhere };
    warnings.extend(copy_metadata(original, staged.file(), &destination.path(), purpose)?);
    staged.file().sync_all().map_err(|source| {
        ReplaceError::writing("flush the new file in", destination.directory(), script.size(), source)
    })?;
    let flush = clock.lap();

    let other_links = other_links(original, target, &destination, keeping.as_ref());
    let placed = put_in_place(original, staged, &destination, keeping)?;
    warnings.extend(placed.warnings);
    Ok(Replacement {
        proof,
        path: destination.path(),
        size: script.size(),
        blocks_bytes: placed.blocks_bytes,
        kept_original: keep_original.map(Path::to_owned),
        other_links,
        warnings,
        seconds: Seconds { write, prove, flush, rename: clock.lap() },
    })
}

/// Removes leftovers of killed writers in a directory. Returns messages about files that may be leftovers.
fn tidy(destination: &Destination) -> Vec<String> {
    // Failures are ignored: another run can remove them.
    let unknown = remove_leftovers(destination.sure_directory()).map(|leftovers| leftovers.unknown).unwrap_or_default();
    let warning = |path: &PathBuf| {
        let why = "this file system has no extended attributes to identify it";
        let path = destination.directory().join(path.file_name().unwrap_or_default());
        format!("{}: possibly a leftover of a killed coldstart; kept, because {why}", path.display())
    };
    unknown.iter().map(warning).collect()
}

/// Writes all bytes of the new file in the target's directory.
fn write_staged(
    original: &FileFacts,
    source: Source<'_>,
    script: &Script,
    destination: &Destination,
) -> Result<StagedFile, ReplaceError> {
    let directory = destination.directory();
    let writing = |what, error| ReplaceError::writing(what, directory, script.size(), error);
    let staged = destination.place.stage(OWN).map_err(|error| writing("create a file in", error))?;
    let has_holes = script.pieces().iter().any(|piece| matches!(piece, Piece::Hole(_)));
    let mut out = if original.is_sparse() {
        FileOutput::sparse(staged.file())
    } else {
        if !has_holes {
            reserve(staged.file(), script.size()).map_err(|error| writing("reserve space in", error))?;
        }
        FileOutput::new(staged.file())
    };
    script.write(source, &mut out).map_err(|error| writing("write the new file in", error))?;
    out.finish().map_err(|error| writing("write the new file in", error))?;
    Ok(staged)
}

/// A file in its place.
struct Placed {
    blocks_bytes: u64,
    warnings: Vec<String>,
}

/// The visible steps.
fn put_in_place(
    original: &OriginalFile,
    mut staged: StagedFile,
    destination: &Destination,
    keeping: Option<Keeping>,
) -> Result<Placed, ReplaceError> {
    let changed = || ReplaceError::Changed { path: original.path().to_owned() };
    if !original.is_unchanged() {
        return Err(changed());
    }
    let kept = keeping.map(|keeping| keeping.keep(original)).transpose()?;
    // Copying the original may have taken long.
    if kept.is_some() && !original.content_is_unchanged() {
        return Err(changed());
    }
    let path = destination.path();
    destination.put(&mut staged, original)?;
    let mut warnings = kept.map(Kept::settle).unwrap_or_default();
    // The new file is in place, so this is not a failure; only a system crash just now could bring the old one back.
    if let Err(error) = flush_directory(destination.sure_directory(), staged.file()) {
        warnings.push(format!("{}: its new name may not be on disk yet ({error})", path.display()));
    }
    let blocks_bytes = fstat(staged.file()).map_or(0, |status| blocks_bytes(&status));
    Ok(Placed { blocks_bytes, warnings })
}

/// Number of other names of the file to be replaced, without the target's and the kept one's.
fn other_links(original: &OriginalFile, target: &Target, destination: &Destination, keeping: Option<&Keeping>) -> u64 {
    match target {
        Target::InPlace => {
            let kept = u64::from(keeping.is_some_and(|keeping| keeping.is_link));
            // Its own name and the kept one; an unlinked file has neither.
            original.links_now().checked_sub(1).and_then(|links| links.checked_sub(kept)).unwrap_or(0)
        }
        Target::At(_) => destination.existing.as_ref().and_then(|status| links(status).checked_sub(1)).unwrap_or(0),
    }
}

fn looking(destination: &Destination, source: io::Error) -> ReplaceError {
    ReplaceError::Io { what: "read the new file in", path: destination.directory().to_owned(), source }
}

/// Measures the duration of each step.
struct Clock {
    last: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { last: Instant::now() }
    }

    /// Seconds since the last step.
    fn lap(&mut self) -> f64 {
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        seconds
    }
}
