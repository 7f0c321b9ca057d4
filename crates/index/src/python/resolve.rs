//! What a directory answers when Python asks it for a name, by Python's rules.
//!
//! Source: `FileFinder.find_spec` in `Lib/importlib/_bootstrap_external.py`, the same from 3.4 to 3.14: a package before a module,
//! extensions before sources before compiled files, and a directory without `__init__` as a part of a namespace.

use crate::listing::{Listing, NameKind};

/// What a directory has for a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The number of the loader, or -1 for a part of a namespace.
    pub(super) kind: i64,
    /// The file, relative to the directory; empty for a namespace.
    pub(super) file: Vec<u8>,
    /// It is a package's `__init__`.
    pub(super) is_package: bool,
    /// The file is reached through a symbolic link, whose target may vanish without a change of the directory.
    pub(super) is_link: bool,
}

/// The loaders' classes, by number.
pub(super) const LOADERS: [&[u8]; 3] = [b"ExtensionFileLoader", b"SourceFileLoader", b"SourcelessFileLoader"];

/// Suffixes with the number of their loader, in the order in which Python tries them.
pub(super) fn suffixes(extensions: &[Vec<u8>]) -> Vec<(i64, Vec<u8>)> {
    let extensions = extensions.iter().map(|suffix| (0, suffix.clone()));
    extensions.chain([(1, b".py".to_vec()), (2, b".pyc".to_vec())]).collect()
}

/// The answer of a directory. `below` is the listing of the directory of that name, if it was listed. `None`: it has nothing, or it
/// cannot be told.
pub(super) fn resolve(
    listing: &Listing,
    below: Option<&Listing>,
    tail: &[u8],
    suffixes: &[(i64, Vec<u8>)],
) -> Option<Answer> {
    let is_directory = listing.followed(tail) == Some(NameKind::Directory);
    if is_directory {
        let below = below?;
        for (kind, suffix) in suffixes {
            let name = [b"__init__", suffix.as_slice()].concat();
            if let Some(is_link) = file(below, &name) {
                let file = [tail, b"/", &name].concat();
                return Some(Answer { kind: *kind, file, is_package: true, is_link });
            }
        }
    }
    for (kind, suffix) in suffixes {
        let name = [tail, suffix.as_slice()].concat();
        if let Some(is_link) = file(listing, &name) {
            return Some(Answer { kind: *kind, file: name, is_package: false, is_link });
        }
    }
    // Through a link it is left to Python: its target may become something else.
    (listing.kind(tail) == Some(NameKind::Directory)).then(|| Answer {
        kind: -1,
        file: Vec::new(),
        is_package: false,
        is_link: false,
    })
}

/// Whether a name is that of a regular file, and then whether through a link.
fn file(listing: &Listing, name: &[u8]) -> Option<bool> {
    let is_link = listing.kind(name)? == NameKind::Link;
    (listing.followed(name) == Some(NameKind::File)).then_some(is_link)
}

/// The part of each name before its first dot: if a directory has a module, its name is among these.
pub(super) fn stems(listing: &Listing) -> impl Iterator<Item = &[u8]> {
    listing.names().map(|(name, _)| name.split(|&byte| byte == b'.').next().unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn answers_are_those_of_python() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for directory in ["package", "namespace", "both"] {
            fs::create_dir(at(directory)).unwrap();
        }
        for file in ["package/__init__.py", "package.py", "both.py", "fast.so", "fast.py", "old.pyc", "real.txt"] {
            fs::write(at(file), "").unwrap();
        }
        symlink("real.txt", at("link.py")).unwrap();
        symlink("nowhere", at("dangling.py")).unwrap();
        symlink("namespace", at("elsewhere")).unwrap();
        let suffixes = suffixes(&[b".so".to_vec()]);
        let listing = Listing::of(root.path()).unwrap().unwrap();
        let answer = |tail: &str| {
            let below = Listing::of(&at(tail)).ok().flatten();
            resolve(&listing, below.as_ref(), tail.as_bytes(), &suffixes)
                .map(|answer| (answer.kind, String::from_utf8(answer.file).unwrap(), answer.is_package, answer.is_link))
        };
        let some = |kind, file: &str, package, link| Some((kind, file.to_owned(), package, link));
        assert_eq!(answer("package"), some(1, "package/__init__.py", true, false));
        assert_eq!(answer("both"), some(1, "both.py", false, false));
        assert_eq!(answer("fast"), some(0, "fast.so", false, false));
        assert_eq!(answer("old"), some(2, "old.pyc", false, false));
        assert_eq!(answer("link"), some(1, "link.py", false, true));
        assert_eq!(answer("namespace"), some(-1, "", false, false));
        assert_eq!((answer("dangling"), answer("elsewhere"), answer("real")), (None, None, None));
        let stems: Vec<&[u8]> = stems(&listing).collect();
        assert!(stems.contains(&&b"fast"[..]) && stems.contains(&&b"dangling"[..]) && stems.contains(&&b"real"[..]));
    }
}
