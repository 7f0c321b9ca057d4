//! A copy of a desktop entry, which takes precedence over the package's, with the launcher in its command lines.

pub(in crate::place) mod entry;
mod exec;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use coldstart_profile::printable;

use super::{Place, PlannedPlace, Subject, find_in, is_same_file};
use crate::error::InstallError;
use crate::file::{MARK, PlannedFile, is_marked, read_regular};
use entry::Entry;
use exec::Exec;

/// How deep directories of desktop entries are searched.
const DEPTH: usize = 4;

/// `desktop`, `desktop=ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desktop {
    /// The entry's id; `None` for all entries that start the program.
    pub id: Option<String>,
}

/// A desktop entry that was found.
struct FoundEntry {
    /// Its path.
    path: PathBuf,
    /// Its path within the directory of desktop entries.
    relative: PathBuf,
}

impl Place for Desktop {
    fn words(&self) -> OsString {
        self.id.as_ref().map_or_else(|| "desktop".into(), |id| format!("desktop={id}").into())
    }

    fn plan(&self, subject: &Subject<'_>) -> Result<PlannedPlace, InstallError> {
        let entries = entries(&subject.directories.applications_search);
        let mut planned = PlannedPlace::default();
        if let Some(id) = &self.id {
            let id = if id.ends_with(".desktop") { id.clone() } else { format!("{id}.desktop") };
            let found = entries.get(&id).ok_or_else(|| {
                let hint = "`--place desktop` takes all entries that start the program";
                InstallError::refused(format!("the desktop entry `{id}`"), "there is none of this id", Some(hint))
            })?;
            planned.add(subject, &id, found, true)?;
        } else {
            for (id, found) in &entries {
                if !starts_it(subject, found) {
                    continue;
                }
                match planned.add(subject, id, found, false) {
                    Err(InstallError::Refused { place, reason, .. }) => {
                        planned.notes.push(format!("{place} is left out: {reason}"));
                    }
                    added => added?,
                }
            }
        }
        if planned.files.is_empty() {
            let reason = match planned.notes.is_empty() {
                true => format!("none starts `{}`", printable(subject.program)),
                false => planned.notes.join("; "),
            };
            let hint = "name one with `--place desktop=ID`, or use `--place wrapper`";
            return Err(InstallError::refused("a desktop entry", reason, Some(hint)));
        }
        let names: Vec<String> = planned.files.iter().map(|file| format!("`{}`", printable(&file.path))).collect();
        let (noun, names) = (if names.len() == 1 { "entry" } else { "entries" }, names.join(", "));
        planned.summary = format!("the desktop {noun} {names}, for {}", subject.directories.for_whom());
        Ok(planned)
    }
}

/// Whether a desktop entry starts the program.
pub(super) fn starts(subject: &Subject<'_>) -> bool {
    let entries = entries(&subject.directories.applications_search);
    entries
        .values()
        .any(|found| starts_it(subject, found) && read(found).is_ok_and(|(text, _)| !is_marked(text.as_bytes())))
}

