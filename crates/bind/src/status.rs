//! Changes since a program was bound.

use std::fs;
use std::path::{Path, PathBuf};

use coldstart_loader::{Environment, ObjectFacts, Probe};
use serde::Serialize;

use crate::audit_library::audit_library_change;
use crate::libraries::places;
use crate::searches::original;
use crate::{Binding, BoundLibrary, Files, Options, Refusal, TagName};

/// A change since the program was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Change {
    /// A library's file is missing or unreadable.
    Gone {
        /// The requested name.
        library: String,
        /// Its previous path.
        path: PathBuf,
        /// The system error.
        reason: String,
    },
    /// A library was replaced: another build id, or another content if it has none.
    Replaced {
        /// The requested name.
        library: String,
        /// Its path.
        path: PathBuf,
    },
    /// The original program finds a library elsewhere: a new one is earlier on its path, or the old one is gone.
    FoundElsewhere {
        /// The requested name.
        library: String,
        /// The processor level.
        level: Option<String>,
        /// Its previous path.
        was: PathBuf,
        /// Its path now.
        now: PathBuf,
    },
    /// The original program loads other names, or in another order.
    OtherNames {
        /// The name that it loads now.
        now: Option<String>,
        /// The name that it loaded at this position.
        was: Option<String>,
    },
    /// The original program could not be bound now.
    CannotBeBound {
        /// The reason.
        reason: String,
    },
    /// The link directory is missing.
    FarmGone {
        /// Its path.
        directory: PathBuf,
    },
    /// A link is missing.
    LinkGone {
        /// Its path.
        path: PathBuf,
    },
    /// A link has another target, or something else replaced it.
    LinkLeadsElsewhere {
        /// Its path.
        path: PathBuf,
        /// Its target now, if it is a link.
        target: Option<PathBuf>,
    },
    /// The auditing library is missing, or not a readable regular file. glibc then starts the program without it.
    AuditLibraryGone {
        /// Its path.
        path: PathBuf,
        /// The system error.
        reason: String,
    },
    /// The auditing library was replaced. Its code runs in the program.
    AuditLibraryReplaced {
        /// Its path.
        path: PathBuf,
        /// It is one of our auditing libraries with another table: edited, or written for another program.
        by_coldstart: bool,
    },
    /// The note lacks a hash of the auditing library, so it cannot be compared: an earlier release wrote it.
    AuditLibraryUnrecorded {
        /// Its path.
        path: PathBuf,
    },
    /// The program's names or search path are not those that were written.
    ProgramEdited,
}

/// Changes since `program` was bound, in the order of the note; empty if there are none.
///
/// A library that was rewritten with the same build id, or only touched, is unchanged. `files` must be a new
/// instance. Changes that the loader follows by itself, such as an upgrade under the same name, are reported, too.
///
/// # Errors
/// If the program cannot be read.
pub fn status(
    binding: &Binding,
    program: &Path,
    files: &impl Files,
    environment: &Environment,
) -> Result<Vec<Change>, Refusal> {
    let path = files.canonical(program).ok_or_else(|| Refusal::NoProgram(program.to_owned()))?;
    let mut changes = Vec::new();
    match files.object(&path) {
        Probe::Object { facts, .. } if is_as_written(&facts, binding) => {}
        _ => changes.push(Change::ProgramEdited),
    }
    links(binding, &path, &mut changes);
    changes.extend(audit_library_change(binding, &path));
    changes.extend(binding.libraries.iter().filter_map(|library| replaced(library, &path, files)));
    searched(binding, program, files, environment, &mut changes)?;
    Ok(changes)
}

/// Restores a program's original facts.
pub(crate) fn make_original(facts: &mut ObjectFacts, binding: &Binding) {
    facts.needed = binding.original_needed.iter().map(|name| name.clone().into_bytes()).collect();
    let text = |kind: TagName| {
        let path = binding.original_path.as_ref().filter(|path| path.kind == kind);
        path.map(|path| path.text.clone().into_bytes())
    };
    let idle = binding.original_idle_rpath.clone().map(String::into_bytes);
    (facts.rpath, facts.runpath) = (text(TagName::Rpath).or(idle), text(TagName::Runpath));
}

fn is_as_written(facts: &ObjectFacts, binding: &Binding) -> bool {
    let needed = facts.needed.iter().map(Vec::as_slice).eq(binding.needed.iter().map(|name| name.as_bytes()));
    let path = match &binding.path {
        None => facts.rpath.is_none() && facts.runpath.is_none(),
        Some(path) => {
            let found = match path.kind {
                TagName::Rpath => facts.effective_rpath(),
                TagName::Runpath => facts.runpath.as_deref(),
            };
            found == Some(path.text.as_bytes())
        }
    };
    needed && path
}

