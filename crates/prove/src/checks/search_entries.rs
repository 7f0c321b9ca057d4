//! The entries that a search edit sets: exactly these values, and no others.

use crate::edit::{PathKind, SearchEdit};
use crate::image::Image;
use crate::image::dynamic::{Entry, tag, tag_name};
use crate::tables::Tables;
use crate::tables::symbols::string;
use crate::verdict::{NotProven, broken, differs};

const WHAT: &str = "dynamic table";

/// Checks needed libraries, search path and auditors against the edit, and the strings added for them.
pub(crate) fn check(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    edit: &SearchEdit,
) -> Result<(), NotProven> {
    let (image, tables) = output;
    let names = |(image, tables): (&Image<'_>, &Tables<'_>), tag: u64| -> Vec<Vec<u8>> {
        let entries = image.dynamic.entries.iter().filter(|entry| entry.tag == tag);
        entries
            .map(|entry| string(tables.strings, entry.value).unwrap_or(b"(outside the string table)").to_vec())
            .collect()
    };
    expect(tag::NEEDED, &edit.needed, &names(output, tag::NEEDED))?;
    let path = |kind: PathKind| -> Vec<Vec<u8>> {
        edit.path.iter().filter(|path| path.kind == kind).map(|path| path.text.clone()).collect()
    };
    expect(tag::RPATH, &path(PathKind::Rpath), &names(output, tag::RPATH))?;
    expect(tag::RUNPATH, &path(PathKind::Runpath), &names(output, tag::RUNPATH))?;
    if let Some(audit) = &edit.audit {
        expect(tag::AUDIT, std::slice::from_ref(audit), &names(output, tag::AUDIT))?;
    }
    // A name outside the string table must not match an edit that contains the placeholder.
    let set = [tag::NEEDED, tag::RPATH, tag::RUNPATH, tag::AUDIT];
    let mut lost = image.dynamic.entries.iter().filter(|entry| set.contains(&entry.tag));
    if let Some(entry) = lost.find(|entry| string(tables.strings, entry.value).is_none()) {
        return Err(broken(image.which, WHAT, tag_name(entry.tag), "its name is outside the string table"));
    }
    let kept = names(original, tag::NEEDED) == edit.needed;
    check_positions(original.0, image, kept)?;
    check_strings(original.1, output, edit)
}

fn expect(tag: u64, asked: &[Vec<u8>], found: &[Vec<u8>]) -> Result<(), NotProven> {
    if asked == found {
        return Ok(());
    }
    let shown = |names: &[Vec<u8>]| {
        let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    // The "original" in this message is the edit.
    let place = format!("{} (against the edit)", tag_name(tag));
    Err(differs(WHAT, place, shown(asked), shown(found)))
}

/// `DT_NEEDED` entries are consecutive, at the beginning or at their old position. With `DT_FILTER` and
/// `DT_AUXILIARY` they form one list (`_dl_map_object_deps` of glibc walks the table in order), which must be
/// unchanged.
fn check_positions(original: &Image<'_>, output: &Image<'_>, kept: bool) -> Result<(), NotProven> {
    let positions = |image: &Image<'_>| -> Vec<usize> {
        let set = [tag::RPATH, tag::RUNPATH, tag::AUDIT];
        let mut before = 0_usize;
        let mut positions = Vec::new();
        for Entry { tag, .. } in image.dynamic.entries.iter().filter(|entry| !set.contains(&entry.tag)) {
            match *tag {
                tag::NEEDED => positions.push(before),
                _ => before = before.saturating_add(1),
            }
        }
        positions
    };
    let (from, to) = (positions(original), positions(output));
    if kept && from == to {
        return Ok(());
    }
    let wrong = |problem: &str| Err(broken(output.which, WHAT, tag_name(tag::NEEDED), problem));
    if original.dynamic.entries.iter().any(|entry| [tag::FILTER, tag::AUXILIARY].contains(&entry.tag)) {
        return wrong("DT_NEEDED entries have changed in a table with DT_FILTER or DT_AUXILIARY, whose order matters");
    }
    let first = from.first().copied().unwrap_or(0);
    let together = to.iter().zip(to.iter().skip(1)).all(|(one, next)| one == next);
    match to.first() {
        Some(start) if !together || (*start != 0 && *start != first) => {
            wrong("DT_NEEDED entries are neither at the beginning nor at the first one's old position")
        }
        _ => Ok(()),
    }
}

/// The old strings come first; after them only names from the edit are allowed.
fn check_strings(
    original: &Tables<'_>,
    (output, tables): (&Image<'_>, &Tables<'_>),
    edit: &SearchEdit,
) -> Result<(), NotProven> {
    const WHAT: &str = "dynamic strings";
    let Some(added) = tables.strings.strip_prefix(original.strings) else {
        return Err(broken(output.which, WHAT, "their beginning", "the original's strings are incomplete"));
    };
    let path = edit.path.iter().map(|path| &path.text);
    let asked: Vec<&[u8]> = edit.needed.iter().chain(path).chain(&edit.audit).map(Vec::as_slice).collect();
    match added.split(|byte| *byte == 0).find(|name| !name.is_empty() && !asked.contains(name)) {
        Some(name) => {
            let problem = format!("{:?} was added, but is not in the edit", String::from_utf8_lossy(name));
            Err(broken(output.which, WHAT, "their end", problem))
        }
        None => Ok(()),
    }
}
