//! A control group of our own for a program's memory: what the program brings into the page cache, metadata blocks and
//! inodes included, is charged to it, and the kernel can be told to take just that back.
//!
//! Nothing else evicts metadata selectively: an inode has no `posix_fadvise`, and the blocks of directories and inode
//! tables belong to the block device, which may not be opened everywhere. The newcomer's trap: a page is charged to whoever
//! brought it in *first*, so the group owns only what was not in memory when its first process came.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/memory.rst` (`memory.force_empty`), `cgroup-v2.rst` (`memory.reclaim`,
//! Linux 5.19); `mm/memcontrol-v1.c`, `mem_cgroup_force_empty`; `mm/memcontrol.c`, `memory_reclaim`.

mod hierarchy;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::io::Errno;

use self::hierarchy::{Home, find_home};

/// Which generation of control groups manages memory here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `memory.force_empty`.
    V1,
    /// `memory.reclaim`.
    V2,
}

/// Why there can be no group of our own.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// No control group hierarchy with a memory controller is mounted, or the kernel has none.
    #[error("no control group that manages memory is mounted here")]
    NoController,
    /// Linux before 5.19.
    #[error("this kernel's control groups cannot be told to give memory back (`memory.reclaim`, Linux 5.19)")]
    NoReclaim,
    /// The group would be frozen, and a program started in it would never run.
    #[error("the control group `{}` is frozen", .0.display())]
    Frozen(PathBuf),
    /// We may not make or use a group.
    #[error("cannot {what} `{}`", .path.display())]
    NotPermitted {
        /// An infinitive.
        what: &'static str,
        /// The directory or file.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// What is charged to a group, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Page cache: pages of files and, of block devices, metadata blocks.
    pub file: u64,
    /// Directory entries, inodes and other things that the kernel can drop; 0 where it is not told (v1).
    pub reclaimable: u64,
    /// Everything.
    pub total: u64,
}

/// A control group of our own. Dropping it goes back to where we came from and removes it.
#[derive(Debug)]
pub struct MemoryGroup {
    generation: Generation,
    directory: PathBuf,
    /// The `cgroup.procs` of the group that we came from.
    home: PathBuf,
    inside: bool,
}

/// Passes of reclaim that take nothing before we believe that nothing more goes.
const FRUITLESS_PASSES: u32 = 3;
/// A bound on all passes: somebody else in the group may bring in as much as we take.
const MOST_PASSES: u32 = 64;
/// Our groups' names begin so; the number of the process follows, and how many it made before.
const PREFIX: &str = "coldstart-";
static MADE: AtomicU32 = AtomicU32::new(0);

impl MemoryGroup {
    /// Makes a group beside or below the one we are in. Groups that killed processes of ours have left are removed first.
    ///
    /// # Errors
    /// See [`GroupError`].
    pub fn create() -> Result<Self, GroupError> {
        Self::create_in(&find_home(Path::new("/"))?)
    }

