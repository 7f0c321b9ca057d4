//! Whether the mapped files are the same as the local ones: a recording may be old, or from another machine.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_analyse::is_still_there;
use coldstart_profile::trace::TracedFile;

use super::numbers::build_id_of;

/// Objects that are named one by one in a note.
const NAMED: usize = 5;

/// Holds files against what was recorded of them.
#[derive(Debug)]
pub(super) struct Same<'a> {
    build_ids: &'a HashMap<PathBuf, Vec<u8>>,
    /// When the recording was over: seconds since 1970.
    recorded: i64,
    others: Vec<String>,
    gone: Vec<String>,
}

impl<'a> Same<'a> {
    pub(super) fn new(build_ids: &'a HashMap<PathBuf, Vec<u8>>, recorded: i64) -> Self {
        Self { build_ids, recorded, others: Vec::new(), gone: Vec::new() }
    }

    /// Whether a file's path leads to what was mapped. The build id decides where there is one, else inode and time.
    pub(super) fn is_same(&mut self, file: &TracedFile) -> bool {
        let path = format!("`{}`", file.path.display());
        let Ok(metadata) = std::fs::metadata(&file.path) else {
            self.gone.push(path);
            return false;
        };
        if let Some(recorded) = self.build_ids.get(&file.path) {
            let here = build_id_of(&file.path);
            if here.as_ref() == Some(recorded) {
                return true;
            }
            let here = here.map_or_else(|| "no build id".to_owned(), |id| digits(&id));
            self.others.push(format!("{path} (recorded {}, here {here})", digits(recorded)));
            return false;
        }
        let is_same = is_still_there(file, None) && metadata.mtime() <= self.recorded;
        if !is_same {
            self.others.push(path);
        }
        is_same
    }

    /// What has to be said, a sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let others = sentence(
            &self.others,
            "here another file than the one that was recorded",
            "here other files than those that were recorded",
        );
        let gone = sentence(&self.gone, "not here", "not here");
        others.into_iter().chain(gone)
    }
}

fn sentence(names: &[String], one: &str, many: &str) -> Option<String> {
    let more = names.len().saturating_sub(NAMED);
    let named = names.get(..names.len().saturating_sub(more))?.join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    match names.len() {
        0 => None,
        1 => Some(format!("{named} is {one}: its sections and symbols are left out.")),
        _ => Some(format!("{named}{more} are {many}: their sections and symbols are left out.")),
    }
}

fn digits(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// When a file was changed last: seconds since 1970.
pub(super) fn changed(path: &Path) -> i64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.mtime())
}
