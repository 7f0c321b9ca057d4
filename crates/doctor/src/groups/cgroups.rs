//! Control groups: the memory limit, and whether a group's pages can be reclaimed at once.

use coldstart_host::machine::{MEMORY, Memory};
use coldstart_host::process::own;

use crate::ability::Ability;
use crate::check::{Check, Grant, Status, Where};
use crate::groups::facts::Facts;
use crate::root::{MOST, Root};
use crate::surroundings::Surroundings;

/// The memory controller, and our group in it.
#[derive(Clone, Debug)]
pub(crate) struct Cgroups {
    layout: Layout,
    /// The directory of our group for memory, below the machine's root.
    memory_group: Option<String>,
    /// Bytes, where there is a limit.
    limit: Option<u64>,
    /// Bytes of memory of the machine.
    total: Option<u64>,
    reclaim: Reclaim,
    is_frozen: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Version 2 has the memory controller.
    Second,
    /// Version 1 has it; version 2 is there as well.
    Hybrid,
    First,
    None,
}

/// Whether our own group can be created and emptied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reclaim {
    /// In this directory.
    Possible(String),
    /// This directory is not writable.
    Forbidden(String),
    /// The parent group does not delegate a memory controller (version 2), or there is none.
    NotDelegated,
    None,
}

/// A version 1 group without limit reports nearly 2^63; no machine has a petabyte.
const NO_LIMIT: u64 = 1 << 50;

pub(crate) fn look(root: &Root, surroundings: &Surroundings) -> Cgroups {
    let mount = |second: bool| {
        surroundings.mounts.all().iter().find(|mount| match second {
            true => mount.file_system == "cgroup2",
            false => mount.file_system == "cgroup" && mount.has_option("memory"),
        })
    };
    let groups = root.text(own::CONTROL_GROUPS).unwrap_or_default();
    // "4:memory:/user.slice" in version 1, "0::/user.slice" in version 2 (cgroups(7)).
    let group_of = |second: bool| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let fits =
                if second { controllers.is_empty() } else { controllers.split(',').any(|name| name == "memory") };
            fits.then(|| path.to_owned())
        })
    };
    let second_has_memory = mount(true).is_some_and(|mount| {
        let controllers = root.text(mount.place.join("cgroup.controllers")).unwrap_or_default();
        controllers.split(' ').any(|name| name == "memory")
    });
    let layout = match (mount(false).is_some(), mount(true).is_some(), second_has_memory) {
        (_, _, true) => Layout::Second,
        (true, true, false) => Layout::Hybrid,
        (true, false, _) => Layout::First,
        _ => Layout::None,
    };
    let is_second = layout == Layout::Second;
    let place = mount(is_second).filter(|_| layout != Layout::None).map(|mount| mount.place.clone());
    let group = place.zip(group_of(is_second)).map(|(place, group)| {
        let full = place.join(group.trim_start_matches('/'));
        // In a container the group's name may be one of the host; then the mount shows our group itself.
        let full = if root.exists(&full) && !group.contains("..") { full } else { place };
        full.display().to_string().trim_end_matches('/').to_owned()
    });
    let limit_file = if is_second { "memory.max" } else { "memory.limit_in_bytes" };
    let number = |path: String| root.text(path).ok()?.parse::<u64>().ok();
    let limit = group.as_ref().and_then(|group| {
        // A limit of a parent group counts, too; a missing file means no limit.
        let mut lowest = None;
        let mut at = group.as_str();
        while at.starts_with("/sys/") {
            lowest = [lowest, number(format!("{at}/{limit_file}"))].into_iter().flatten().min();
            at = at.rsplit_once('/').map_or("", |(above, _)| above);
        }
        lowest.filter(|limit| *limit < NO_LIMIT)
    });
    let reclaim = group.as_ref().map_or(Reclaim::None, |group| reclaim_of(root, layout, group));
    let total = Memory::parse(&root.bytes(MEMORY, MOST).unwrap_or_default()).total;
    let is_frozen = is_second
        && group.as_ref().is_some_and(|group| root.text(format!("{group}/cgroup.freeze")).as_deref() == Ok("1"));
    Cgroups { layout, memory_group: group, limit, total, reclaim, is_frozen }
}

/// A new group goes below ours in version 1, and beside it in version 2, where a group that delegates controllers must
/// not contain processes.
fn reclaim_of(root: &Root, layout: Layout, group: &str) -> Reclaim {
    let is_second = layout == Layout::Second;
    let is_top = root.exists(format!("{group}/cgroup.controllers")) && !root.exists(format!("{group}/cgroup.type"));
    let parent = match group.rsplit_once('/') {
        Some((above, _)) if is_second && !is_top => above.to_owned(),
        _ => group.to_owned(),
    };
    let handed_down = root.text(format!("{parent}/cgroup.subtree_control")).unwrap_or_default();
    if is_second && !handed_down.split_whitespace().any(|name| name == "memory") {
        return Reclaim::NotDelegated;
    }
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    match accessat(CWD, root.at(&parent), Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => Reclaim::Possible(parent),
        Err(_) => Reclaim::Forbidden(parent),
    }
}

pub(crate) fn judge(facts: &Facts) -> Vec<Check> {
    vec![limit(facts), reclaim(facts)]
}

