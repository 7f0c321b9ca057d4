//! What a closure holds that its owner may not know: one library twice, one file under two names, directories that come late.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use coldstart_loader::{FoundBy, Known};

use super::answer::Answer;
use super::words;

/// Files tried in vain for each library of a directory, from which on the directory comes late.
const LATE: usize = 3;

/// Names beside the first under which a file was searched and found again, by object.
pub(super) fn other_names(answer: &Answer) -> Vec<(usize, Vec<Vec<u8>>)> {
    let mut names: BTreeMap<usize, Vec<Vec<u8>>> = BTreeMap::new();
    for request in &answer.closure.requests {
        let (Some(object), Some(FoundBy::AlreadyLoaded(Known::SameFile))) = (request.object, request.found_by) else {
            continue;
        };
        let known = names.entry(object).or_default();
        if !known.contains(&request.needed) {
            known.push(request.needed.clone());
        }
    }
    names.into_iter().collect()
}

/// A directory in which libraries are found only after others were searched.
pub(super) struct LateDirectory {
    pub(super) directory: PathBuf,
    pub(super) rule: FoundBy,
    pub(super) libraries: usize,
    /// Files tried in vain before these libraries were found.
    pub(super) failed: usize,
    /// Directories, each counted once, that were tried before.
    pub(super) directories_before: usize,
}

/// Directories that come late, the most expensive first.
pub(super) fn late_directories(answer: &Answer) -> Vec<LateDirectory> {
    let mut late: HashMap<(PathBuf, FoundBy), (usize, usize, usize)> = HashMap::new();
    for (index, object) in answer.closure.objects.iter().enumerate() {
        let failed = answer.failed_before(index);
        let Some(request) = answer.brought_by(index).filter(|_| failed > 0) else { continue };
        let place = (words::listed_directory(answer, &object.path), object.found_by);
        let tried = answer.failed_for(request.requester, &request.needed);
        let before: std::collections::HashSet<PathBuf> = tried
            .map(|probe| words::listed_directory(answer, &probe.path))
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
