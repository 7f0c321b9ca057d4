//! The basis of figures: without it, two sums from two traces look comparable and are not.

use serde::Serialize;

use crate::trace::{Layer, PagesSeen, Run};

/// The recorded layers of a start, and their completeness.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Basis {
    /// What was recorded.
    pub layers: Vec<Layer>,
    /// How complete the page touches are; the worst of all processes.
    pub pages: PagesSeen,
    /// Events that were lost.
    pub lost_events: u64,
    /// Whether all that was recorded is in the trace.
    pub complete: bool,
}

/// A kind of event whose figures are summed up. Sums of different kinds are never added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SumOf {
    /// First touches of pages.
    Touches,
    /// First calls of functions.
    Functions,
}

/// Why a sum of one trace must not be compared with that of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// One of them did not record this kind of event.
    NotRecorded,
    /// One saw each page, the other what fault-around left over.
    PagesSeen,
    /// Events of one of them were lost.
    LostEvents,
    /// The recording of one of them broke off.
    BrokenOff,
}

impl Basis {
    /// The basis of a run's figures.
    pub fn of(run: &Run) -> Self {
        Self { layers: run.layers.clone(), pages: run.pages, lost_events: run.lost_events, complete: run.complete }
    }

    /// Whether a kind of event was recorded at all: else its sums are zero without meaning it.
    pub fn has(&self, of: SumOf) -> bool {
        match of {
            SumOf::Touches => self.pages != PagesSeen::None,
            SumOf::Functions => self.layers.contains(&Layer::Functions),
        }
    }

    /// Why sums must not be compared with those of another trace; empty if they can be.
    pub fn differences(&self, other: &Self, of: SumOf) -> Vec<Difference> {
        let mut differences = Vec::new();
        if !self.has(of) || !other.has(of) {
            differences.push(Difference::NotRecorded);
        } else if of == SumOf::Touches && self.pages != other.pages {
            differences.push(Difference::PagesSeen);
        }
        if self.lost_events > 0 || other.lost_events > 0 {
            differences.push(Difference::LostEvents);
        }
        if !self.complete || !other.complete {
            differences.push(Difference::BrokenOff);
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_compared_with_like() {
        let each = Basis {
            layers: vec![Layer::Pages, Layer::Functions],
            pages: PagesSeen::Each,
            lost_events: 0,
            complete: true,
        };
        let coarse = Basis { pages: PagesSeen::FaultAround, lost_events: 3, ..each.clone() };
        let pages_only = Basis { layers: vec![Layer::Pages], complete: false, ..each.clone() };
        assert_eq!(each.differences(&each, SumOf::Touches), []);
        assert_eq!(each.differences(&coarse, SumOf::Touches), [Difference::PagesSeen, Difference::LostEvents]);
        assert_eq!(each.differences(&coarse, SumOf::Functions), [Difference::LostEvents]);
        assert_eq!(each.differences(&pages_only, SumOf::Functions), [Difference::NotRecorded, Difference::BrokenOff]);
    }
}
