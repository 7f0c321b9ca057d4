//! The search path of the bound program: its tag and directories.

use coldstart_loader::ObjectFacts;

use crate::hoist::utf8;
use crate::{Refusal, SearchText, TagName};

/// The effective search path of a program: the other tag, if any, is ignored.
pub(crate) fn effective(facts: &ObjectFacts) -> Result<Option<SearchText>, Refusal> {
    let (kind, text) = match (&facts.runpath, &facts.rpath) {
        (Some(text), _) => (TagName::Runpath, text),
        (None, Some(text)) => (TagName::Rpath, text),
        (None, None) => return Ok(None),
    };
    Ok(Some(SearchText { kind, text: utf8(text.clone())? }))
}

/// The search path with new directories in front. A program with RPATH keeps that tag: its libraries inherit it when
/// they open others later. musl treats both alike.
pub(crate) fn with_first(first: &[String], original: Option<&SearchText>) -> SearchText {
    let kind = original.map_or(TagName::Runpath, |original| original.kind);
    // An empty text has no directories; but an empty element among others would be the current directory.
    let behind = original.map(|original| original.text.as_str()).filter(|text| !text.is_empty());
    let elements: Vec<&str> = first.iter().map(String::as_str).chain(behind).collect();
    SearchText { kind, text: elements.join(":") }
}
