//! What loading makes of a file: which memory is whose, and which words the loader changes.

pub(crate) mod places;
pub(crate) mod slots;

use self::places::Places;
use self::slots::Slots;
use crate::image::Image;
use crate::tables::Tables;
use crate::verdict::NotProven;

/// One of the files, with all that its memory is made of.
pub(crate) struct Loaded<'i, 'a> {
    pub(crate) image: &'i Image<'a>,
    pub(crate) tables: &'i Tables<'a>,
    pub(crate) slots: Slots,
    pub(crate) places: Places,
}

impl<'i, 'a> Loaded<'i, 'a> {
    /// Finds the words that are relocated, and the places that only loaders read.
    pub(crate) fn new(image: &'i Image<'a>, tables: &'i Tables<'a>) -> Result<Self, NotProven> {
        Ok(Self { image, tables, slots: Slots::read(image, tables)?, places: Places::find(image, tables) })
    }
}
