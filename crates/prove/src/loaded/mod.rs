//! The effects of loading a file: the owners of its memory, and the words that the loader changes.

pub(crate) mod places;
pub(crate) mod slots;

use self::places::Places;
use self::slots::Slots;
use crate::image::Image;
use crate::tables::Tables;
use crate::verdict::NotProven;

/// One of the files, with its memory classified.
pub(crate) struct Loaded<'i, 'a> {
    pub(crate) image: &'i Image<'a>,
    pub(crate) tables: &'i Tables<'a>,
    pub(crate) slots: Slots,
    pub(crate) places: Places,
}

impl<'i, 'a> Loaded<'i, 'a> {
    /// Finds the relocated words, and the ranges that only loaders read.
    pub(crate) fn new(image: &'i Image<'a>, tables: &'i Tables<'a>) -> Result<Self, NotProven> {
        Ok(Self { image, tables, slots: Slots::read(image, tables)?, places: Places::find(image, tables) })
    }
}
