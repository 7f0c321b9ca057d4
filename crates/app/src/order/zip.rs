//! `order zip`: a zip file with its entries in the order of a start.
//!
//! Not obvious: nothing is decompressed. Each entry is copied byte for byte, and the result is read again and compared before it gets its name.

use std::fs::Permissions;
use std::io::{BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_archive::zip::{Piece, ZipArchive, ZipLayout, ZipPlan, digest, named_entries, same, used_entries};
use coldstart_launch::Interrupt;
use coldstart_output::{OutputTarget, StagedFile};
use coldstart_profile::{JsonPath, printable};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use super::used_pages::{inputs_of, used_pages};
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::writing::{AT_ONCE, Watched, try_out};

/// What is put into order.
#[derive(Clone, Debug)]
pub struct ZipOptions {
    /// The zip file.
    pub file: PathBuf,
    /// Where to write the new one.
    pub output: PathBuf,
    /// Traces of starts that used it.
    pub traces: Vec<PathBuf>,
    /// Where the central directory lies; as in the file if `None`.
    pub layout: Option<ZipLayout>,
    /// Replace any file.
    pub force: bool,
}

/// A zip file in the order of a start.
#[derive(Clone, Debug, Serialize)]
pub struct ZipOutcome {
    /// The new file.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// Its size in bytes.
    pub bytes: u64,
    /// All entries.
    pub entries: u64,
    /// Entries that the starts used.
    pub used: u64,
    /// Bytes of these.
    pub used_bytes: u64,
    /// In how many separate pieces these bytes lay before.
    pub pieces_before: u64,
    /// In how many they lie now.
    pub pieces_after: u64,
    /// From the first to the last of them, in bytes, before.
    pub span_before: u64,
    /// The same now.
    pub span_after: u64,
    /// A digest of all entries whatever their order, of both files.
    pub digest: String,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// Puts a zip file into the order of starts.
///
/// # Errors
/// If the file is signed or damaged, no trace used it, or the output cannot be written. An existing output is unchanged then.
pub fn order_zip(options: &ZipOptions) -> Result<ZipOutcome, AppError> {
    let interrupt = Interrupt::listen()?;
    let inputs = inputs_of(&options.traces).with(format!("the zip file `{}`", printable(&options.file)), &options.file);
    let place = OutputTarget::new(&options.output, kinds::REORDERED, options.force)?.not_over(inputs);
    try_out([&place])?;
    let cannot = || format!("cannot put `{}` into order", printable(&options.file));
    let file = open_regular(&options.file).with_context(cannot)?;
    let view = FileView::map(&file).with_context(cannot)?;
    let before = ZipArchive::read(view.bytes()).with_context(cannot)?;
    before.check_unsigned().with_context(cannot)?;
    let starts = used_pages(&options.file, &options.traces)?;
    let used = used_entries(&before, &starts);
    let plan = before.plan(&used, options.layout.unwrap_or(before.layout())).with_context(cannot)?;
    let staged = place.begin()?;
    let is_new = !options.output.exists();
    let digest = put_into_order(&options.file, &view, &before, &plan, &staged, &interrupt)?;
    if is_new {
        // A zipapp is a program.
        let mode = file.metadata().with_context(cannot)?.permissions().mode() & 0o777;
        staged.file().set_permissions(Permissions::from_mode(mode)).with_context(cannot)?;
    }
    place.finish(staged)?;
    let old: Vec<(u64, u64)> = used
        .iter()
        .filter_map(|number| before.entries().get(*number))
        .map(|entry| (entry.record.start as u64, entry.record.end as u64))
        .collect();
    let new: Vec<(u64, u64)> =
        used.iter().filter_map(|number| plan.places.get(*number)).map(|place| (place.start, place.end)).collect();
    let ((pieces_before, span_before), (pieces_after, span_after)) = (pieces(old.clone()), pieces(new));
    Ok(ZipOutcome {
        shown: JsonPath::new(&options.output),
        path: options.output.clone(),
        bytes: plan.size(),
        entries: before.entries().len() as u64,
        used: used.len() as u64,
        used_bytes: old.iter().map(|(start, end)| end.saturating_sub(*start)).sum(),
        pieces_before,
        pieces_after,
        span_before,
        span_after,
        digest,
        notes: notes(&before, &used, &options.file),
    })
}

/// Writes a zip file to `replacement`, where nothing is, with the entries of these names first, in the order of the names.
///
/// # Errors
/// If the file is signed or damaged, has no such entry, or cannot be written.
pub(super) fn ordered_zip(
    original: &Path,
    names: &[PathBuf],
    replacement: &Path,
    interrupt: &Interrupt,
) -> Result<(), AppError> {
    let cannot = || format!("cannot put `{}` into order", printable(original));
    let view = FileView::map(open_regular(original).with_context(cannot)?).with_context(cannot)?;
    let archive = ZipArchive::read(view.bytes()).with_context(cannot)?;
    archive.check_unsigned().with_context(cannot)?;
    let used = named_entries(&archive, names.iter().map(|name| name.as_os_str().as_bytes()));
    if used.is_empty() {
        return Err(AppError::new(format!("`{}` has none of the entries that a start used", printable(original))));
    }
    let plan = archive.plan(&used, archive.layout()).with_context(cannot)?;
    let place = OutputTarget::new(replacement, kinds::REORDERED, false)?;
    let staged = place.begin()?;
    put_into_order(original, &view, &archive, &plan, &staged, interrupt)?;
    place.finish(staged)?;
    Ok(())
}

/// Writes a zip file as planned, reads the new one, and compares both. Returns the digest of both.
fn put_into_order(
    path: &Path,
    view: &FileView,
    before: &ZipArchive<'_>,
    plan: &ZipPlan,
    staged: &StagedFile,
    interrupt: &Interrupt,
) -> Result<String, AppError> {
    let cannot = || format!("cannot put `{}` into order", printable(path));
    write(staged, view.bytes(), plan, interrupt).map_err(|error| error.within(cannot()))?;
    let written = FileView::map(staged.file()).with_context(cannot)?;
    let digest = proven(before, written.bytes(), path)?;
    if view.shrank() || written.shrank() {
        return Err(anyhow!("`{}` became shorter while it was read", printable(path)))
            .hint(|| "try again when nothing writes to it");
    }
    Ok(digest)
}

fn write(staged: &StagedFile, bytes: &[u8], plan: &ZipPlan, interrupt: &Interrupt) -> Result<(), AppError> {
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(staged.file(), Some(interrupt)));
    for piece in &plan.pieces {
        let piece = match piece {
            Piece::Copy(range) => bytes.get(range.clone()).unwrap_or_default(),
            Piece::New(bytes) => bytes,
        };
        // A system call must not read mapped bytes, which the file may have lost: they go through the buffer.
        for portion in piece.chunks(AT_ONCE / 2) {
            out.write_all(portion)?;
        }
    }
    Ok(out.flush()?)
}

/// Reads the new file, and compares it with the old one. Returns the digest of both.
fn proven(before: &ZipArchive<'_>, written: &[u8], path: &Path) -> Result<String, AppError> {
    let different = || format!("the new file does not hold the same as `{}`, and was not kept", printable(path));
    let after = ZipArchive::read(written).with_context(different)?;
    same(before, &after).with_context(different)?;
    let digest_before = digest(before);
    match digest_before == digest(&after) {
        true => Ok(digest_before),
        false => Err(AppError::new(different())),
    }
}

fn notes(archive: &ZipArchive<'_>, used: &[usize], path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    if archive.padding() > 0 {
        notes.push(format!("{} bytes of zeros between entries were left out", archive.padding()));
    }
    if used.is_empty() {
        notes.push("the starts read only its directory, so that the order is the old one".to_owned());
    }
    if path.extension().is_some_and(|extension| extension == "jar") {
        notes.push(
            "archives of classes (`-XX:SharedArchiveFile`, `-XX:AOTCache`) check the size and time of a jar: make them anew, and measure; \
             they usually save more than the order of a jar"
                .to_owned(),
        );
    }
    notes
}

/// In how many pieces some ranges lie, and how far they reach.
fn pieces(mut ranges: Vec<(u64, u64)>) -> (u64, u64) {
    ranges.sort_unstable();
    let Some((first, _)) = ranges.first().copied() else { return (0, 0) };
    let (mut count, mut end) = (0u64, None);
    for (start, range_end) in ranges {
        if end.is_none_or(|end| start > end) {
            count = count.saturating_add(1);
        }
        end = Some(end.unwrap_or_default().max(range_end));
    }
    (count, end.unwrap_or_default().saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::pieces;

    #[test]
    fn adjacent_ranges_are_one_piece() {
        assert_eq!(pieces(vec![]), (0, 0));
        assert_eq!(pieces(vec![(30, 40), (0, 10), (10, 20)]), (2, 40));
    }
}
