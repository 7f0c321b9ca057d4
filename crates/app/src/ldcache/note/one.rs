//! Adding a note to one file: search, plan, write, prove, rename.

use std::borrow::Cow;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_loader::ObjectFacts;
use coldstart_loader::nix_note::{NixNote, SECTION};
use coldstart_profile::printable;
use coldstart_prove::{LoadedNote, PathKind, Proof, SearchEdit, SearchPath};
use coldstart_rewrite::{
    About, Allowed, ChangedFile, Claim, EditNote, OriginalFile, Pass, Refusal, Replacement, SearchSummary, plan_search,
    plan_unpack,
};
use coldstart_startup::Files;

use super::{EDIT, fresh, has_section};
use crate::error::AppError;
use crate::restoring::taken_back_by;
use crate::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Rule, Task, Unproven, Worked, Writing, taken_back,
    truncated_error, write,
};

/// How to write notes, and where to.
pub(super) struct Noter {
    pub(super) files: Files,
    pub(super) allowed: Allowed,
    pub(super) place: Destination,
    /// The rule for replacing existing files.
    pub(super) rule: Rule,
}

/// The result for a file that can have a note.
#[derive(Debug)]
pub enum Done {
    /// A note was added.
    Written(Box<Written>),
    /// It already has the same note.
    Current(NixNote),
}

/// A file with a new note.
#[derive(Debug)]
pub struct Written {
    /// The note.
    pub note: NixNote,
    /// What was edited.
    pub summary: SearchSummary,
    /// The written file, with its proof.
    pub replacement: Replacement<Proof>,
}

/// The planned edit, and its input.
struct Planned<'view> {
    note: NixNote,
    edit: SearchEdit,
    /// The file without an earlier note by coldstart.
    content: Cow<'view, [u8]>,
}

/// The planned work on a file.
enum Plan<'view> {
    Write(Planned<'view>),
    Current(NixNote),
}

impl Noter {
    /// Adds a note to a file.
    pub(super) fn write(&self, task: &Task) -> Worked<Done> {
        Worked::on(task, |original, planning| self.work_on(task, original, planning))
    }

    fn work_on(
        &self,
        task: &Task,
        original: &OriginalFile,
        planning: &mut Planning,
    ) -> Result<Outcome<Done>, AppError> {
        let view = original.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let plan = self.plan(view.bytes());
        planning.ends();
        if view.shrank() {
            return Err(truncated_error(&task.path));
        }
        let planned = match plan {
            Ok(Plan::Write(planned)) => planned,
            Ok(Plan::Current(note)) if self.place == Destination::InPlace => {
                return Ok(Outcome::Done(Done::Current(note)));
            }
            // With an output path, a copy is required.
            Ok(Plan::Current(_)) => match self.plan_anew(view.bytes()) {
                Ok(planned) => planned,
                Err(refused) => return Ok(Outcome::Refused(refused)),
            },
            Err(refused) => return Ok(Outcome::Refused(refused)),
        };
        if let Some(refusal) = original.facts().refusal(&self.allowed) {
            return Ok(Outcome::Refused(refusal.into()));
        }
        let note = EditNote { name: EDIT, content: None };
        let file = ElfFile::parse(&planned.content).map_err(Refusal::from);
        let search = match file.and_then(|file| plan_search(&file, &planned.edit, note)) {
            Ok(search) => search,
            Err(refusal) => return Ok(Outcome::Refused(refusal.into())),
        };
        let writing = Writing {
            task,
            original,
            view: &view,
            content: taken_back(&planned.content),
            place: &self.place,
            rule: &self.rule,
            keep_original: None,
        };
        let written = write(&writing, &search.script, Claim::Search(&planned.edit));
        match written {
            Ok(replacement) => {
                let written = Written { note: planned.note, summary: search.summary, replacement };
                Ok(Outcome::Done(Done::Written(Box::new(written))))
            }
            Err(NotWritten::Unproven(Unproven::Contradicts { source, .. })) => {
                Ok(Outcome::Refused(Refusal::Layout(source.to_string()).into()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn plan<'view>(&self, bytes: &'view [u8]) -> Result<Plan<'view>, Refused> {
        let planned = self.plan_anew(bytes)?;
        let file = ElfFile::parse(bytes).map_err(Refusal::from)?;
        Ok(match NixNote::read(&file) {
            Ok(Some(there)) if there == planned.note => Plan::Current(there),
            _ => Plan::Write(planned),
        })
    }

    fn plan_anew<'view>(&self, bytes: &'view [u8]) -> Result<Planned<'view>, Refused> {
        let content = without_note(bytes)?;
        let file = ElfFile::parse(&content).map_err(Refusal::from)?;
        let facts = ObjectFacts::of(&file).map_err(Refusal::from)?;
        let note = fresh(&facts, &self.files);
        if note.entries.is_empty() {
            return Err(nothing_to_note(&facts));
        }
        let bytes = note.to_bytes(file.encoding().byte_order);
        let edit = SearchEdit {
            needed: facts.needed.clone(),
            path: path(&facts),
            audit: None,
            loaded_note: Some(LoadedNote { section: SECTION.to_owned(), bytes }),
        };
        Ok(Planned { note, edit, content })
    }
}

/// The unchanged search path.
fn path(facts: &ObjectFacts) -> Option<SearchPath> {
    let runpath = facts.runpath.clone().map(|text| SearchPath { kind: PathKind::Runpath, text });
    runpath.or_else(|| facts.rpath.clone().map(|text| SearchPath { kind: PathKind::Rpath, text }))
}

fn nothing_to_note(facts: &ObjectFacts) -> Refused {
    let has_path = facts.runpath.as_ref().or(facts.rpath.as_ref()).is_some_and(|path| !path.is_empty());
    let reason = match (facts.needed.is_empty(), has_path) {
        (true, _) => "it needs no libraries",
        (false, false) => "it has no run path (DT_RUNPATH, DT_RPATH) to record",
        (false, true) => "none of its libraries is on its run path",
    };
    let hint = (!facts.needed.is_empty()).then(|| "`coldstart resolve` shows how its libraries are found".to_owned());
    Refused { code: "nothing-to-note", reason: reason.to_owned(), hint }
}

/// A file without coldstart's note, or unchanged if it has none.
fn without_note(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refused> {
    let file = ElfFile::parse(bytes).map_err(Refusal::from)?;
    if !has_section(&file) && !matches!(NixNote::read(&file), Ok(Some(_)) | Err(_)) {
        return Ok(Cow::Borrowed(bytes));
    }
    let edits = About::read(&file).map(|about| about.edits).unwrap_or_default();
    match edits.last().map(String::as_str) {
        Some(EDIT) => Ok(Cow::Owned(plan_unpack(&file, ChangedFile::Refuse)?.restore(bytes)?)),
        Some(last) if last == "bind" || Pass::is_edit(last) => Err(Refused {
            code: "other-edit",
            reason: format!("it has a resolution note, followed by the edit `{last}`"),
            hint: taken_back_by(last),
        }),
        _ => Err(Refused {
            code: "note-of-others",
            reason: format!("it already has a section {SECTION}, not written by coldstart"),
            hint: Some("`coldstart ldcache check FILE` checks it; add a note to the file as it was built".to_owned()),
        }),
    }
}
