//! The layout of the picture, in points.

use super::super::colours::Colours;
use super::super::{ObjectMap, Place};
use super::bottom::{self, Legend};

/// Room beside the map: left for the axes' words, right for the names of sections.
const LEFT: f64 = 142.0;
const RIGHT: f64 = 208.0;
pub(super) const MARGIN: f64 = 22.0;
/// Baselines.
pub(super) const TITLE: f64 = 38.0;
pub(super) const FIRST_FACT: f64 = 60.0;
pub(super) const FACT: f64 = 17.0;
/// Heights of a phase's bar, and from one row of them to the next.
pub(super) const BAR: f64 = 14.0;
pub(super) const ROW: f64 = 18.0;
/// From one strip of other files to the next.
pub(super) const STRIP: f64 = 13.0;
/// From one line of small print to the next.
pub(super) const NOTE: f64 = 14.0;
/// Between zero-filled memory and the file.
const GAP: f64 = 7.0;

/// Where everything is.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    /// The first row of phases.
    pub(super) phases: f64,
    /// The map: its upper edge, that of the file in it, and its lower edge.
    pub(super) top: f64,
    pub(super) file: f64,
    pub(super) bottom: f64,
    pub(super) legend: Legend,
    pub(super) notes: Vec<String>,
    time: (u64, u64),
    file_end: f64,
    zeros: Option<(u64, u64)>,
}

impl Frame {
    pub(super) fn of(map: &ObjectMap, colours: Colours) -> Self {
        let (width, height) = (f64::from(map.width), f64::from(map.height));
        let (left, right) = (LEFT, width - RIGHT);
        let phases = FIRST_FACT + FACT * map.facts.len() as f64 + 20.0;
        let top = phases + ROW * map.phases.len() as f64 + 4.0;
        let legend = Legend::of(map, colours, width - 2.0 * MARGIN);
        let notes = bottom::notes(map, width - 2.0 * MARGIN);
        let below = bottom::height(map, &legend, &notes);
        let bottom = (height - below).max(top + 60.0);
        let zeros = map.places.zeros.map_or(0.0, |(from, to)| {
            let natural = to.saturating_sub(from) as f64 / map.places.file_end as f64 * (bottom - top);
            natural.clamp(16.0, (bottom - top) * 0.18) + GAP
        });
        Self {
            left,
            right,
            phases,
            top,
            file: top + zeros,
            bottom,
            legend,
            notes,
            time: map.time,
            file_end: map.places.file_end as f64,
            zeros: map.places.zeros,
        }
    }

    /// Of a moment; outside the shown time, the nearer edge.
    pub(super) fn x(&self, at: u64) -> f64 {
        let (from, to) = self.time;
        let inside = at.clamp(from, to).saturating_sub(from) as f64 / to.saturating_sub(from).max(1) as f64;
        self.left + inside * (self.right - self.left)
    }

    /// Of a place; outside the axis, the nearer edge.
    pub(super) fn y(&self, place: Place) -> f64 {
        match (place, self.zeros) {
            (Place::File(offset), _) => {
                self.bottom - (offset as f64 / self.file_end).min(1.0) * (self.bottom - self.file)
            }
            (Place::Zeros(address), Some((from, to))) => {
                let inside =
                    address.clamp(from, to).saturating_sub(from) as f64 / to.saturating_sub(from).max(1) as f64;
                self.zeros_bottom() - inside * (self.zeros_bottom() - self.top)
            }
            (Place::Zeros(_), None) => self.top,
        }
    }

    /// The lower edge of zero-filled memory.
    pub(super) fn zeros_bottom(&self) -> f64 {
        if self.zeros.is_some() { self.file - GAP } else { self.file }
    }

    pub(super) fn has_zeros(&self) -> bool {
        self.zeros.is_some()
    }
}

/// So many bytes further.
pub(super) fn further(place: Place, bytes: u64) -> Place {
    match place {
        Place::File(offset) => Place::File(offset.saturating_add(bytes)),
        Place::Zeros(address) => Place::Zeros(address.saturating_add(bytes)),
    }
}