impl PlannedPlace {
    /// Adds a copy of an entry. `is_named`: the user named it, so whatever it starts is meant.
    fn add(&mut self, subject: &Subject<'_>, id: &str, found: &FoundEntry, is_named: bool) -> Result<(), InstallError> {
        let place = || format!("the desktop entry `{id}`");
        let refused = |reason: &str, hint: Option<&str>| Err(InstallError::refused(place(), reason, hint));
        let (text, entry) = read(found)?;
        if is_marked(text.as_bytes()) {
            return refused("another installation has changed it", Some("undo that one first: `coldstart installed`"));
        }
        let Some(main) = entry.exec.as_ref().filter(|_| entry.is_application && !entry.is_hidden) else {
            return refused("it starts no program", None);
        };
        if entry.is_dbus_activatable && !entry.actions_without_exec.is_empty() {
            let reason = "it is started through D-Bus, and some of its actions have no command line";
            return refused(reason, Some("install a wrapper: `--place wrapper`"));
        }
        let started = main.program().and_then(|word| resolved(subject, &word));
        let Some(started) = started else { return refused("its program is not installed", None) };
        let starter = subject.installation.starter();
        let Some(starter) = starter.to_str() else {
            return refused("a desktop entry cannot name the directory of the installation, which is not text", None);
        };
        if is_named && !is_same_file(&started, subject.program) {
            self.notes.push(format!("{} starts `{}`, with the plan of another program", place(), printable(&started)));
        }
        if entry.is_dbus_activatable {
            self.notes.push(format!("{} is started by its command line from now on, no longer through D-Bus", place()));
        }
        let change = |exec: &Exec| {
            let program = exec.program().and_then(|word| resolved(subject, &word))?;
            let is_it = is_same_file(&program, &started);
            is_it.then(|| exec.started_by(starter, program.to_str()?)).flatten()
        };
        let head = format!("{MARK}: a copy of {}", printable(&found.path));
        let bytes = entry::changed(&text, &head, change).into_bytes();
        self.files.push(PlannedFile {
            path: subject.directories.applications.join(&found.relative),
            bytes,
            mode: 0o644,
        });
        // One that is replaced by its own copy is kept as what stood there before.
        if !found.path.starts_with(&subject.directories.applications) {
            self.sources.push(found.path.clone());
        }
        Ok(())
    }
}

fn read(found: &FoundEntry) -> Result<(String, Entry), InstallError> {
    let real = found.path.canonicalize().map_err(InstallError::io("read", &found.path))?;
    let bytes = read_regular(&real).map_err(InstallError::io("read", &found.path))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        InstallError::refused(format!("the desktop entry `{}`", printable(&found.path)), "it is not UTF-8", None)
    })?;
    let entry = entry::parse(&text);
    Ok((text, entry))
}

/// Whether an entry starts the program, with nothing to work on but what our command has, too. An interpreter with another script
/// is another program.
fn starts_it(subject: &Subject<'_>, found: &FoundEntry) -> bool {
    let Ok((_, Entry { exec: Some(exec), is_application: true, is_hidden: false, .. })) = read(found) else {
        return false;
    };
    let program = exec.program().and_then(|word| resolved(subject, &word));
    program.is_some_and(|program| is_same_file(&program, subject.program))
        && exec.operands().all(|word| subject.arguments.iter().any(|argument| argument == word))
}

/// The file that a word of a command line names. A wrapper of ours is passed by.
fn resolved(subject: &Subject<'_>, word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Path::new(word).is_absolute().then(|| PathBuf::from(word)).filter(|path| path.is_file());
    }
    let wrapper = subject.directories.wrappers.join(word);
    find_in(subject.directories.path.as_deref(), OsStr::new(word), Some(&wrapper))
        .or_else(|| find_in(subject.directories.path.as_deref(), OsStr::new(word), None))
}

/// All desktop entries by their id; the first directory that has one wins.
fn entries(directories: &[PathBuf]) -> BTreeMap<String, FoundEntry> {
    let mut found = BTreeMap::new();
    for directory in directories {
        collect(directory, Path::new(""), 0, &mut found);
    }
    found
}

fn collect(top: &Path, relative: &Path, depth: usize, found: &mut BTreeMap<String, FoundEntry>) {
    let Ok(entries) = std::fs::read_dir(top.join(relative)) else { return };
    for entry in entries.flatten() {
        let relative = relative.join(entry.file_name());
        let path = top.join(&relative);
        if path.extension().is_some_and(|ending| ending == "desktop") && path.is_file() {
            let Some(id) = relative.to_str().map(|text| text.replace('/', "-")) else { continue };
            found.entry(id).or_insert(FoundEntry { path, relative });
        } else if depth < DEPTH && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(top, &relative, depth.saturating_add(1), found);
        }
    }
}
