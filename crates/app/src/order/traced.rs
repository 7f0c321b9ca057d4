//! Traces of one object, and whether they are of the same build.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use coldstart_order::{CodeUse, FunctionTable, ObjectCalls};
use coldstart_profile::pattern::means_file;
use coldstart_profile::trace::{EventKind, FileId, Layer, Trace, TracedObject};
use coldstart_profile::{printable, shell_command, shell_word};
use coldstart_symbols::LinkerNames;

use crate::error::{AppError, HintExt};

/// What one traced start did with the object.
pub(super) struct TracedStart {
    pub(super) path: PathBuf,
    pub(super) object_path: PathBuf,
    pub(super) object: TracedObject,
    pub(super) calls: ObjectCalls,
}

/// Which object of a trace is meant.
pub(super) enum Meant<'a> {
    /// One with this name, or the program.
    Named(Option<&'a str>),
    /// That of these names, by build id or sections.
    Build(&'a LinkerNames),
}

impl TracedStart {
    /// Reads a trace.
    ///
    /// # Errors
    /// If it cannot be read, has no such object, or no calls in it where `needs_calls`.
    pub(super) fn read(path: &Path, meant: &Meant<'_>, needs_calls: bool) -> Result<Self, AppError> {
        let trace = crate::trace::read(path)?;
        if needs_calls && !trace.run.layers.contains(&Layer::Functions) {
            return Err(anyhow!("the trace `{}` has no first calls of functions", printable(path))).hint(|| {
                // Imports have no condition of readiness.
                let ready = match trace.run.readiness.as_str() {
                    condition if condition != "exit" && trace.run.known_end().is_some() => {
                        format!("--ready {} ", shell_word(condition.as_ref()))
                    }
                    _ => String::new(),
                };
                format!(
                    "record them: `coldstart trace --layers functions {ready}--force -o {} -- {}`",
                    shell_word(path.as_os_str()),
                    shell_command(trace.run.command.iter().map(|word| word.as_os_str()))
                )
            });
        }
        let object = find(&trace, meant, path)?;
        let object_path = trace.file(object.file).map(|file| file.path.clone()).unwrap_or_default();
        let calls = ObjectCalls::of(&trace.events, object.file);
        if needs_calls && calls.calls.is_empty() {
            let about = printable(&object_path);
            let reason = trace.process_notes().into_iter().map(|(note, _)| note).find(|note| note.contains(&about));
            let reason = reason.map(|note| format!(": {note}")).unwrap_or_default();
            return Err(anyhow!("the trace `{}` has no first calls in `{about}`{reason}", printable(path)))
                .hint(|| "name another object with --object, or record with `--functions-of` it");
        }
        Ok(Self { path: path.to_owned(), object_path, object: object.clone(), calls })
    }

    /// The code that it used.
    pub(super) fn code(&self, table: &FunctionTable) -> CodeUse {
        CodeUse::of(&self.calls, table, |page| self.object.address_of(page.checked_mul(4096)?))
    }
}

fn find<'a>(trace: &'a Trace, meant: &Meant<'_>, path: &Path) -> Result<&'a TracedObject, AppError> {
    let path_of = |object: &TracedObject| trace.file(object.file).map(|file| file.path.as_path());
    let found = match meant {
        Meant::Named(Some(name)) => trace
            .objects
            .iter()
            .find(|object| path_of(object).is_some_and(|path| means_file(name, path, || object.soname.as_deref()))),
        Meant::Named(None) => {
            let program = trace.processes.first().map(|process| process.program.as_path());
            trace.objects.iter().find(|object| path_of(object) == program).or_else(|| most_called(trace))
        }
        Meant::Build(names) => trace.objects.iter().find(|object| difference(object, names).is_none()),
    };
    found.ok_or_else(|| match meant {
        Meant::Named(name) => AppError::hinted(
            anyhow!("the trace `{}` has no object `{}`", printable(path), name.unwrap_or("of a program")),
            format!("list its objects with `coldstart trace show {}`", shell_word(path.as_os_str())),
        ),
        Meant::Build(_) => AppError::hinted(
            anyhow!(
                "the trace `{}` is not of this build: no object in it has the same build id or sections",
                printable(path)
            ),
            "record the start of the build that is named with --before",
        ),
    })
}

fn most_called(trace: &Trace) -> Option<&TracedObject> {
    let count = |file: FileId| {
        let is_call =
            |event: &&coldstart_profile::trace::Event| event.kind == EventKind::Function && event.file == Some(file);
        trace.events.iter().filter(is_call).count()
    };
    trace.objects.iter().max_by_key(|object| count(object.file))
}

/// Why names are not those of a traced object: a clause. Build ids decide where both have one; the sections with code must be at
/// the same addresses in any case.
pub(super) fn difference(object: &TracedObject, names: &LinkerNames) -> Option<String> {
    if let (Some(traced), Some(other)) = (&object.build_id, &names.build_id)
        && traced != other
    {
        return Some(format!("its build id is {other}, and that of the traced file {traced}"));
    }
    let mut compared = 0;
    for section in names.sections.iter().filter(|section| section.is_executable) {
        match object.sections.iter().find(|traced| traced.name == section.name) {
            Some(traced) if (traced.address, traced.size) == (section.address, section.size) => compared += 1,
            Some(_) => return Some(format!("its section {} is not where it was in the traced file", section.name)),
            None => return Some(format!("the traced file has no section {}", section.name)),
        }
    }
    (compared == 0).then(|| "it has no sections with code".to_owned())
}

/// Refuses traces of another build than the first.
pub(super) fn check_builds(starts: &[TracedStart]) -> Result<(), AppError> {
    let Some((first, others)) = starts.split_first() else { return Ok(()) };
    for other in others {
        let differ = match (&first.object.build_id, &other.object.build_id) {
            (Some(one), Some(two)) if one != two => Some(format!("build id {one} and {two}")),
            (None, Some(_)) | (Some(_), None) => Some("only one has a build id".to_owned()),
            _ if first.object.sections != other.object.sections => Some("other sections".to_owned()),
            _ => None,
        };
        if let Some(differ) = differ {
            return Err(anyhow!(
                "`{}` and `{}` are traces of different builds of `{}`: {differ}",
                printable(&first.path),
                printable(&other.path),
                printable(&first.object_path)
            ))
            .hint(|| "record all starts with the same build");
        }
    }
    Ok(())
}
