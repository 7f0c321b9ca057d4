//! Starts as after boot: a saved state of the page cache is restored before each launch.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use coldstart_pagecache::{RestoreOptions, Restored, restore};
use coldstart_profile::measurement::SavedStateFacts;

use crate::error::MeasureError;
use crate::plan::{MeasurePlan, SavedState};
use crate::runner::RestoredPages;

/// The state, and how close the runs came to it.
pub(super) struct Boot<'a> {
    saved: &'a SavedState,
    /// By command, its files in the state. The others must not even be opened: that would read their
    /// inodes, which were not in memory after boot.
    files: Vec<Vec<PathBuf>>,
    facts: HashMap<usize, SavedStateFacts>,
}

impl<'a> Boot<'a> {
    pub(super) fn new(saved: &'a SavedState, plan: &MeasurePlan) -> Self {
        let named: HashSet<&Path> = saved.pages.files().iter().map(|file| file.path.as_path()).collect();
        let is_named = |path: &&PathBuf| {
            named.contains(path.as_path())
                || std::fs::canonicalize(path).is_ok_and(|path| named.contains(path.as_path()))
        };
        let files = plan.commands.iter().map(|candidate| candidate.files.iter().filter(is_named).cloned().collect());
        Self { saved, files: files.collect(), facts: HashMap::new() }
    }

    /// The files of a command that may be checked.
    pub(super) fn files_of(&self, command: usize) -> &[PathBuf] {
        self.files.get(command).map_or(&[], Vec::as_slice)
    }

    /// Drops all caches and restores the state.
    pub(super) fn bring_back(&mut self, command: usize) -> Result<RestoredPages, MeasureError> {
        let restored = restore(&self.saved.pages, &RestoreOptions::default())
            .map_err(|source| MeasureError::Restore { file: self.saved.file.clone(), source })?;
        let facts = self.facts.entry(command).or_insert_with(|| SavedStateFacts {
            file: self.saved.file.to_string_lossy().into_owned(),
            saved_at: self.saved.pages.origin().saved_at,
            least_back: u64::MAX,
            ..SavedStateFacts::default()
        });
        Ok(note(facts, &restored))
    }

    pub(super) fn into_facts(self) -> HashMap<usize, SavedStateFacts> {
        self.facts
    }
}

fn note(facts: &mut SavedStateFacts, restored: &Restored) -> RestoredPages {
    let mut lost = restored.missing.iter().filter(|missing| missing.reason.is_lost() && missing.pages > 0).peekable();
    facts.lost_example = lost.peek().map(|missing| missing.path.to_string_lossy().into_owned());
    let (mut files, mut pages) = (0, 0u64);
    for missing in lost {
        files += 1;
        pages = pages.saturating_add(missing.pages);
    }
    let extra = restored.files.extra.saturating_add(restored.devices.extra);
    facts.asked = restored.asked();
    facts.least_back = facts.least_back.min(restored.back());
    facts.most_extra = facts.most_extra.max(extra);
    (facts.lost_files, facts.lost_pages) = (files, pages);
    RestoredPages { asked: restored.asked(), lost: pages, back: restored.back() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_pagecache::{Missing, MissingReason, PageTally};

    #[test]
    fn what_is_lost_is_told_apart_from_what_did_not_come() {
        let missing = |path: &str, pages, reason| Missing { path: path.into(), pages, reason };
        let restored = |back, extra| Restored {
            files: PageTally { count: 3, asked: 100, back, extra },
            missing: vec![
                missing("/gone", 30, MissingReason::Gone),
                missing("/directory", 0, MissingReason::Gone),
                missing("/decayed", 5, MissingReason::EvictedAgain),
            ],
            ..Restored::default()
        };
        let mut facts = SavedStateFacts { least_back: u64::MAX, ..SavedStateFacts::default() };
        assert_eq!(note(&mut facts, &restored(65, 2)), RestoredPages { asked: 100, lost: 30, back: 65 });
        note(&mut facts, &restored(70, 9));
        assert_eq!((facts.least_back, facts.most_extra, facts.lost_files, facts.lost_pages), (65, 9, 1, 30));
        assert_eq!(facts.lost_example.as_deref(), Some("/gone"));
    }
}
