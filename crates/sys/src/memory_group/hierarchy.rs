//! Where to create our own group: which hierarchy manages memory, and our position in it.
//!
//! v2 gives a group memory files only if its parent delegates the controller, and a group that delegates controllers
//! must not contain processes ("no internal processes"). We are a process of our group, so a new one must be its sibling.
//! v1 has no such rule, and there a child of our group stays within our limits.
//!
//! Source: `cgroups(7)`; `proc_pid_mountinfo(5)`; `Documentation/admin-guide/cgroup-v2.rst`, "No Internal Process Constraint".

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Generation, GroupError};

/// Our group, and where a new one goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) generation: Generation,
    /// The directory of our current group.
    pub(super) group: PathBuf,
    /// The directory in which a new group is created.
    pub(super) parent: PathBuf,
}

/// Finds it, below `root` (other than `/` for tests).
pub(super) fn find_home(root: &Path) -> Result<Home, GroupError> {
    let read = |path: &str| fs::read(root.join(path)).unwrap_or_default();
    let mounts = read("proc/self/mountinfo");
    let groups = String::from_utf8_lossy(&read("proc/self/cgroup")).into_owned();
    let found = [Generation::V1, Generation::V2].into_iter().find_map(|generation| {
        let place = place(&mounts, &groups, generation)?;
        // Both may be mounted; only one of them has the controller.
        let group = root.join(place.mount.strip_prefix("/").unwrap_or(&place.mount)).join(&place.inside);
        let is_top = place.inside.as_os_str().is_empty();
        let parent = match (generation, group.parent()) {
            (Generation::V2, Some(parent)) if !is_top => parent.to_owned(),
            _ => group.clone(),
        };
        let managed = generation == Generation::V1
            || fs::read_to_string(parent.join("cgroup.subtree_control"))
                .is_ok_and(|controllers| controllers.split_whitespace().any(|name| name == "memory"));
        managed.then_some(Home { generation, group, parent })
    });
    found.ok_or(GroupError::NoController)
}

struct Place {
    mount: PathBuf,
    /// Our group below the mount, without a slash in front.
    inside: PathBuf,
}

/// From the mount table and `/proc/self/cgroup` (`HIERARCHY:CONTROLLERS:PATH`; v2 is `0::PATH`).
fn place(mounts: &[u8], groups: &str, generation: Generation) -> Option<Place> {
    let path = groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let is_it = match generation {
            Generation::V1 => controllers.split(',').any(|name| name == "memory"),
            Generation::V2 => controllers.is_empty(),
        };
        is_it.then_some(path)
    })?;
    mounts.split(|&byte| byte == b'\n').find_map(|line| {
        let line = std::str::from_utf8(line).ok()?;
        let (before, after) = line.split_once(" - ")?;
        let mut before = before.split(' ');
        let (top, mount) = (before.nth(3)?, before.next()?);
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        let is_it = match generation {
            Generation::V1 => kind == "cgroup" && options.split(',').any(|option| option == "memory"),
            Generation::V2 => kind == "cgroup2",
        };
        // A mount may show a part of the hierarchy only, as in containers: then our path begins with that part.
        let inside = Path::new(path).strip_prefix(top).ok().filter(|_| is_it)?;
        // `..`: our group is outside the mounted part.
        let is_inside = !inside.as_os_str().as_bytes().starts_with(b"..");
        is_inside.then(|| Place { mount: PathBuf::from(mount), inside: inside.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    fn found(mounts: &str, groups: &str, generation: Generation) -> Option<(String, String)> {
        let place = place(mounts.as_bytes(), groups, generation)?;
        Some((place.mount.display().to_string(), place.inside.display().to_string()))
    }

    #[test]
    fn our_group_is_found_in_each_hierarchy() {
        let groups = "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/u/v\n";
        let pair = |mount: &str, inside: &str| Some((mount.to_owned(), inside.to_owned()));
        assert_eq!(found(HYBRID, groups, Generation::V1), pair("/sys/fs/cgroup/memory", "a/b"));
        assert_eq!(found(HYBRID, groups, Generation::V2), pair("/sys/fs/cgroup/unified", "u/v"));
        assert_eq!(found(HYBRID, "0::/\n", Generation::V1), None);
        assert_eq!(found("", groups, Generation::V2), None);
        // A container that sees only its own part.
        let part = "35 31 0:32 /docker/x /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        assert_eq!(found(part, "4:memory:/docker/x/y\n", Generation::V1), pair("/sys/fs/cgroup/memory", "y"));
        assert_eq!(found(part, "4:memory:/elsewhere\n", Generation::V1), None);
        assert_eq!(found(HYBRID, "0::/../outside\n", Generation::V2), None);
    }

    #[test]
    fn a_group_of_v2_stands_beside_ours_and_only_where_memory_is_handed_down() {
        let root = tempfile::tempdir().unwrap();
        let slice = root.path().join("sys/fs/cgroup/user.slice");
        fs::create_dir_all(slice.join("ours.scope")).unwrap();
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        fs::write(root.path().join("proc/self/mountinfo"), "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .unwrap();
        fs::write(root.path().join("proc/self/cgroup"), "0::/user.slice/ours.scope\n").unwrap();
        assert!(matches!(find_home(root.path()), Err(GroupError::NoController)));
        fs::write(slice.join("cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        let home = find_home(root.path()).unwrap();
        assert_eq!((home.generation, &home.group), (Generation::V2, &slice.join("ours.scope")));
        assert_eq!(home.parent, slice);
    }
}
