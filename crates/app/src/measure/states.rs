//! The states to measure, and their requirements.

use std::path::PathBuf;
use std::sync::Arc;

use coldstart_measure::{SavedState, StartState};
use coldstart_pagecache::SavedPageCache;
use coldstart_sys::drop_caches::drop_refusal;

use super::options::StateChoice;
use crate::error::{AppError, HintExt};
use crate::observer::Observer;

/// The selected states, and the saved state to restore for one of them.
pub(super) struct States {
    pub(super) states: Vec<StartState>,
    pub(super) saved: Option<SavedState>,
}

impl States {
    pub(super) fn chosen(choices: &[StateChoice], observer: &dyn Observer) -> Result<Self, AppError> {
        if choices.is_empty() {
            return Ok(Self { states: vec![coldest_state(observer), StartState::Hot], saved: None });
        }
        let mut states = Vec::new();
        let mut file: Option<&PathBuf> = None;
        for choice in choices {
            states.push(match choice {
                StateChoice::Cold => StartState::Cold,
                StateChoice::Selective => StartState::Selective,
                StateChoice::Hot => StartState::Hot,
                StateChoice::Boot(other) => {
                    if let Some(first) = file.replace(other).filter(|first| *first != other) {
                        return Err(anyhow::anyhow!(
                            "two saved states given, `{}` and `{}`",
                            first.display(),
                            other.display()
                        ))
                        .hint(|| "measure once with each, and compare the two with `--against last`");
                    }
                    StartState::Boot
                }
            });
        }
        let saved = match file {
            Some(file) => {
                let pages = Arc::new(SavedPageCache::read(file)?);
                Some(SavedState { file: file.clone(), pages })
            }
            None => None,
        };
        Ok(Self { states, saved })
    }
}

/// The coldest permitted state: all caches dropped, or else the program's own files evicted, with a note.
pub fn coldest_state(observer: &dyn Observer) -> StartState {
    let Some(reason) = drop_refusal() else { return StartState::Cold };
    observer.note(&format!("cannot drop the machine's caches ({reason}): using `selective` instead of `cold`"));
    StartState::Selective
}
