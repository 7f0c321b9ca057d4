//! Two directories or closures object by object: changed, new and missing ones. Objects are paired by file name.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;

use coldstart_app::inspect::Survey;
use coldstart_inspect::Figures;

use super::several::SOME;
use super::text::{counted, fit, heading, omitted, prose, table};
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};

/// An object on both sides, or on one.
struct Pair<'a> {
    path: &'a Path,
    before: Option<Figures>,
    after: Option<Figures>,
}

impl Pair<'_> {
    /// How far apart the two sides are, to sort by: bytes of tables, files and private memory.
    fn distance(&self) -> u64 {
        let (before, after) = (self.before.unwrap_or_default(), self.after.unwrap_or_default());
        let pages = before.private_pages.abs_diff(after.private_pages);
        before
            .relocation_bytes
            .abs_diff(after.relocation_bytes)
            .saturating_add(before.file_bytes.abs_diff(after.file_bytes))
            .saturating_add(pages.saturating_mul(4096))
    }

    fn differs(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => before != after,
            _ => true,
        }
    }
}

/// The objects that differ, largest change first; empty if there is only one on each side.
pub(in super::super) fn pairs(survey: &Survey, other: &Survey, all: bool) -> String {
    if survey.objects.len() <= 1 && other.objects.len() <= 1 {
        return String::new();
    }
    let (before, before_twice) = by_name(other);
    let (after, after_twice) = by_name(survey);
    let names: BTreeSet<&OsStr> = before.keys().chain(after.keys()).copied().collect();
    let mut pairs: Vec<Pair<'_>> = names
        .iter()
        .filter_map(|name| {
            let (before, after) = (on_side(&before, name), on_side(&after, name));
            let path = after.or(before)?.0;
            Some(Pair { path, before: before.map(|(_, figures)| figures), after: after.map(|(_, figures)| figures) })
        })
        .filter(Pair::differs)
        .collect();
    pairs.sort_by_key(|pair| (Reverse(pair.distance()), pair.path));
    let mut text = heading("Objects that differ", &counted(pairs.len() as u64, "object"));
    let shown = if all { pairs.len() } else { pairs.len().min(SOME) };
    if shown > 0 {
        text.push_str(&table(&rows(&pairs, shown)));
        text.push_str(&omitted(shown, pairs.len(), "them"));
    }
    let twice = before_twice.max(after_twice);
    if twice > 0 {
        let names = format!("not paired: {}, shared by several objects", counted(twice, "name"));
        text.push_str(&format!("\n{}", prose(&names, 0, 2)));
    }
    text
}

/// Objects by file name, without duplicate names.
type ByName<'a> = BTreeMap<&'a OsStr, Option<(&'a Path, Figures)>>;

fn on_side<'a>(objects: &ByName<'a>, name: &OsStr) -> Option<(&'a Path, Figures)> {
    objects.get(name).copied().flatten()
}

/// Objects by file name, and the number of duplicate names, which are not paired.
fn by_name(survey: &Survey) -> (ByName<'_>, u64) {
    let mut objects = BTreeMap::new();
    let mut twice = 0;
    for object in &survey.objects {
        let path = object.path.as_path();
        let name = path.file_name().unwrap_or(path.as_os_str());
        let figures = Figures::of(&object.inspection);
        match objects.get_mut(name) {
            None => {
                objects.insert(name, Some((path, figures)));
            }
            Some(known) => twice += u64::from(known.take().is_some()),
        }
    }
    (objects, twice)
}

fn rows(pairs: &[Pair<'_>], shown: usize) -> Table {
    let columns = ["file", "tables", "words", "private", "seeks"];
    let mut headings: Vec<(&'static str, Align)> = columns.iter().map(|column| (*column, Align::Right)).collect();
    headings.push(("object, the largest change first", Align::Left));
    let mut rows = Table::new(&headings);
    for pair in pairs.iter().take(shown) {
        let cell = |of: fn(&Figures) -> u64, show: fn(u64) -> String| match (&pair.before, &pair.after) {
            (Some(before), Some(after)) => change(of(before), of(after), show),
            (None, Some(after)) => format!("+{}", show(of(after))),
            (Some(before), None) => format!("-{}", show(of(before))),
            (None, None) => String::new(),
        };
        rows.row(vec![
            cell(|figures| figures.file_bytes, bytes),
            cell(|figures| figures.relocation_bytes, bytes),
            cell(|figures| figures.relocations, grouped),
            cell(|figures| figures.private_pages, grouped),
            cell(|figures| figures.seeks, grouped),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| {
        let Some(pair) = pairs.get(row) else { return String::new() };
        let mark = match (&pair.before, &pair.after) {
            (None, _) => "new: ",
            (_, None) => "gone: ",
            _ => "",
        };
        format!("{mark}{}", fitted(pair.path, room.saturating_sub(mark.len())))
    });
    rows
}

/// The change of a figure; `=` if unchanged.
fn change(before: u64, after: u64, show: fn(u64) -> String) -> String {
    match after.cmp(&before) {
        std::cmp::Ordering::Equal => "=".to_owned(),
        std::cmp::Ordering::Greater => format!("+{}", show(after.abs_diff(before))),
        std::cmp::Ordering::Less => format!("-{}", show(after.abs_diff(before))),
    }
}
