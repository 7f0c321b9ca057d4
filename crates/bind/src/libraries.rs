//! The libraries that a plan was made from, for the note.

use crate::hoist::{Answer, Hoisted, utf8};
use crate::origin::bytes;
use crate::subject::AtLevel;
use crate::{BoundLibrary, Files, Refusal};

/// A library as found by the original program, without the properties of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) level: Option<String>,
    /// Begins with `$ORIGIN` if it moves along with the program.
    pub(crate) text: String,
    path: std::path::PathBuf,
}

/// The libraries in load order, variants for levels after them.
pub(crate) fn places(levels: &[AtLevel]) -> Result<Vec<Place>, Refusal> {
    let mut places: Vec<Place> = Vec::new();
    let mut below: Option<&AtLevel> = None;
    for level in levels {
        for (number, name) in level.hoisted.iter().enumerate() {
            let Some(path) = path_of(level, name) else { continue };
            let lower = below.and_then(|below| path_of(below, below.hoisted.get(number)?));
            if lower.is_some_and(|lower| lower == path) {
                continue;
            }
            places.push(Place {
                name: name.text.clone(),
                level: level.levels.first().cloned(),
                text: utf8(level.tree.text(name.object, bytes(path)))?,
                path: path.to_owned(),
            });
        }
        below = Some(level);
    }
    Ok(places)
}

/// The libraries with the properties of their files.
pub(crate) fn libraries(levels: &[AtLevel], files: &impl Files) -> Result<Vec<BoundLibrary>, Refusal> {
    let library = |place: Place| {
        let refuse = |error: std::io::Error| Refusal::File { path: place.path.clone(), reason: error.to_string() };
        let details = files.details(&place.path).map_err(refuse)?;
        let blake3 = match details.build_id {
            Some(_) => None,
            None => Some(files.content_hash(&place.path).map_err(refuse)?),
        };
        Ok(BoundLibrary {
            name: place.name,
            level: place.level,
            path: place.text,
            size: details.size,
            modified_ns: details.modified_ns,
            build_id: details.build_id,
            blake3,
        })
    };
    places(levels)?.into_iter().map(library).collect()
}

/// The file of a name; none for the interpreter and for names that match loaded objects.
fn path_of<'a>(level: &'a AtLevel, name: &'a Hoisted) -> Option<&'a std::path::Path> {
    match &name.answer {
        Answer::Found(path) | Answer::SameFile(path) => Some(path),
        Answer::Path => level.survey.closure.objects.get(name.object).map(|object| object.path.as_path()),
        Answer::Loaded => None,
    }
}
