//! Following symbolic links inside a root directory, wherever its names come from: a directory of this machine, the entries of an image,
//! the layers of a container.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows (`MAXSYMLINKS`, `include/linux/namei.h`).
pub const MOST_LINKS: usize = 40;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Absolute, without links and `..`.
    pub path: PathBuf,
    /// A `..` stood at the root. The kernel stays at the root there.
    pub is_above_root: bool,
}

/// Why a path leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub enum FollowError<E> {
    /// More than [`MOST_LINKS`] symbolic links.
    TooManyLinks,
    /// A name cannot be looked at.
    Look(E),
}

/// Follows a path from the root. `target_of` is asked for each name, in order, with a path that has no links before that name: the
/// target if the name is a symbolic link, else `None`, also if there is no such name.
///
/// # Errors
/// Too many links, or the error of `target_of`.
pub fn follow<E>(
    path: &Path,
    target_of: &mut dyn FnMut(&Path) -> Result<Option<OsString>, E>,
) -> Result<Followed, FollowError<E>> {
    let mut rest = names(path);
    let mut found = PathBuf::from("/");
    let mut is_above_root = false;
    let mut links = 0;
    while let Some(name) = rest.pop() {
        if name == ".." {
            is_above_root |= !found.pop();
            continue;
        }
        found.push(name);
        let Some(target) = target_of(&found).map_err(FollowError::Look)? else { continue };
        links += 1;
        if links > MOST_LINKS {
            return Err(FollowError::TooManyLinks);
        }
        found.pop();
        let target = Path::new(&target);
        if target.is_absolute() {
            found = PathBuf::from("/");
        }
        rest.extend(names(target));
    }
    Ok(Followed { path: found, is_above_root })
}

/// The names of a path, the last first.
fn names(path: &Path) -> Vec<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    path.components().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_inside_the_root_only() {
        let mut target_of = |path: &Path| {
            let target = match path.to_str() {
                Some("/lib") => "usr/lib",
                Some("/usr/lib/up") => "../../..",
                Some("/abs") => "/usr",
                Some("/round") => "round",
                _ => return Ok::<_, ()>(None),
            };
            Ok(Some(target.into()))
        };
        let mut follow = |path: &str| super::follow(Path::new(path), &mut target_of);
        let at = |path: &str, is_above_root| Ok(Followed { path: path.into(), is_above_root });
        assert_eq!(follow("/lib/a"), at("/usr/lib/a", false));
        assert_eq!(follow("/abs/lib/../b"), at("/usr/b", false));
        assert_eq!(follow("lib/up/etc"), at("/etc", true));
        assert_eq!(follow("/"), at("/", false));
        assert_eq!(follow("/round/x"), Err(FollowError::TooManyLinks));
    }
}