/// Programs with a working set of this size are coldstart's main use; less memory than that is little.
const LITTLE: u64 = 1 << 30;

fn limit(facts: &Facts) -> Check {
    let source = "cgroups(7); Documentation/admin-guide/cgroup-v2.rst, memory.max; cgroup-v1/memory.rst";
    let groups = &facts.cgroups;
    let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
    let of_machine = groups.total.map(|total| format!(" of the machine's {}", mib(total))).unwrap_or_default();
    let is_limit = |limit: &u64| groups.total.is_none_or(|total| *limit < total);
    match groups.limit.filter(is_limit) {
        Some(limit) if limit < LITTLE => {
            let file = if groups.layout == Layout::Second { "memory.max" } else { "memory.limit_in_bytes" };
            let group = groups.memory_group.clone().unwrap_or_default();
            Check::new("memory-limit", Status::Partly, format!("{}{of_machine}", mib(limit)))
                .needed("more than the program's files and its own memory together")
                .cost(
                    "Pages of files count against the limit: large programs evict their own files, hot starts \
                     are not hot, and prefetched pages may be evicted before they are needed.",
                )
                .grants([facts.who.write("4294967296", &format!("{group}/{file}"))])
                .source(source)
                .leaves(
                    Status::Partly,
                    &[Ability::MeasureHot, Ability::PrefetchRun],
                    "with so little memory, pages of large programs do not stay resident",
                )
        }
        Some(limit) => Check::new("memory-limit", Status::Yes, format!("{}{of_machine}", mib(limit))).source(source),
        None if groups.layout == Layout::None => {
            Check::new("memory-limit", Status::Unknown, "no memory controller is mounted here")
                .cost("If there is a limit from outside, large programs may evict their own files.")
                .source(source)
        }
        None => Check::new(
            "memory-limit",
            Status::Yes,
            format!("none{}", if of_machine.is_empty() { "" } else { " below the machine's own memory" }),
        )
        .source(source),
    }
}

/// A program's own group covers exactly the metadata that it read.
fn reclaim(facts: &Facts) -> Check {
    let source = "cgroup-v1/memory.rst, force_empty; cgroup-v2.rst, memory.reclaim (Linux 5.19); an access check";
    let groups = &facts.cgroups;
    let layout = match groups.layout {
        Layout::Second => "version 2",
        Layout::Hybrid => "memory in version 1, version 2 beside it",
        Layout::First => "version 1",
        Layout::None => "no memory controller is mounted here",
    };
    let frozen = if groups.is_frozen { ", frozen" } else { "" };
    let (status, now) = match &groups.reclaim {
        Reclaim::Possible(parent) => (Status::Yes, format!("{layout}{frozen}: a group can be created in {parent}")),
        Reclaim::Forbidden(parent) => (Status::No, format!("{layout}{frozen}: {parent} is not writable")),
        Reclaim::NotDelegated => (Status::No, format!("{layout}{frozen}: no memory controller is delegated to us")),
        Reclaim::None => (Status::No, layout.to_owned()),
    };
    let check = Check::new("control-groups", status, now).source(source);
    if status == Status::Yes {
        return check;
    }
    let command = "systemd-run --user --scope -p Delegate=memory coldstart measure --state selective -- PROGRAM";
    let grant = match groups.layout {
        Layout::None => None,
        Layout::Second => Some(Grant { command: command.to_owned(), run: Where::Here }),
        Layout::First | Layout::Hybrid => Some(facts.who.as_root("coldstart measure --state selective -- PROGRAM")),
    };
    check
        .needed("a memory controller, and a directory of it in which a group can be created")
        .cost(
            "Before a selective start, metadata (directories, inodes) is evicted through the program's own group. \
             Without one, all unused entries and the disk's own pages are evicted where permitted, and otherwise metadata \
             stays in memory: starts come out a little too fast.",
        )
        .grants(grant)
        .leaves(Status::Yes, &[Ability::MeasureSelective], "metadata is not evicted through the program's own group")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Surroundings;
    use coldstart_host::mounts::TABLE;

    #[test]
    fn the_lowest_limit_on_the_way_up_counts() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::new(directory.path());
        let write = |path: &str, text: &str| {
            let path = root.at(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write(TABLE, "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write(own::CONTROL_GROUPS, "0::/a/b\n");
        write("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        write("/sys/fs/cgroup/a/memory.max", "1000000\n");
        write("/sys/fs/cgroup/a/b/memory.max", "max\n");
        write("/sys/fs/cgroup/a/cgroup.type", "domain\n");
        write("/sys/fs/cgroup/a/b/cgroup.type", "domain\n");
        let surroundings =
            Surroundings { mounts: Surroundings::mounts_of(directory.path()), ..Surroundings::default() };
        let groups = look(&root, &surroundings);
        assert_eq!((groups.layout, groups.limit), (Layout::Second, Some(1_000_000)));
        assert_eq!(groups.memory_group.as_deref(), Some("/sys/fs/cgroup/a/b"));
        assert_eq!(groups.reclaim, Reclaim::NotDelegated);
        write("/sys/fs/cgroup/a/cgroup.subtree_control", "cpu memory\n");
        assert_eq!(look(&root, &surroundings).reclaim, Reclaim::Possible("/sys/fs/cgroup/a".to_owned()));
    }
}
