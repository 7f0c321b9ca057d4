//! The directories and symbolic links of a state: those that lead to recorded pages.
//!
//! The kernel does not list its cached names. A resident page was once reached through the directories
//! above its file, so these were read; a link to such a file or directory probably was. A link's target
//! is determined by its text alone: following it could trigger an automounter.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use super::SavedFile;

/// Links to links: the kernel follows 40, and more than a few are rare.
const MOST_ROUNDS: usize = 8;

/// All directories above the files, parents first.
pub(super) fn directories(files: &[SavedFile]) -> Vec<PathBuf> {
    let mut directories: HashSet<&Path> = HashSet::new();
    for file in files {
        // A directory in the set has its ancestors in it, too.
        for directory in file.path.ancestors().skip(1) {
            if !directories.insert(directory) {
                break;
            }
        }
    }
    let mut directories: Vec<PathBuf> = directories.into_iter().map(Path::to_owned).collect();
    directories.sort_unstable();
    directories
}

/// Those links that lead to a recorded file or directory, also through other links.
pub(super) fn links(links: Vec<(PathBuf, PathBuf)>, files: &[SavedFile], directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut known: HashSet<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
    known.extend(directories.iter().cloned());
    let mut open: Vec<(PathBuf, PathBuf)> =
        links.into_iter().filter_map(|(link, target)| Some((aim(&link, &target)?, link))).collect();
    let mut chosen = Vec::new();
    for _ in 0..MOST_ROUNDS {
        let (leading, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(|(aim, _)| known.contains(aim));
        if leading.is_empty() {
            break;
        }
        for (_, link) in leading {
            known.insert(link.clone());
            chosen.push(link);
        }
        open = rest;
    }
    chosen.sort_unstable();
    chosen
}

/// The target of a link, by its text.
fn aim(link: &Path, target: &Path) -> Option<PathBuf> {
    let mut aim = PathBuf::new();
    for component in link.parent()?.join(target).components() {
        match component {
            Component::ParentDir => {
                aim.pop();
            }
            Component::CurDir => {}
            other => aim.push(other),
        }
    }
    Some(aim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::FileIdentity;

    #[test]
    fn only_names_on_the_way_to_pages_are_kept() {
        let identity = FileIdentity { size: 1, modified: 0 };
        let file = |path: &str| SavedFile { path: path.into(), identity, device: 0, inode: 0, ranges: Vec::new() };
        let files = [file("/usr/lib/x/liba.so.1.2"), file("/usr/bin/a")];
        let directories = directories(&files);
        let text = |paths: &[PathBuf]| paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(text(&directories), ["/", "/usr", "/usr/bin", "/usr/lib", "/usr/lib/x"]);
        let link = |link: &str, target: &str| (link.into(), target.into());
        let all = vec![
            link("/usr/lib/x/liba.so", "liba.so.1"),
            link("/usr/lib/x/liba.so.1", "./liba.so.1.2"),
            link("/lib", "usr/lib"),
            link("/etc/a", "../../usr/bin/a"),
            link("/etc/other", "/usr/bin/b"),
            link("/loop", "/loop"),
        ];
        let expected = ["/etc/a", "/lib", "/usr/lib/x/liba.so", "/usr/lib/x/liba.so.1"];
        assert_eq!(text(&links(all, &files, &directories)), expected);
    }
}
