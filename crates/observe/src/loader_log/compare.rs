//! Whether the loader did the same in two starts.

use std::path::{Path, PathBuf};

use super::{Initialiser, LoaderLog, MappedObject};

/// The differences between two starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderDifference {
    /// Objects mapped before the first initialiser.
    pub objects: Option<FirstDifference>,
    /// Objects mapped later, which also depend on the program's own work.
    pub opened_later: Option<FirstDifference>,
    /// Initialisers run before control was transferred to the program.
    pub initialisers: Option<FirstDifference>,
    /// Initialisers run later.
    pub initialisers_later: Option<FirstDifference>,
    /// Libraries that only the second start did not find, by name.
    pub newly_missing: Vec<PathBuf>,
    /// Failed probes of the first start.
    pub failed_probes_before: usize,
    /// Failed probes of the second start.
    pub failed_probes_after: usize,
}

/// The first difference between two lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstDifference {
    /// Counted from 0.
    pub place: usize,
    /// The element of the first list; `None` past its end.
    pub before: Option<PathBuf>,
    /// The element of the second list; `None` past its end.
    pub after: Option<PathBuf>,
}

impl LoaderDifference {
    /// Whether both starts mapped and initialised the same objects in the same order until control was transferred to the
    /// program, and no library is newly missing. The number of failed probes may differ.
    pub fn is_same_start(&self) -> bool {
        self.objects.is_none() && self.initialisers.is_none() && self.newly_missing.is_empty()
    }

    /// As [`is_same_start`](Self::is_same_start), including later objects.
    pub fn is_same(&self) -> bool {
        self.is_same_start() && self.opened_later.is_none() && self.initialisers_later.is_none()
    }
}

/// Compares two starts. Paths may differ where `same_file` says that they are the same file; the program itself may be
/// another file in each start, and the requesting objects may differ.
pub fn compare(before: &LoaderLog, after: &LoaderLog, same_file: impl Fn(&Path, &Path) -> bool) -> LoaderDifference {
    let same_file = |one: &Path, other: &Path| one == other || same_file(one, other);
    let same_object = |one: &MappedObject, other: &MappedObject| {
        one.namespace == other.namespace && same_file(&one.path, &other.path)
    };
    let same_initialiser = |one: &Initialiser, other: &Initialiser| match (one, other) {
        (Initialiser::Early(_), Initialiser::Early(_)) | (Initialiser::Program(_), Initialiser::Program(_)) => true,
        (Initialiser::Library(one), Initialiser::Library(other)) => same_file(one, other),
        _ => false,
    };
    let object = |object: &MappedObject| object.path.clone();
    let initialiser = |initialiser: &Initialiser| initialiser.path().to_owned();
    let was_missing = |name: &Path| before.missing.iter().any(|missing| Path::new(&missing.name) == name);
    let missing = after.missing.iter().map(|missing| PathBuf::from(&missing.name));
    LoaderDifference {
        objects: parting(&before.objects, &after.objects, same_object, object),
        opened_later: parting(&before.opened_later, &after.opened_later, same_object, object),
        initialisers: parting(&before.initialisers, &after.initialisers, same_initialiser, initialiser),
        initialisers_later: parting(
            &before.initialisers_later,
            &after.initialisers_later,
            same_initialiser,
            initialiser,
        ),
        newly_missing: missing.filter(|name| !was_missing(name)).collect(),
        failed_probes_before: before.failed_probes.len(),
        failed_probes_after: after.failed_probes.len(),
    }
}

fn parting<T>(
    before: &[T],
    after: &[T],
    same: impl Fn(&T, &T) -> bool,
    path: impl Fn(&T) -> PathBuf,
) -> Option<FirstDifference> {
    let place = before.iter().zip(after).position(|(one, other)| !same(one, other));
    let place = place.or_else(|| (before.len() != after.len()).then(|| before.len().min(after.len())))?;
    Some(FirstDifference { place, before: before.get(place).map(&path), after: after.get(place).map(&path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(objects: &[&str], initialisers: &[&str], program: &str) -> LoaderLog {
        let object = |path: &&str| MappedObject { name: path.into(), path: path.into(), requester: None, namespace: 0 };
        let mut initialisers: Vec<_> = initialisers.iter().map(|path| Initialiser::Library(path.into())).collect();
        initialisers.push(Initialiser::Program(program.into()));
        LoaderLog { objects: objects.iter().map(object).collect(), initialisers, ..LoaderLog::default() }
    }

    #[test]
    fn the_first_difference_is_named() {
        let by_name = |one: &Path, other: &Path| one.file_name() == other.file_name();
        let before = log(&["/a/x", "/a/y"], &["/a/y", "/a/x"], "/p");
        assert!(compare(&before, &log(&["/b/x", "/b/y"], &["/b/y", "/b/x"], "/q"), by_name).is_same());
        let moved = compare(&before, &log(&["/b/x", "/b/y"], &["/b/x", "/b/y"], "/p"), by_name);
        let wanted = FirstDifference { place: 0, before: Some("/a/y".into()), after: Some("/b/x".into()) };
        assert_eq!((moved.is_same_start(), moved.initialisers), (false, Some(wanted)));
        let more = compare(&before, &log(&["/a/x", "/a/y", "/a/z"], &["/a/y", "/a/x"], "/p"), by_name);
        assert_eq!(more.objects, Some(FirstDifference { place: 2, before: None, after: Some("/a/z".into()) }));
        let elsewhere = compare(&before, &log(&["/b/x"], &["/a/y", "/a/x"], "/p"), |_, _| false);
        assert_eq!(elsewhere.objects.unwrap().place, 0);
    }
}
