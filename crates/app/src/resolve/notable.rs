//! Unusual facts about a closure: duplicate libraries, files with two names, directories late in the search order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use coldstart_loader::{FoundBy, Known};

use super::Resolution;

/// Failed probes per library from which a directory counts as late.
const LATE: usize = 3;

/// A directory whose libraries are found only after many failed probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateDirectory {
    /// The directory.
    pub directory: PathBuf,
    /// The rule for it.
    pub rule: FoundBy,
    /// Libraries found in it after failed probes.
    pub libraries: usize,
    /// Failed probes for these libraries.
    pub failed: usize,
    /// Number of distinct directories tried before.
    pub directories_before: usize,
}

impl Resolution {
    /// Further names under which a file was searched and found again, by object.
    pub fn other_names(&self) -> Vec<(usize, Vec<Vec<u8>>)> {
        let mut names: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
        for request in &self.closure.requests {
            let (Some(object), Some(FoundBy::AlreadyLoaded(Known::SameFile))) = (request.object, request.found_by)
            else {
                continue;
            };
            let known = names.entry(object).or_default();
            if !known.contains(&request.needed) {
                known.push(request.needed.clone());
            }
        }
        names.into_iter().collect()
    }

    /// Late directories, most expensive first.
    pub fn late_directories(&self) -> Vec<LateDirectory> {
        let mut late: HashMap<(PathBuf, FoundBy), (usize, usize, usize)> = HashMap::new();
        for (index, object) in self.closure.objects.iter().enumerate() {
            let failed = self.failed_before(index);
            let Some(request) = self.brought_by(index).filter(|_| failed > 0) else { continue };
            let place = (self.listed_directory(&object.path), object.found_by);
            let tried = self.failed_for(request.requester, &request.needed);
            let before: HashSet<PathBuf> = tried
                .map(|probe| self.listed_directory(&probe.path))
                .filter(|directory| *directory != place.0)
                .collect();
            let counts = late.entry(place).or_default();
            *counts = (counts.0 + 1, counts.1 + failed, counts.2.max(before.len()));
        }
        let late = late.into_iter().map(|((directory, rule), (libraries, failed, directories_before))| LateDirectory {
            directory,
            rule,
            libraries,
            failed,
            directories_before,
        });
        let mut late: Vec<LateDirectory> =
            late.filter(|late| late.failed >= LATE * late.libraries && late.directories_before >= LATE - 1).collect();
        late.sort_by(|one, other| other.failed.cmp(&one.failed).then_with(|| one.directory.cmp(&other.directory)));
        late
    }
}
