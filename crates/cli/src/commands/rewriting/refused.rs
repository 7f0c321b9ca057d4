//! Text for refusals.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use coldstart_app::rewriting::{Refused, Task, Worked};

use crate::output::path::{fitted, printable};
use crate::output::table::MAX_WIDTH;
use crate::output::text::{counted, escaped, heading, prose};
use crate::output::{self, style};

/// Prints why a given file is refused.
pub(in super::super) fn complain_refused(verb: &str, path: &Path, refused: &Refused) {
    let reason = escaped(&refused.reason);
    output::complain(&style::ERROR, "error", &format!("cannot {verb} `{}`: {reason}", printable(path)));
    if let Some(hint) = &refused.hint {
        output::hint(&escaped(hint));
    }
}

/// The section on refused files of a report on many files; empty if there are none.
pub(in super::super) fn refused_part<D>(done: &[(Task, Worked<D>)], all: bool) -> String {
    let refused = done.iter().filter_map(|(task, worked)| Some((task.path.as_path(), worked.refused()?)));
    let reasons = refused_reasons(refused, all);
    if reasons.is_empty() { reasons } else { heading("Refused", "left as they are") + &reasons }
}

/// A line for each kind of reason, the most frequent first, with its number of files and the first of them, or all.
fn refused_reasons<'a>(refused: impl Iterator<Item = (&'a Path, &'a Refused)>, all: bool) -> String {
    let mut kinds: BTreeMap<&str, Vec<(&Path, &Refused)>> = BTreeMap::new();
    for (path, refused) in refused {
        kinds.entry(refused.code).or_default().push((path, refused));
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(code, files)| (Reverse(files.len()), *code));
    let mut text = String::new();
    for (code, files) in kinds {
        let shown = if all { files.len() } else { 1 };
        text.push_str(&format!("  {code}: {}\n", counted(files.len() as u64, "file").replace('\u{a0}', " ")));
        for (path, refused) in files.iter().take(shown) {
            let path = fitted(path, MAX_WIDTH / 2);
            text.push_str(&prose(&format!("`{path}`: {}", escaped(&refused.reason)), 4, 6));
        }
        // One hint if it is the same for all.
        let hint = files.first().and_then(|(_, first)| first.hint.as_ref());
        if let Some(hint) = hint {
            text.push_str(&prose(&format!("hint: {hint}"), 4, 6));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_counted_and_the_first_file_stands_for_all() {
        let refused = |code, reason: &str| Refused { code, reason: reason.to_owned(), hint: None };
        let files = [
            (Path::new("a"), refused("payload", "has 9 bytes")),
            (Path::new("b"), refused("machine", "is odd")),
            (Path::new("c"), refused("machine", "is odder")),
        ];
        let list = || files.iter().map(|(path, refused)| (*path, refused));
        assert_eq!(
            refused_reasons(list(), false),
            "  machine: 2 files\n    `b`: is odd\n  payload: 1 file\n    `a`: has 9 bytes\n"
        );
        assert!(refused_reasons(list(), true).contains("    `c`: is odder\n"));
    }
}
