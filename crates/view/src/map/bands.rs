//! Bands of the map: the object's sections.

use coldstart_profile::trace::TracedObject;
use coldstart_profile::trace::figures::{Figures, SumOf};

use super::places::{Place, Places};
use super::words::{grouped, harmless_text};
use crate::section_class::section_class;

/// Where there are many sections, those of fewer pages stay without a name: they would be most names and least of the map.
pub(super) const NAMED: u64 = 3;
const MANY: usize = 12;

/// Whether there are so many sections that the small ones stay without a name.
pub(super) fn are_many(bands: &[Band]) -> bool {
    bands.len() > MANY
}

/// Those that have a name beside them.
pub(crate) fn named(bands: &[Band]) -> impl Iterator<Item = &Band> {
    let are_many = are_many(bands);
    bands.iter().filter(move |band| !are_many || band.pages >= NAMED)
}

/// A section as a band.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Band {
    /// Its name, harmless.
    pub name: String,
    /// What it is for: an id of the palette's sections.
    pub class: &'static str,
    /// Where it begins on the axis.
    pub from: Place,
    /// In bytes, at least 1, without what is beyond the end of the axis.
    pub size: u64,
    /// Pages that hold bytes of it.
    pub pages: u64,
    /// Of these, touched in the start; `None` if that was not recorded.
    pub touched: Option<u64>,
}

impl Band {
    /// `12 of 345`: pages that were touched, of all; or all alone.
    pub(crate) fn count(&self) -> String {
        match self.touched {
            Some(touched) => format!("{} of {}", grouped(touched), grouped(self.pages)),
            None => grouped(self.pages),
        }
    }
}

/// Of each section that has a place on the axis, in the object's order.
pub(super) fn of_object(object: &TracedObject, figures: &Figures, places: &Places) -> Vec<Band> {
    let has_touches = figures.basis.has(SumOf::Touches);
    let sections = figures.file(object.file).map_or(&[][..], |figures| &figures.sections);
    // Sections that take no memory (.tbss) have no figures.
    let bands = sections.iter().filter_map(|figures| {
        let section = object.sections.get(figures.section)?;
        let (from, size) = if section.is_zero_filled {
            let (first, end) = places.zeros?;
            let from = section.address.max(first);
            (Place::Zeros(from), section.address.saturating_add(section.size).min(end).saturating_sub(from))
        } else {
            let from = section.offset;
            (Place::File(from), from.saturating_add(section.size).min(places.file_end).saturating_sub(from))
        };
        let class = section_class(section, object);
        let touched = has_touches.then_some(figures.touched);
        let name = harmless_text(&section.name);
        (size > 0).then_some(Band { name, class, from, size, pages: figures.pages, touched })
    });
    bands.collect()
}
