//! `status`: the edits by coldstart in a file, and the libraries of a bound program that have changed since.

use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::{Binding, Caution, Change, MachineFiles, Mode};
use coldstart_elf::ElfFile;
use coldstart_profile::{JsonPath, printable};
use coldstart_rewrite::{About, Identity, Refusal, binding_note, identify};
use serde::{Serialize, Serializer};

use crate::command;
use crate::error::AppError;
use crate::reading::map;
use crate::restoring::changed_file_hint;
use crate::rewriting::truncated_error;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.status/1";

/// The status of a file.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The file.
    #[serde(flatten)]
    pub path: JsonPath,
    /// The content of its coldstart note; `None` for an unedited file.
    #[serde(flatten)]
    pub about: Option<About>,
    /// Whether it is unchanged since coldstart wrote it; `None` for an unedited file.
    pub identity: Option<Identity>,
    /// How it was bound, if it was.
    pub binding: Option<Binding>,
    /// What has changed since it was bound.
    pub changes: Vec<Change>,
    /// Problems that are not changes.
    pub cautions: Vec<Caution>,
    /// The error if the file cannot be examined; the other members are empty in this case.
    pub error: Option<String>,
}

impl Status {
    fn failed(path: &Path, error: String) -> Self {
        Self {
            path: JsonPath::new(path),
            about: None,
            identity: None,
            binding: None,
            changes: Vec::new(),
            cautions: Vec::new(),
            error: Some(error),
        }
    }

    /// Whether the file and the libraries it was bound to are unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.identity == Some(Identity::Intact) && self.changes.is_empty()
    }
}

/// The status of all files. It is serialised with a record for each.
#[derive(Debug)]
pub struct Report {
    /// Each file in argument order, with its status or error.
    pub files: Vec<(PathBuf, Result<Status, AppError>)>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            files: Vec<Record<'a>>,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Record<'a> {
            Known(&'a Status),
            Failed(Box<Status>),
        }
        let records = self.files.iter().map(|(path, status)| match status {
            Ok(status) => Record::Known(status),
            Err(error) => Record::Failed(Box::new(Status::failed(path, error.sentence()))),
        });
        Body { files: records.collect() }.serialize(serializer)
    }
}

/// Looks at each file. Nothing is run or changed.
pub fn status(files: &[PathBuf]) -> Report {
    Report { files: files.iter().map(|path| (path.clone(), of_file(path))).collect() }
}

/// A hint for a file that has changed, or has changed libraries.
pub fn next_step(path: &Path, status: &Status) -> Option<String> {
    let last = status.about.as_ref().and_then(|about| about.edits.last()).map(String::as_str);
    let about_file = match &status.identity {
        Some(Identity::Changed { change }) => Some(changed_file_hint(path, change, last)),
        Some(Identity::Intact) => None,
        Some(Identity::Unrecorded) | None if status.about.is_none() => None,
        Some(Identity::Unrecorded) | None => Refusal::Unrecorded.hint(),
    };
    let binding = status.binding.as_ref().filter(|_| !status.changes.is_empty());
    about_file.or_else(|| Some(rebinding(path, binding?, &status.changes)))
}

/// The hint to bind a program again.
fn rebinding(program: &Path, binding: &Binding, changes: &[Change]) -> String {
    let foreign = changes.iter().find_map(|change| match change {
        Change::AuditLibraryReplaced { path, by_coldstart: false } => Some(path),
        _ => None,
    });
    let before = foreign.map(|path| format!("move `{}` away first; ", printable(path))).unwrap_or_default();
    // Without it, the program would be bound in the default mode.
    let verb = match binding.mode {
        Mode::Soname => "bind --rebind --in-place".to_owned(),
        mode => format!("bind --rebind --in-place --mode {}", mode.name()),
    };
    let rebind = command::of_ours_in_prose(&verb, program);
    format!("{before}`{rebind}` binds it to the current files")
}

/// The status of one file.
///
/// # Errors
/// If it cannot be read, is not an ELF file, or has a malformed note.
pub fn of_file(path: &Path) -> Result<Status, AppError> {
    let shown = || format!("cannot read `{}`", printable(path));
    let view = map(path).with_context(shown)?;
    let file = ElfFile::parse(view.bytes()).with_context(shown)?;
    let about = About::read(&file);
    let identity = identify(&file);
    let binding = about.as_ref().and_then(|_| binding_note(&file)).map(Binding::from_json).transpose();
    let binding = binding.with_context(shown)?;
    if view.shrank() {
        return Err(truncated_error(path));
    }
    let (mut changes, mut cautions) = (Vec::new(), Vec::new());
    if let Some(binding) = &binding {
        let files = MachineFiles::default();
        let real = path.canonicalize().with_context(shown)?;
        let environment = coldstart_bind::machine_environment(&real, &files, false);
        changes = coldstart_bind::status(binding, &real, &files, &environment).with_context(shown)?;
        cautions.extend(coldstart_bind::audit_library_caution(binding, &real));
    }
    Ok(Status { path: JsonPath::new(path), about, identity, binding, changes, cautions, error: None })
}
