//! Counts words by class.

use coldstart_elf::readable_name;

use super::regions::Regions;
use super::{LARGEST, Owner, OwnerCount, PointerTable, ToldBy, Untold};
use crate::names::Named;
use crate::object::Object;
use crate::slots::Target;

/// Words by class.
#[derive(Default)]
pub(super) struct Tally {
    counts: Vec<OwnerCount>,
    pub(super) untold: Untold,
}

impl Tally {
    pub(super) fn add(&mut self, owner: Owner, told_by: ToldBy, is_symbolic: bool) {
        let index = match self.counts.iter().position(|count| count.owner == owner && count.told_by == told_by) {
            Some(index) => index,
            None => {
                self.counts.push(OwnerCount { owner, told_by, count: 0, symbolic: 0 });
                self.counts.len() - 1
            }
        };
        if let Some(count) = self.counts.get_mut(index) {
            count.count += 1;
            count.symbolic += u64::from(is_symbolic);
        }
    }

    pub(super) fn of(&self, owner: Owner) -> u64 {
        self.counts.iter().filter(|count| count.owner == owner).map(|count| count.count).sum()
    }

    pub(super) fn untold_to(&mut self, object: &Object<'_>, regions: &Regions, target: Target) {
        let Target::Address(target) = target else { return };
        if regions.is_code(target) {
            self.untold.to_code += 1;
        } else if object.file.segment_at(target).is_some_and(|segment| segment.is_writable()) {
            self.untold.to_writable += 1;
        } else {
            self.untold.to_read_only += 1;
        }
    }

    pub(super) fn counts(&self) -> Vec<OwnerCount> {
        let mut counts = self.counts.clone();
        counts.sort_by_key(|count| (std::cmp::Reverse(count.count), count.owner, count.told_by));
        counts
    }
}

/// Named tables with their counts. Slots come in ascending order, so those of a variable are consecutive.
#[derive(Default)]
pub(super) struct TableCounts<'data> {
    counts: Vec<(Named<'data>, u64)>,
}

impl<'data> TableCounts<'data> {
    pub(super) fn add(&mut self, variable: Option<Named<'data>>) {
        let Some(variable) = variable else { return };
        match self.counts.last_mut() {
            Some((last, count)) if last.start == variable.start => *count += 1,
            _ => self.counts.push((variable, 1)),
        }
    }

    pub(super) fn finish(mut self) -> (Vec<PointerTable>, u64) {
        let all = self.counts.len() as u64;
        self.counts.sort_by_key(|(named, count)| (std::cmp::Reverse(*count), named.start));
        self.counts.truncate(LARGEST);
        let table = |(named, count): &(Named<'_>, u64)| PointerTable {
            name: readable_name(named.name),
            symbol: String::from_utf8_lossy(named.name).into_owned(),
            address: named.start.0,
            bytes: named.size,
            count: *count,
        };
        (self.counts.iter().map(table).collect(), all)
    }
}
