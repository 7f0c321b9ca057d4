//! The groups of checks, one file each.

pub(crate) mod binding;
pub(crate) mod cgroups;
pub(crate) mod display;
pub(crate) mod facts;
pub(crate) mod file_systems;
pub(crate) mod images;
pub(crate) mod launching;
pub(crate) mod loader;
pub(crate) mod memory;
pub(crate) mod page_cache;
pub(crate) mod page_faults;
pub(crate) mod processes;
pub(crate) mod processors;
pub(crate) mod tracing;
pub(crate) mod who;

use crate::check::Check;
use crate::groups::facts::Facts;

/// All checks, in display order.
pub fn judge(facts: &Facts) -> Vec<Check> {
    let groups: [fn(&Facts) -> Vec<Check>; 14] = [
        who::judge,
        processes::judge,
        page_cache::judge,
        launching::judge,
        tracing::judge,
        page_faults::judge,
        loader::judge,
        binding::judge,
        file_systems::judge,
        images::judge,
        memory::judge,
        processors::judge,
        cgroups::judge,
        display::judge,
    ];
    groups.iter().flat_map(|group| group(facts)).collect()
}
