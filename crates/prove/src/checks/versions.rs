//! Versions of defined symbols, and those needed from other objects.
//!
//! Since 2.36, glibc refuses an object with `DT_RELR` that has version requirements and needs libc.so.6, unless it
//! needs the version `GLIBC_ABI_DT_RELR` (`elf/dl-version.c`). Older ones lack that version and so refuse the object,
//! too.

use object::elf::{VER_NDX_GLOBAL, VERSYM_VERSION};

use crate::image::Image;
use crate::image::dynamic::tag;
use crate::tables::Tables;
use crate::tables::symbols::{NameRoom, string};
use crate::tables::version_lists::{full, half, walk};
use crate::verdict::{NotProven, Proof, broken, differs, same_bytes};

/// The version that means "this loader applies DT_RELR".
const RELR_VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";
const WHAT: &str = "needed versions";
/// The bits of a version's index: the highest one hides a symbol.
const VERSION: u64 = VERSYM_VERSION as u64;

/// A needed version.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version<'n> {
    hash: u64,
    flags: u64,
    index: u64,
    name: &'n [u8],
}

/// The versions needed from one object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Needed<'n> {
    structure: u64,
    object: &'n [u8],
    versions: Vec<Version<'n>>,
}

fn needed<'n>(image: &Image<'_>, tables: &Tables<'n>) -> Result<Vec<Needed<'n>>, NotProven> {
    let Some(range) = tables.get(tag::VERNEED) else { return Ok(Vec::new()) };
    let mut list: Vec<Needed<'n>> = Vec::new();
    let mut room = NameRoom::of(image);
    let bytes = image.at(range.clone()).unwrap_or(&[]);
    let read = walk(bytes, 0, |record, at| {
        let mut versions = Vec::new();
        let first = at.checked_add(usize::try_from(full(image, record, 8)?).ok()?)?;
        walk(bytes, first, |version, at| {
            versions.push(Version {
                hash: full(image, version, 0)?,
                flags: half(image, version, 4)?,
                index: half(image, version, 6)?,
                name: room.string(tables.strings, full(image, version, 8)?)?,
            });
            Some((full(image, version, 12)?, at))
        })?;
        // Loaders follow the offsets, other tools the counts.
        (versions.len() as u64 == half(image, record, 2)?).then_some(())?;
        let object = room.string(tables.strings, full(image, record, 4)?)?;
        list.push(Needed { structure: half(image, record, 0)?, object, versions });
        Some((full(image, record, 12)?, at))
    });
    let counted = image.dynamic.get(tag::VERNEEDNUM);
    if read.is_none() || counted != Some(list.len() as u64) {
        let problem = format!("malformed, or without the expected {counted:?} entries");
        return Err(broken(image.which, WHAT, format!("{:#x}", range.start), problem));
    }
    Ok(list)
}

/// Removes the RELR version from those needed from libc.so.6.
fn without_relr<'n>(list: &[Needed<'n>]) -> (Vec<Needed<'n>>, Option<Version<'n>>) {
    let mut list = list.to_vec();
    let mut found = None;
    if let Some(libc) = list.iter_mut().find(|needed| needed.object == b"libc.so.6")
        && let Some(place) = libc.versions.iter().position(|version| version.name == RELR_VERSION)
    {
        found = Some(libc.versions.remove(place));
    }
    (list, found)
}

/// Compares defined and needed versions; the RELR version may be added or removed with `DT_RELR`.
pub(crate) fn check(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let defined = |(image, tables): (&Image<'_>, &Tables<'_>)| {
        tables.get(tag::VERDEF).and_then(|range| image.at(range.clone())).unwrap_or(&[]).to_vec()
    };
    same_bytes("defined versions", &defined(original), &defined(output))?;
    let (from, to) = (needed(original.0, original.1)?, needed(output.0, output.1)?);
    proof.needed_versions = from.iter().map(|needed| needed.versions.len() as u64).sum();
    let (from_others, from_relr) = without_relr(&from);
    let (to_others, to_relr) = without_relr(&to);
    if from_others != to_others {
        let differing = from_others.iter().zip(&to_others).position(|(from, to)| from != to);
        let shown = |list: &[Needed<'_>]| {
            differing.and_then(|at| list.get(at)).map_or_else(|| format!("{} objects", list.len()), shown)
        };
        return Err(differs(WHAT, "their list", shown(&from_others), shown(&to_others)));
    }
    if from_relr == to_relr && original.0.dynamic.get(tag::RELR).is_some() {
        return Ok(());
    }
    check_guard(output, &to_others, to_relr.as_ref())
}

fn shown(needed: &Needed<'_>) -> String {
    let versions = needed
        .versions
        .iter()
        .map(|version| format!("{} (number {})", String::from_utf8_lossy(version.name), version.index));
    format!("of {}: {}", String::from_utf8_lossy(needed.object), versions.collect::<Vec<_>>().join(", "))
}

/// The RELR version must be present if it is needed, complete, and with a unique index.
fn check_guard(
    (image, tables): (&Image<'_>, &Tables<'_>),
    others: &[Needed<'_>],
    guard: Option<&Version<'_>>,
) -> Result<(), NotProven> {
    let wrong = |problem: &str| Err(broken(image.which, WHAT, "libc.so.6", problem));
    let packed = image.dynamic.get(tag::RELR).is_some();
    let Some(guard) = guard else {
        // Any versions at all, with a library of this name (glibc 2.36, elf/dl-version.c).
        let mut names = image.dynamic.entries.iter().filter(|entry| entry.tag == tag::NEEDED);
        let needs_libc =
            names.any(|entry| string(tables.strings, entry.value).is_some_and(|name| name.starts_with(b"libc.so.")));
        let is_refused = packed && needs_libc && !others.is_empty();
        return if is_refused { wrong("DT_RELR without the version GLIBC_ABI_DT_RELR") } else { Ok(()) };
    };
    if guard.hash != u64::from(object::elf::hash(RELR_VERSION)) || guard.flags != 0 {
        return wrong("wrong hash or flags of GLIBC_ABI_DT_RELR");
    }
    let index = VERSION & guard.index;
    let taken = others.iter().flat_map(|needed| &needed.versions).any(|version| VERSION & version.index == index);
    let versions = tables.symbol_versions.unwrap_or(&[]);
    let used =
        versions.chunks_exact(2).filter_map(|bytes| image.number(bytes, 2)).any(|number| VERSION & number == index);
    if index <= u64::from(VER_NDX_GLOBAL.0) || taken || used || defines(image, tables, index) {
        return wrong("the version index of GLIBC_ABI_DT_RELR is already in use");
    }
    Ok(())
}

fn defines(image: &Image<'_>, tables: &Tables<'_>, index: u64) -> bool {
    let bytes = tables.get(tag::VERDEF).and_then(|range| image.at(range.clone())).unwrap_or(&[]);
    let mut found = false;
    let _ = walk(bytes, 0, |record, at| {
        found |= VERSION & half(image, record, 4)? == index;
        Some((full(image, record, 16)?, at))
    });
    found
}
