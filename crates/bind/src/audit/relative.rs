//! Relocatable tables: paths below a directory that is moved as a whole become relative to the program's directory.

use std::collections::{BTreeMap, BTreeSet};

use super::table::{Found, Group, Place, Requester, Table};

impl Table {
    /// The same table for a program that may be moved together with everything below `root`. `program_directory` is
    /// the program's directory with links resolved, inside `root`; both are absolute and without `.` and `..`. Paths
    /// outside `root` stay absolute. The table is unchanged if the program is not in `root`.
    #[must_use]
    pub fn relative_to(&self, program_directory: &[u8], root: &[u8]) -> Self {
        let Some(deeper) = below(program_directory, root) else { return self.clone() };
        let depth = deeper.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).count();
        let up = b"../".repeat(depth);
        let moved = |place: &Place| match place {
            Place::Absolute(path) => match below(path, root) {
                Some(rest) if !rest.is_empty() => Place::FromProgram([up.as_slice(), rest].concat()),
                _ => place.clone(),
            },
            Place::FromProgram(_) => place.clone(),
        };
        let answer = |found: &Found| Found { place: moved(&found.place), ..found.clone() };
        let entries = |entries: &BTreeMap<Vec<u8>, Found>| {
            entries.iter().map(|(name, found)| (name.clone(), answer(found))).collect()
        };
        let requesters = |requesters: &BTreeSet<Requester>| {
            let all = requesters.iter().map(|requester| match requester {
                Requester::Program => Requester::Program,
                Requester::Library(place) => Requester::Library(moved(place)),
            });
            all.collect()
        };
        let groups = self
            .groups
            .iter()
            .map(|group| Group { requesters: requesters(&group.requesters), entries: entries(&group.entries) });
        Self { check_files: self.check_files, for_all: entries(&self.for_all), groups: groups.collect() }
    }
}

/// The path relative to a directory; empty for the directory itself.
fn below<'path>(path: &'path [u8], directory: &[u8]) -> Option<&'path [u8]> {
    let directory = directory.strip_suffix(b"/").unwrap_or(directory);
    let rest = path.strip_prefix(directory)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix(b"/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_directory_follow_the_program_and_others_stay() {
        let found = |path: &str| Found { place: Place::Absolute(path.into()), before_library_path: false };
        let mut table = Table::default();
        for (name, path) in [("in", "/t/lib/in"), ("out", "/usr/lib/out"), ("near", "/tt/near")] {
            table.for_all.insert(name.into(), found(path));
        }
        let requesters = BTreeSet::from([Requester::Program, Requester::Library(Place::Absolute("/t/lib/in".into()))]);
        table.groups.push(Group { requesters, entries: BTreeMap::new() });
        let moved = table.relative_to(b"/t/bin/deep", b"/t/");
        assert_eq!(moved.for_all[b"in".as_slice()].place, Place::FromProgram("../../lib/in".into()));
        assert_eq!(moved.for_all[b"out".as_slice()].place, Place::Absolute("/usr/lib/out".into()));
        assert_eq!(moved.for_all[b"near".as_slice()].place, Place::Absolute("/tt/near".into()));
        let library = Requester::Library(Place::FromProgram("../../lib/in".into()));
        assert_eq!(moved.groups[0].requesters, BTreeSet::from([Requester::Program, library]));
        assert_eq!(
            table.relative_to(b"/t", b"/t").for_all[b"in".as_slice()].place,
            Place::FromProgram("lib/in".into())
        );
        assert_eq!(table.relative_to(b"/elsewhere", b"/t"), table);
    }
}
