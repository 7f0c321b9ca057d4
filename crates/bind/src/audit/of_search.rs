//! A table from the requesters' search paths: everything in their directories, so that a library requested only at
//! run time, by a name stored nowhere, is also found at the first try.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::table::{Found, Group, Place, Requester, Table};

/// The directories that a requester searches, in the loader's order: absolute, with tokens such as `$ORIGIN`
/// expanded; a trailing slash makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// The requester: the program, or a library by the path it is opened under.
    pub requester: Requester,
    /// Directories before `LD_LIBRARY_PATH`: `DT_RPATH`, its own and inherited.
    pub before_library_path: Vec<Vec<u8>>,
    /// Directories after it: `DT_RUNPATH`, and further ones as far as they are predictable.
    pub after_library_path: Vec<Vec<u8>>,
}

/// The contents of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of files that the loader would accept. Files for another architecture, which a search skips, must not be
    /// included: given as a path they are fatal. So are unreadable ones.
    pub files: BTreeSet<Vec<u8>>,
    /// Names of files in subdirectories that the loader searches first on some processors (`glibc-hwcaps/x86-64-v3`,
    /// and `tls` and the like up to glibc 2.36). Which of them it uses is known only at run time.
    pub variants: BTreeSet<Vec<u8>>,
}

/// The names that get an entry.
#[derive(Clone, Copy, Debug)]
pub enum Names<'names> {
    /// All names in a directory.
    All,
    /// Only these.
    Only(&'names BTreeSet<Vec<u8>>),
}

impl Names<'_> {
    fn wanted(self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }
}

impl Table {
    /// The results of searching: for each name, the first directory that contains it. Requesters with the same
    /// directories form a group. A name with a variant in that directory or an earlier one gets no entry; the loader
    /// searches for it as before. Each directory is listed once.
    pub fn of_search(searches: &[Search], mut listing: impl FnMut(&[u8]) -> Listing, names: Names<'_>) -> Self {
        let mut listings: HashMap<Vec<u8>, Listing> = HashMap::new();
        let mut group_numbers: HashMap<Lists<'_>, usize> = HashMap::new();
        let mut groups: Vec<Group> = Vec::new();
        for search in searches {
            let lists = (search.before_library_path.as_slice(), search.after_library_path.as_slice());
            let number = *group_numbers.entry(lists).or_insert_with(|| {
                for directory in lists.0.iter().chain(lists.1) {
                    listings.entry(directory.clone()).or_insert_with(|| listing(directory));
                }
                groups.push(Group { requesters: BTreeSet::new(), entries: answers(lists, &listings, names) });
                groups.len().saturating_sub(1)
            });
            if let Some(group) = groups.get_mut(number) {
                group.requesters.insert(search.requester.clone());
            }
        }
        groups.retain(|group| !group.entries.is_empty());
        Self { groups, ..Self::default() }
    }
}

/// The directories before `LD_LIBRARY_PATH`, and those after it.
type Lists<'search> = (&'search [Vec<u8>], &'search [Vec<u8>]);

/// The results for one requester's directories.
fn answers(
    (before, after): Lists<'_>,
    listings: &HashMap<Vec<u8>, Listing>,
    names: Names<'_>,
) -> BTreeMap<Vec<u8>, Found> {
    let mut entries = BTreeMap::new();
    let mut settled_otherwise: BTreeSet<&[u8]> = BTreeSet::new();
    let directories = before.iter().map(|directory| (directory, true));
    for (directory, before_library_path) in directories.chain(after.iter().map(|directory| (directory, false))) {
        let Some(listing) = listings.get(directory) else { continue };
        let undecided = listing.variants.iter().filter(|name| !entries.contains_key(*name));
        settled_otherwise.extend(undecided.map(Vec::as_slice));
        for name in listing.files.iter().filter(|name| names.wanted(name)) {
            // A path with a `$` cannot be given: the loader would expand it.
            let sayable = !directory.contains(&b'$') && !name.contains(&b'$') && directory.first() == Some(&b'/');
            if entries.contains_key(name) || settled_otherwise.contains(name.as_slice()) {
                continue;
            }
            if !sayable {
                settled_otherwise.insert(name);
                continue;
            }
            let found = Found { place: Place::Absolute(joined(directory, name)), before_library_path };
            entries.insert(name.clone(), found);
        }
    }
    entries
}

