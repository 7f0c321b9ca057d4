//! Checks that the note in a file still matches a search.

use std::collections::BTreeMap;

use coldstart_loader::nix_note::{NixEntry, NixNote, NixPlace};
use coldstart_profile::printable;
use coldstart_startup::Files;

use super::super::{CheckOptions, Checked, Finding};
use super::{Noted, fresh, path, places_text};
use crate::error::AppError;
use crate::observer::Observer;
use crate::starting::open_root;
use crate::text::harmless;

/// Checks that the note in a file still matches a search.
///
/// # Errors
/// If the file is not an ELF file or cannot be read, or the sysroot cannot be used.
pub fn check(options: &CheckOptions, observer: &dyn Observer) -> Result<Checked, AppError> {
    let noted = Noted::read(&options.file)?;
    let mut findings = Vec::new();
    let mut entries = 0;
    match &noted.note {
        Err(error) => findings.push(Finding::of_whole("damaged", error.to_string())),
        Ok(None) => {
            let message = format!("`{}` has no resolution note", printable(&options.file));
            findings.push(Finding::of_whole("no-note", message));
        }
        Ok(Some(note)) => {
            entries = note.entries.len();
            if !noted.is_loaded {
                let message = "the note is outside every PT_NOTE segment, so loaders do not find it".to_owned();
                findings.push(Finding::of_whole("not-loaded", message));
            }
            look_at_names(note, &mut findings);
            if !options.only_cache {
                let files = Files::new(open_root(options.sysroot.as_deref(), observer)?, None);
                look_at_files(note, &files, &mut findings);
                compare(note, &fresh(&noted.facts, &files), &mut findings);
            }
        }
    }
    Ok(Checked::new(&options.file, entries, findings))
}

/// Findings in the note itself.
fn look_at_names(note: &NixNote, findings: &mut Vec<Finding>) {
    let mut names: Vec<&[u8]> = note.entries.iter().map(|entry| entry.needed.as_slice()).collect();
    names.sort_unstable();
    for pair in names.windows(2) {
        if let [one, other] = pair
            && one == other
        {
            findings.push(Finding::of("repeated", true, one, b"", "duplicate name in the note".to_owned()));
        }
    }
}

/// The files in the note.
fn look_at_files(note: &NixNote, files: &Files, findings: &mut Vec<Finding>) {
    let mut probes: BTreeMap<&[u8], Option<(&'static str, String)>> = BTreeMap::new();
    for entry in &note.entries {
        for place in &entry.places {
            let NixPlace::Exact(file) = place else { continue };
            let fault = probes.entry(file).or_insert_with(|| file_fault(files, file));
            if let Some((kind, message)) = fault {
                findings.push(Finding::of(kind, true, &entry.needed, file, message.clone()));
            }
        }
    }
}

/// The fault of a file in the note.
fn file_fault(files: &Files, file: &[u8]) -> Option<(&'static str, String)> {
    use std::io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
    let error = files.object_file(path(file)).err()?;
    Some(match error.kind() {
        InvalidData | InvalidInput | IsADirectory | UnexpectedEof => ("no-library", error.to_string()),
        NotFound | NotADirectory => ("gone", "no such file".to_owned()),
        kind => ("unreadable", format!("cannot be read: {kind}")),
    })
}

/// Differences between the note and a search along the run path.
fn compare(note: &NixNote, fresh: &NixNote, findings: &mut Vec<Finding>) {
    let said = |entry: &NixEntry| places_text(&entry.places);
    for entry in &fresh.entries {
        match note.places(&entry.needed) {
            None => {
                let message = format!("missing from the note; a search finds {}", said(entry));
                findings.push(Finding::of("missing", true, &entry.needed, b"", message));
            }
            Some(places) if places != entry.places => {
                let message = format!("the note has {}; a search finds {}", places_text(places), said(entry));
                findings.push(Finding::of("changed", true, &entry.needed, b"", message));
            }
            Some(_) => {}
        }
    }
    for entry in note.entries.iter().filter(|entry| fresh.places(&entry.needed).is_none()) {
        let message = format!(
            "the note has {}; a search along the run path does not find `{}`",
            said(entry),
            harmless(&entry.needed)
        );
        findings.push(Finding::of("left-over", true, &entry.needed, b"", message));
    }
}
