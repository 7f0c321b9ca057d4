//! Evicting the metadata of the commands' files, and recording the success.
//!
//! Before a command's first selectively cold start all ways are used: its metadata may have been in memory long
//! before, charged to any group. From then on all its metadata has been read in our own control group, and
//! only the group is reclaimed: other processes are not affected.

use std::collections::{HashMap, HashSet};

use coldstart_pagecache::{MetadataEviction, WayOutcome};
use coldstart_profile::measurement::EvictionWay;

use crate::plan::MeasurePlan;

/// The ways of eviction, and their results.
#[derive(Debug)]
pub(super) struct Metadata {
    eviction: MetadataEviction,
    /// Commands that have started after all ways were used.
    owned: HashSet<usize>,
    ways: HashMap<usize, Vec<EvictionWay>>,
}

/// We are in the group as long as this lives.
pub(super) struct Inside<'a>(&'a mut MetadataEviction);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Metadata {
    pub(super) fn of(plan: &MeasurePlan) -> Self {
        let files = plan.commands.iter().flat_map(|candidate| candidate.files.iter().cloned());
        Self { eviction: MetadataEviction::for_programs(files), owned: HashSet::new(), ways: HashMap::new() }
    }

    /// Enters the group, so that later reads and children are charged to it.
    pub(super) fn inside(&mut self) -> Inside<'_> {
        // Refused: then there is no group any more, which the next eviction reports as the reason.
        let _ = self.eviction.enter();
        Inside(&mut self.eviction)
    }

    /// Evicts the metadata of a command's files.
    pub(super) fn evict(&mut self, command: usize) {
        let is_owned = self.eviction.has_group() && self.owned.contains(&command);
        let outcomes = if is_owned { self.eviction.group_only() } else { self.eviction.all_ways() };
        self.owned.insert(command);
        let ways = self.ways.entry(command).or_default();
        for outcome in outcomes {
            add(ways, outcome);
        }
    }

    pub(super) fn into_ways(self) -> HashMap<usize, Vec<EvictionWay>> {
        self.ways
    }
}

fn add(ways: &mut Vec<EvictionWay>, WayOutcome { way, result }: WayOutcome) {
    let name = way.name();
    let index = ways.iter().position(|known| known.way == name).unwrap_or_else(|| {
        let unit = way.unit().to_owned();
        ways.push(EvictionWay { way: name, unit, times: 0, before: 0, after: 0, refused: None });
        ways.len() - 1
    });
    let Some(sum) = ways.get_mut(index) else { return };
    match result {
        Ok(taken) => {
            sum.times += 1;
            sum.before = sum.before.saturating_add(taken.before);
            sum.after = sum.after.saturating_add(taken.after.min(taken.before));
        }
        Err(reason) => sum.refused = Some(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_pagecache::{Taken, Way};

    #[test]
    fn what_each_way_took_is_added_up_and_its_refusal_kept() {
        let mut ways = Vec::new();
        let taken = |before, after| Ok(Taken { before, after });
        for result in [taken(100, 5), taken(50, 60), Err("it is frozen".to_owned())] {
            add(&mut ways, WayOutcome { way: Way::Group, result });
        }
        add(&mut ways, WayOutcome { way: Way::Device("/dev/a".into()), result: taken(9, 0) });
        let facts: Vec<_> = ways.iter().map(|way| (way.way.as_str(), way.times, way.before, way.after)).collect();
        // More afterwards than before: others brought that in, it is not what was to go.
        assert_eq!(facts, [("control group", 2, 150, 55), ("/dev/a", 1, 9, 0)]);
        assert_eq!(ways[0].refused.as_deref(), Some("it is frozen"));
    }
}
