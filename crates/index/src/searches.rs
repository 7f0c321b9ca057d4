//! What a log says of an interpreter that searches for relative names: entries of its path, names that it found and missed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::log::Event;

/// The searches of the first interpreter in a log; those of another one are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Searches {
    /// The interpreter.
    pub(crate) executable: PathBuf,
    /// What an index of it is valid for: the second field of its first line.
    pub(crate) tag: Vec<u8>,
    /// Entries of its path, in order of appearance.
    pub(crate) entries: Vec<Vec<u8>>,
    /// Names that were found.
    pub(crate) found: BTreeSet<Vec<u8>>,
    /// Names that nothing had.
    pub(crate) missing: BTreeSet<Vec<u8>>,
    /// Processes of another one.
    foreign: BTreeSet<u32>,
}

impl Searches {
    /// From the events of a log: `P` executable, tag; `S` entries; `F` name; `M` name. `None` without a `P`.
    pub(crate) fn of(events: &[Event]) -> Option<Self> {
        let first = events.iter().find(|event| event.kind == b'P')?;
        let foreign: BTreeSet<u32> = events
            .iter()
            .filter(|event| event.kind == b'P' && event.field(1) != first.field(1))
            .map(|event| event.process)
            .collect();
        let own = || events.iter().filter(|event| !foreign.contains(&event.process));
        let mut entries = Vec::new();
        let mut seen = BTreeSet::new();
        for entry in own().filter(|event| event.kind == b'S').flat_map(|event| &event.fields) {
            if seen.insert(entry) {
                entries.push(entry.clone());
            }
        }
        let names =
            |kind: u8| own().filter(move |event| event.kind == kind).map(|event| event.field(0).to_vec()).collect();
        Some(Self {
            executable: Path::new(OsStr::from_bytes(first.field(0))).to_owned(),
            tag: first.field(1).to_vec(),
            entries,
            found: names(b'F'),
            missing: names(b'M'),
            foreign,
        })
    }

    /// Whether a process ran this interpreter.
    pub(crate) fn has(&self, process: u32) -> bool {
        !self.foreign.contains(&process)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn another_interpreters_searches_are_left_out() {
        let log =
            "P|1|/usr/bin/perl|5.36\nS|1|/a|/b\nF|1|x\nM|2|y\nP|3|/opt/perl|5.38\nS|3|/foreign\nF|3|z\nS|2|/b|/c\n";
        let searches = Searches::of(&crate::log::parse(log.replace('|', "\t").as_bytes())).unwrap();
        assert_eq!(searches.entries, [&b"/a"[..], b"/b", b"/c"]);
        assert_eq!((searches.found.len(), searches.missing.len()), (1, 1));
        assert_eq!((searches.executable.as_path(), &*searches.tag), (Path::new("/usr/bin/perl"), &b"5.36"[..]));
        assert_eq!(Searches::of(&[]), None);
    }
}
