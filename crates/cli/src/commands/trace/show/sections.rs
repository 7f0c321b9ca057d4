//! The touched share of each section, for the most touched objects.

use std::cmp::Reverse;

use coldstart_profile::trace::figures::{FileFigures, SectionFigures};

use super::{View, words};
use crate::output::size::grouped;
use crate::output::table::{Align, Table};
use crate::output::text::{fit, heading, name, table};

/// Default number of objects with sections.
const SOME_OBJECTS: usize = 3;

/// Sections of the most touched objects.
pub(super) fn part(view: &View<'_>) -> String {
    let objects = if view.names.is_empty() { view.limit.min(SOME_OBJECTS) } else { view.limit };
    let objects = if view.limit == usize::MAX { usize::MAX } else { objects };
    view.files_with_touched_sections().into_iter().take(objects).map(|file| of_object(view, file)).collect()
}

fn of_object(view: &View<'_>, file: &FileFigures) -> String {
    let mut sections: Vec<&SectionFigures> = file.sections.iter().filter(|section| section.touched > 0).collect();
    sections.sort_by_key(|section| Reverse(section.touched));
    let mut rows = Table::new(&[
        ("pages", Align::Right),
        ("touched", Align::Right),
        ("share", Align::Right),
        ("only read", Align::Right),
        ("written", Align::Right),
        ("executed", Align::Right),
        ("symbols", Align::Right),
        ("section", Align::Left),
    ]);
    let shown = sections.len().min(view.limit);
    for section in sections.iter().take(shown) {
        rows.row(vec![
            grouped(section.pages),
            grouped(section.touched),
            words::percent(section.touched, section.pages),
            grouped(section.only_read),
            grouped(section.written),
            grouped(section.executed),
            grouped(section.symbols),
            String::new(),
        ]);
    }
    let section_name = |section: &SectionFigures, room| {
        let object = view.trace.object(file.file);
        let section = object.and_then(|object| object.sections.get(section.section));
        section.map_or_else(String::new, |section| name(&section.name, room))
    };
    fit(&mut rows, |row, room| sections.get(row).map_or_else(String::new, |section| section_name(section, room)));
    let title = format!("pages of {}", words::file_name(view, file.file, 60));
    heading("Sections", &title) + &table(&rows) + &words::omitted(shown, sections.len())
}