    fn create_in(home: &Home) -> Result<Self, GroupError> {
        remove_left(&home.parent);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let directory = home.parent.join(format!("{PREFIX}{}.{number}", std::process::id()));
        match fs::create_dir(&directory) {
            Ok(()) => {}
            // Left by a process that had our number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                return Err(GroupError::NotPermitted { what: "make the control group", path: directory, source });
            }
        }
        let group =
            Self { generation: home.generation, directory, home: home.group.join("cgroup.procs"), inside: false };
        let order = group.directory.join(group.order());
        if !order.exists() {
            // Without the controller in its parent's `cgroup.subtree_control` a group has no memory files at all.
            let has_controller = group.directory.join("memory.current").exists();
            return Err(if has_controller { GroupError::NoReclaim } else { GroupError::NoController });
        }
        if group.is_frozen() {
            return Err(GroupError::Frozen(group.directory.clone()));
        }
        Ok(group)
    }

    /// Which generation it is of.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves this process into the group: what it starts from here on belongs to the group.
    ///
    /// # Errors
    /// [`GroupError::NotPermitted`]: v2 wants the right to write the `cgroup.procs` of the nearest common ancestor.
    /// [`GroupError::Frozen`], without entering it.
    pub fn enter(&mut self) -> Result<(), GroupError> {
        if self.is_frozen() {
            return Err(GroupError::Frozen(self.directory.clone()));
        }
        let path = self.directory.join("cgroup.procs");
        move_here(&path).map_err(|source| GroupError::NotPermitted {
            what: "move into the control group",
            path,
            source,
        })?;
        self.inside = true;
        Ok(())
    }

    /// Moves this process back; what it started stays. Does nothing outside.
    ///
    /// # Errors
    /// The kernel's answer.
    pub fn leave(&mut self) -> io::Result<()> {
        if self.inside {
            move_here(&self.home)?;
            self.inside = false;
        }
        Ok(())
    }

    /// What is charged to it now.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn charged(&self) -> io::Result<Charged> {
        let statistics = fs::read_to_string(self.directory.join("memory.stat"))?;
        let field = |name: &str| {
            statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok())
        };
        let (total, file) = match self.generation {
            Generation::V1 => ("memory.usage_in_bytes", "total_cache"),
            Generation::V2 => ("memory.current", "file"),
        };
        let total = fs::read_to_string(self.directory.join(total))?;
        Ok(Charged {
            file: field(file).unwrap_or(0),
            reclaimable: field("slab_reclaimable").unwrap_or(0),
            total: total.trim().parse().unwrap_or(0),
        })
    }

    /// Has the kernel take back what is charged to the group and can be taken: clean pages, directory entries, inodes.
    ///
    /// # Errors
    /// When the kernel refuses; what cannot be taken is no error.
    pub fn reclaim(&self) -> io::Result<()> {
        let order = self.directory.join(self.order());
        let mut before = self.charged()?.total;
        let mut fruitless = 0;
        for _ in 0..MOST_PASSES {
            self.reclaim_once(&order, before)?;
            let now = self.charged()?.total;
            fruitless = if now < before { 0 } else { fruitless + 1 };
            if now == 0 || fruitless >= FRUITLESS_PASSES {
                break;
            }
            before = now;
        }
        Ok(())
    }

    fn reclaim_once(&self, order: &Path, bytes: u64) -> io::Result<()> {
        match self.generation {
            Generation::V1 => write(order, b"0"),
            Generation::V2 => {
                // Nothing of the program is running, so there is nothing to swap; older kernels (before 6.9) do not know
                // the argument.
                let asked = bytes.max(4096);
                let answer = match write(order, format!("{asked} swappiness=0").as_bytes()) {
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                        write(order, asked.to_string().as_bytes())
                    }
                    answer => answer,
                };
                match answer {
                    // Less was taken than asked for: that is for the caller to see.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::AGAIN) => Ok(()),
                    answer => answer,
                }
            }
        }
    }

    fn order(&self) -> &'static str {
        match self.generation {
            Generation::V1 => "memory.force_empty",
            Generation::V2 => "memory.reclaim",
        }
    }

    /// v2 tells of itself and all above it; in v1 the freezer may be mounted together with memory.
    fn is_frozen(&self) -> bool {
        let has = |name: &str, line: &str| {
            fs::read_to_string(self.directory.join(name)).is_ok_and(|text| text.lines().any(|found| found == line))
        };
        has("cgroup.events", "frozen 1") || has("freezer.state", "FROZEN") || has("freezer.state", "FREEZING")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // There is nobody to tell; a directory that stays is removed by the next that comes along.
        let _ = self.leave();
        let _ = fs::remove_dir(&self.directory);
    }
}

fn move_here(procs: &Path) -> io::Result<()> {
    write(procs, b"0")
}

/// One `write` without creating or cutting: these are orders, not files.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

/// Removes the groups of processes that are no more. A group with processes in it cannot be removed.
fn remove_left(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let numbers = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('.'));
        let number = numbers.and_then(|(process, _)| process.parse::<u32>().ok());
        if number.is_some_and(|number| number != std::process::id() && !coldstart_host::process::exists(number)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