/// The path in the loader's spelling: one slash, however many the directory ends in.
fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let end = directory.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last.saturating_add(1));
    [directory.get(..end).unwrap_or_default(), b"/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    fn library(path: &str) -> Requester {
        Requester::Library(Place::Absolute(path.into()))
    }

    fn search(requester: Requester, before: &[&str], after: &[&str]) -> Search {
        Search { requester, before_library_path: list(before), after_library_path: list(after) }
    }

    /// Directories and what they have; names of variants have a `^` before them.
    fn table_of(searches: &[Search], directories: &[(&str, &[&str])], names: Names<'_>) -> Table {
        let mut asked = BTreeSet::new();
        let listing = |directory: &[u8]| {
            assert!(asked.insert(directory.to_vec()), "listed twice");
            let mut listing = Listing::default();
            for (_, names) in directories.iter().filter(|(name, _)| name.as_bytes() == directory) {
                for name in *names {
                    match name.strip_prefix('^') {
                        Some(variant) => listing.variants.insert(variant.into()),
                        None => listing.files.insert(name.as_bytes().to_vec()),
                    };
                }
            }
            listing
        };
        Table::of_search(searches, listing, names)
    }

    fn shown(group: &Group) -> Vec<String> {
        let mark = |found: &Found| if found.before_library_path { " first" } else { "" };
        let path = |found: &Found| String::from_utf8_lossy(found.place.path()).into_owned();
        group.entries.values().map(|found| path(found) + mark(found)).collect()
    }

    #[test]
    fn the_first_directory_with_the_name_counts() {
        let searches = [search(Requester::Program, &["/r"], &["/a/", "/b", "/a/"])];
        let directories: &[(&str, &[&str])] =
            &[("/r", &["one"]), ("/a/", &["one", "two"]), ("/b", &["one", "two", "three"])];
        let table = table_of(&searches, directories, Names::All);
        assert_eq!(shown(&table.groups[0]), ["/r/one first", "/b/three", "/a/two"]);
        let wanted = BTreeSet::from([b"two".to_vec()]);
        assert_eq!(shown(&table_of(&searches, directories, Names::Only(&wanted)).groups[0]), ["/a/two"]);
    }

    #[test]
    fn requesters_with_the_same_list_share_a_group() {
        let searches = [
            search(Requester::Program, &[], &["/a", "/b"]),
            search(library("/a/x"), &[], &["/b", "/a"]),
            search(library("/a/y"), &[], &["/a", "/b"]),
            search(library("/a/z"), &["/a"], &["/b"]),
            search(library("/a/none"), &[], &["/empty"]),
        ];
        let table = table_of(&searches, &[("/a", &["n"]), ("/b", &["n"])], Names::All);
        assert_eq!(table.groups.len(), 3);
        assert_eq!(table.groups[0].requesters, BTreeSet::from([Requester::Program, library("/a/y")]));
        assert_eq!(shown(&table.groups[1]), ["/b/n"]);
        assert_eq!(shown(&table.groups[2]), ["/a/n first"]);
    }

    #[test]
    fn variants_are_left_to_the_loader_unless_an_earlier_directory_has_the_name() {
        let searches = [search(Requester::Program, &[], &["/a", "/b", "/c"])];
        let directories: &[(&str, &[&str])] =
            &[("/a", &["early"]), ("/b", &["here", "^here", "^early", "^late"]), ("/c", &["late", "plain"])];
        let table = table_of(&searches, directories, Names::All);
        assert_eq!(shown(&table.groups[0]), ["/a/early", "/c/plain"]);
    }

    #[test]
    fn what_cannot_be_said_hides_what_comes_later() {
        let searches = [search(Requester::Program, &[], &["/a$b", "relative", "/c"])];
        let directories: &[(&str, &[&str])] = &[("/a$b", &["one"]), ("relative", &["two"]), ("/c", &["one", "two"])];
        assert!(table_of(&searches, directories, Names::All).is_empty());
    }
}