/// Whether the links are unchanged.
fn links(binding: &Binding, program: &Path, changes: &mut Vec<Change>) {
    let Some(farm) = &binding.farm else { return };
    let directory = farm.directory(program);
    if !directory.is_dir() {
        return changes.push(Change::FarmGone { directory });
    }
    for link in &farm.links {
        let path = directory.join(&link.path);
        match fs::read_link(&path) {
            Ok(target) if target.as_os_str() == link.target.as_str() => {}
            Ok(target) => changes.push(Change::LinkLeadsElsewhere { path, target: Some(target) }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => changes.push(Change::LinkGone { path }),
            Err(_) => changes.push(Change::LinkLeadsElsewhere { path, target: None }),
        }
    }
}

/// Whether a library was replaced.
fn replaced(library: &BoundLibrary, program: &Path, files: &impl Files) -> Option<Change> {
    let path = library.path(program);
    let gone = |error: std::io::Error| {
        Some(Change::Gone { library: library.name.clone(), path: path.clone(), reason: error.to_string() })
    };
    let details = match files.details(&path) {
        Ok(details) => details,
        Err(error) => return gone(error),
    };
    let same = if library.build_id.is_some() || details.build_id.is_some() {
        library.build_id == details.build_id
    } else if library.size != details.size {
        false
    } else if library.modified_ns == details.modified_ns {
        true
    } else {
        match files.content_hash(&path) {
            Ok(hash) => library.blake3.as_ref() == Some(&hash),
            Err(error) => return gone(error),
        }
    };
    (!same).then(|| Change::Replaced { library: library.name.clone(), path })
}

/// Whether the original program still finds the same files.
fn searched(
    binding: &Binding,
    program: &Path,
    files: &impl Files,
    environment: &Environment,
    changes: &mut Vec<Change>,
) -> Result<(), Refusal> {
    let environment =
        Environment { ld_library_path: None, ld_preload: None, preload_file: None, ..environment.clone() };
    let options = Options { levels: Some(binding.levels.clone()), ..Options::default() };
    let subject = original(binding, program, files, &environment, &options)?;
    let now = match subject.survey(files, &environment, &options).and_then(|levels| places(&levels)) {
        Ok(now) => now,
        Err(refusal) => {
            changes.push(Change::CannotBeBound { reason: refusal.to_string() });
            return Ok(());
        }
    };
    let is_plain = |level: &Option<String>| level.is_none();
    let names_now: Vec<&String> = now.iter().filter(|place| is_plain(&place.level)).map(|place| &place.name).collect();
    let were = binding.libraries.iter().filter(|library| is_plain(&library.level));
    let names_were: Vec<&String> = were.map(|library| &library.name).collect();
    if let Some(place) =
        (0..names_now.len().max(names_were.len())).find(|place| names_now.get(*place) != names_were.get(*place))
    {
        let name = |names: &[&String]| names.get(place).map(|name| (*name).clone());
        changes.push(Change::OtherNames { now: name(&names_now), was: name(&names_were) });
    }
    // Added or removed variants show as a path that differs from the level below.
    let place_of = |name: &str, level: &Option<String>| {
        let known =
            |place: &&crate::libraries::Place| place.name == name && (place.level == *level || is_plain(&place.level));
        now.iter().rev().find(known).map(|place| place.text.as_str())
    };
    for library in &binding.libraries {
        let now = place_of(&library.name, &library.level);
        let now = now.map(|text| BoundLibrary { path: text.to_owned(), ..library.clone() }.path(&subject.output));
        if let Some(now) = now.filter(|now| *now != library.path(&subject.output)) {
            changes.push(Change::FoundElsewhere {
                library: library.name.clone(),
                level: library.level.clone(),
                was: library.path(&subject.output),
                now,
            });
        }
    }
    let new = now.iter().filter(|place| {
        let known = |library: &&BoundLibrary| library.name == place.name && library.level == place.level;
        place.level.is_some() && !binding.libraries.iter().any(|library| known(&library))
    });
    for place in new {
        let Some(was) = binding.libraries.iter().find(|library| library.name == place.name) else { continue };
        let now = BoundLibrary { path: place.text.clone(), ..was.clone() }.path(&subject.output);
        let was = was.path(&subject.output);
        changes.push(Change::FoundElsewhere { library: place.name.clone(), level: place.level.clone(), was, now });
    }
    Ok(())
}
