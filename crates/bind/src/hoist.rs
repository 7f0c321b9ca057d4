//! Which names the program must request itself, and in which order.
//!
//! Names come in the order of the requests that opened a file, which is the load order. A name that matches a loaded
//! object's name or `DT_SONAME` costs nothing and is left to the requesting library. The program's own names stay all
//! the same, because old loaders check its symbol versions against the requested names (elf/dl-version.c).

use std::collections::HashSet;
use std::path::PathBuf;

use coldstart_loader::FoundBy;

use crate::Refusal;
use crate::origin::{PROGRAM, Tree, bytes, has_token};
use crate::survey::Survey;

/// A name that the program must request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hoisted {
    /// Its text in `DT_NEEDED`.
    pub(crate) text: String,
    /// Index of the object it finds.
    pub(crate) object: usize,
    /// How it is resolved.
    pub(crate) answer: Answer,
}

/// How a name is resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A search finds a new object at this path.
    Found(PathBuf),
    /// A search finds this path; its file is loaded under another name.
    SameFile(PathBuf),
    /// A loaded object: one with this `DT_SONAME`, or the interpreter.
    Loaded,
    /// The name is itself a path.
    Path,
}

impl Hoisted {
    /// The target of a link for it; none if nothing is searched.
    pub(crate) fn found(&self) -> Option<&PathBuf> {
        match &self.answer {
            Answer::Found(path) | Answer::SameFile(path) => Some(path),
            Answer::Loaded | Answer::Path => None,
        }
    }
}

/// The names that the program must request, in order.
///
/// # Errors
/// For names that cannot be stored or that depend on the current directory.
pub(crate) fn hoist(survey: &Survey, tree: &Tree) -> Result<Vec<Hoisted>, Refusal> {
    let mut hoisted: Vec<Hoisted> = Vec::new();
    let mut known = HashSet::new();
    let mut entered = HashSet::new();
    for (request, opened) in survey.requests() {
        let Some(object) = request.object else { continue };
        let is_first = entered.insert(object);
        let by_program = request.requester == PROGRAM;
        let (text, answer) = if request.needed.contains(&b'/') {
            if by_program {
                (request.needed.clone(), Answer::Path)
            } else if is_first {
                (path_text(survey, tree, request.requester, &request.needed, object), Answer::Path)
            } else {
                continue;
            }
        } else {
            if has_token(&request.needed) {
                return Err(Refusal::TokenInName(lossy(&request.needed)));
            }
            let answer = match (request.found_by, opened) {
                (Some(FoundBy::AlreadyLoaded(_)), Some(path)) => Answer::SameFile(path.clone()),
                (_, Some(path)) => Answer::Found(path.clone()),
                (_, None) if is_first || by_program => Answer::Loaded,
                _ => continue,
            };
            (request.needed.clone(), answer)
        };
        let text = utf8(text)?;
        if !known.insert(text.clone()) {
            continue;
        }
        let hoisted_name = Hoisted { text, object, answer };
        if let Some(path) = hoisted_name.found() {
            if !path.is_absolute() {
                return Err(Refusal::RelativePath { library: hoisted_name.text.clone(), path: path.clone() });
            }
            utf8(bytes(path).to_vec())?;
        }
        hoisted.push(hoisted_name);
    }
    Ok(hoisted)
}

/// Names in the program's list that the loader silently skips, because a token in them has no value here.
pub(crate) fn without_meaning(survey: &Survey) -> Result<Vec<String>, Refusal> {
    let needed = survey.closure.objects.first().map(|program| program.facts.needed.as_slice()).unwrap_or_default();
    let asked = |name: &[u8]| {
        survey.closure.requests.iter().any(|request| request.requester == PROGRAM && request.needed == name)
    };
    needed.iter().filter(|name| has_token(name) && !asked(name)).map(|name| utf8(name.clone())).collect()
}

/// A path requested by a library, as the program must request it: a library's `$ORIGIN` is not the program's.
fn path_text(survey: &Survey, tree: &Tree, requester: usize, needed: &[u8], object: usize) -> Vec<u8> {
    if !has_token(needed) {
        return needed.to_vec();
    }
    let asked = survey.closure.objects.get(object).map(|object| object.name_asked.as_slice()).unwrap_or(needed);
    tree.text(requester, asked)
}

/// A text for the note.
pub(crate) fn utf8(text: Vec<u8>) -> Result<String, Refusal> {
    String::from_utf8(text).map_err(|error| Refusal::NotUtf8(lossy(error.as_bytes())))
}

/// A name for people.
pub(crate) fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
