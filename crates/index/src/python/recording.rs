//! What a recorded start says of Python's search for modules.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::log::Event;

/// What an index of Python is valid for: as `tag_of` in `shims/python/hook.py` has it, in its order.
pub(super) const TAG_FIELDS: usize = 6;

/// A module as Python found it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FoundModule {
    /// The last part of its name.
    pub(super) tail: Vec<u8>,
    /// The whole name.
    pub(super) name: Vec<u8>,
    /// The loader's class; empty for a namespace.
    pub(super) loader: Vec<u8>,
    /// Its file.
    pub(super) origin: Vec<u8>,
    /// Its own directories, if it is a package.
    pub(super) locations: Vec<Vec<u8>>,
}

/// One interpreter's searches, by all processes that it ran in.
#[derive(Clone, Debug, Default)]
pub(super) struct Recording {
    pub(super) executable: PathBuf,
    pub(super) optimize: i64,
    pub(super) tag: Vec<Vec<u8>>,
    /// Entries of `sys.path`, in order of appearance, verbatim.
    pub(super) entries: Vec<Vec<u8>>,
    /// Directories of packages.
    pub(super) package_directories: BTreeSet<Vec<u8>>,
    pub(super) found: BTreeSet<FoundModule>,
    /// Names that were asked of `sys.path`.
    pub(super) top_names: BTreeSet<Vec<u8>>,
    /// Names that nothing had.
    pub(super) missing: BTreeSet<Vec<u8>>,
}

impl Recording {
    /// The searches of the first interpreter in a log. `None` if there is none.
    pub(super) fn of(events: &[Event]) -> Option<Self> {
        let first = events.iter().find(|event| event.kind == b'P')?;
        let tag = |event: &Event| event.fields.get(2..2 + TAG_FIELDS).map(<[_]>::to_vec);
        let mut recording = Self {
            executable: PathBuf::from(OsStr::from_bytes(first.field(0))),
            optimize: std::str::from_utf8(first.field(1)).ok()?.parse().ok()?,
            tag: tag(first)?,
            ..Self::default()
        };
        // A process that was forked has said nothing of itself.
        let mut foreign = BTreeMap::new();
        for event in events {
            match event.kind {
                b'P' => {
                    foreign.insert(event.process, tag(event).as_ref() != Some(&recording.tag));
                }
                _ if foreign.get(&event.process) == Some(&true) => {}
                b'S' => {
                    for entry in &event.fields {
                        if !recording.entries.contains(entry) {
                            recording.entries.push(entry.clone());
                        }
                    }
                }
                b'M' => recording.add_missing(event.field(0)),
                b'F' => recording.add_found(event),
                _ => {}
            }
        }
        Some(recording)
    }

    fn add_missing(&mut self, name: &[u8]) {
        self.add_top(name);
        self.missing.insert(name.to_vec());
    }

    fn add_top(&mut self, name: &[u8]) {
        if !name.contains(&b'.') {
            self.top_names.insert(name.to_vec());
        }
    }

    fn add_found(&mut self, event: &Event) {
        let name = event.field(0);
        self.add_top(name);
        let count = std::str::from_utf8(event.field(3)).ok().and_then(|text| text.parse().ok()).unwrap_or(0_usize);
        let rest = event.fields.get(4..).unwrap_or_default();
        let locations = rest.get(..count).unwrap_or_default().to_vec();
        self.package_directories.extend(rest.iter().cloned());
        let tail = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default().to_vec();
        let module = FoundModule {
            tail,
            name: name.to_vec(),
            loader: event.field(1).to_vec(),
            origin: event.field(2).to_vec(),
            locations,
        };
        self.found.insert(module);
    }

    /// Suffixes of extension modules, in the order in which Python tries them.
    pub(super) fn extension_suffixes(&self) -> Vec<Vec<u8>> {
        let list = self.tag.last().map(Vec::as_slice).unwrap_or_default();
        list.split(|&byte| byte == b'\t').filter(|suffix| !suffix.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// The directories to list: entries that are absolute, and those of packages. Others change their meaning with the working directory.
    pub(super) fn directories(&self) -> BTreeSet<Vec<u8>> {
        let mut all: BTreeSet<Vec<u8>> = self.entries.iter().chain(&self.package_directories).cloned().collect();
        all.retain(|path| path.starts_with(b"/") && stripped(path).len() > 1);
        all
    }
}

/// A path without slashes at its end, as Python joins it.
pub(super) fn stripped(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    path.get(..end).unwrap_or_default()
}

/// Bytes as a path.
pub(super) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn events(log: &str) -> Vec<Event> {
        crate::log::parse(log.replace('|', "\t").as_bytes())
    }

    #[test]
    fn a_foreign_interpreter_and_its_searches_are_left_out() {
        let recording = Recording::of(&events(
            "P|1|/usr/bin/python3|0|3.11|c|p|e|utf-8|.x.so\\t.so\n\
             S|1|/a|/b/|rel\n\
             F|1|pkg|SourceFileLoader|/a/pkg/__init__.py|1|/a/pkg\n\
             P|2|/opt/python3|0|3.12|c|p|e|utf-8|.so\n\
             S|2|/foreign\n\
             F|3|pkg.sub|SourceFileLoader|/a/pkg/sub.py|0|/a/pkg\n\
             M|1|absent\n",
        ))
        .unwrap();
        assert_eq!(recording.executable, Path::new("/usr/bin/python3"));
        assert_eq!(recording.extension_suffixes(), [b".x.so".to_vec(), b".so".to_vec()]);
        assert_eq!(recording.entries, [&b"/a"[..], b"/b/", b"rel"]);
        let directories: Vec<Vec<u8>> = recording.directories().into_iter().collect();
        assert_eq!(directories, [&b"/a"[..], b"/a/pkg", b"/b/"]);
        let tails: Vec<&[u8]> = recording.found.iter().map(|module| module.tail.as_slice()).collect();
        assert_eq!(tails, [&b"pkg"[..], b"sub"]);
        let top: Vec<&[u8]> = recording.top_names.iter().map(Vec::as_slice).collect();
        assert_eq!(top, [&b"absent"[..], b"pkg"]);
    }
}
