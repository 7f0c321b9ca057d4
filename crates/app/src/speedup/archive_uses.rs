//! Archives that a traced start used, and what another order of them would save.
//!
//! Not obvious: only reading is predicted. Of an AppImage it is not known before the image is made again where the used parts will lie, so they are
//! taken to be one piece of as many bytes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use coldstart_archive::zip::{ZipArchive, used_entries};
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::trace::{FileId, Trace, TracedFile};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use coldstart_trace::page_uses;
use rustix::fs::fstat;

use super::reading::{PAGE, Reading, is_worth, reading};
use crate::order::appimage::appimage_signature;
use crate::order::used_pages::is_unchanged;

/// The kinds of archives that can be put into order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArchiveKind {
    /// A zip file.
    Zip,
    /// The program is this AppImage.
    AppImage,
}

/// An archive that a start used.
#[derive(Clone, Debug)]
pub(super) struct ArchiveUse {
    pub(super) path: PathBuf,
    pub(super) kind: ArchiveKind,
    /// Of a zip file, the names of the used entries, in the order of their first use.
    pub(super) names: Vec<PathBuf>,
    /// Of a zip file, how many entries it has.
    pub(super) entries: usize,
    /// What reading the used parts costs a cold start.
    pub(super) before: Reading,
    /// The saving of another order, in seconds, or why there is none: a clause.
    pub(super) saved: Result<f64, String>,
    /// Bytes of the file.
    pub(super) size: u64,
}

/// The archives of a traced start that took so many `seconds`. Files that cannot be read, or have changed, are left out.
pub(super) fn archive_uses(trace: &Trace, device: &PlannedDevice, seconds: f64) -> Vec<ArchiveUse> {
    let mut pages: HashMap<FileId, Vec<u64>> = HashMap::new();
    for (file, range) in page_uses(trace) {
        pages.entry(file).or_default().extend(range.start.0..range.end().0);
    }
    let mut files: Vec<(FileId, Vec<u64>)> = pages.into_iter().collect();
    files.sort_unstable_by_key(|(file, _)| file.0);
    let program = trace.processes.first().map(|process| &process.program);
    let mut found = Vec::new();
    for (id, pages) in files {
        let Some(file) = trace.file(id) else { continue };
        let is_program = program == Some(&file.path);
        if !is_program && trace.objects.iter().any(|object| object.file == id) {
            continue;
        }
        let Some(view) = unchanged(file) else { continue };
        let appimage = is_program.then(|| appimage_signature(view.bytes())).flatten();
        let archive = match appimage {
            Some(is_signed) => Some(appimage_use(file, is_signed, pages, device)),
            None => zip_use(file, &view, pages, device),
        };
        let Some(mut archive) = archive.filter(|_| !view.shrank()) else { continue };
        archive.size = view.bytes().len() as u64;
        if archive.saved.as_ref().is_ok_and(|saved| !is_worth(*saved, seconds)) {
            archive.saved = Err("what the start uses of it is read about as fast as it lies".to_owned());
        }
        found.push(archive);
    }
    found
}

/// The content of a file, if it is the traced one.
fn unchanged(file: &TracedFile) -> Option<FileView> {
    let opened: File = open_regular(&file.path).ok()?;
    if !is_unchanged(file, &fstat(&opened).ok()?) {
        return None;
    }
    FileView::map(opened).ok()
}

fn zip_use(file: &TracedFile, view: &FileView, pages: Vec<u64>, device: &PlannedDevice) -> Option<ArchiveUse> {
    let archive = ZipArchive::read(view.bytes()).ok()?;
    let used = used_entries(&archive, &[pages]);
    let plan = archive.plan(&used, archive.layout()).ok()?;
    let entries = used.iter().filter_map(|number| archive.entries().get(*number));
    let before = entries.clone().map(|entry| (entry.record.start as u64, entry.record.end as u64));
    let after = used.iter().filter_map(|number| plan.places.get(*number)).map(|place| (place.start, place.end));
    let (before, after) = (reading(before.collect(), device), reading(after.collect(), device));
    Some(ArchiveUse {
        path: file.path.clone(),
        kind: ArchiveKind::Zip,
        names: entries.map(|entry| OsString::from_vec(entry.name.clone()).into()).collect(),
        entries: archive.entries().len(),
        before,
        saved: match archive.check_unsigned() {
            Ok(()) => Ok(before.seconds - after.seconds),
            Err(error) => Err(error.to_string()),
        },
        size: 0,
    })
}

fn appimage_use(file: &TracedFile, is_signed: bool, mut pages: Vec<u64>, device: &PlannedDevice) -> ArchiveUse {
    pages.sort_unstable();
    pages.dedup();
    let place = |page: &u64| (page.saturating_mul(PAGE), page.saturating_add(1).saturating_mul(PAGE));
    let before = reading(pages.iter().map(place).collect(), device);
    let after = reading(vec![(0, before.bytes)], device);
    ArchiveUse {
        path: file.path.clone(),
        kind: ArchiveKind::AppImage,
        names: Vec::new(),
        entries: 0,
        before,
        saved: match is_signed {
            true => Err("it is signed".to_owned()),
            false => Ok(before.seconds - after.seconds),
        },
        size: 0,
    }
}
