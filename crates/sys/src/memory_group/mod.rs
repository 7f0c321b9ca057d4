//! Our own control group for a program's memory: the page cache that the program fills, metadata blocks and
//! inodes included, is charged to it, and the kernel can reclaim exactly that.
//!
//! Nothing else evicts metadata selectively: an inode has no `posix_fadvise`, and the blocks of directories and inode
//! tables belong to the block device, which cannot be opened everywhere. Pitfall: a page is charged to the group that
//! reads it *first*, so the group owns only pages that were not resident when its first process started.
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

/// The version of control groups that manages memory here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// `memory.force_empty`.
    V1,
    /// `memory.reclaim`.
    V2,
}

/// Why a group of our own is not possible.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// No control group hierarchy with a memory controller is mounted, or the kernel has none.
    #[error("no control group that manages memory is mounted here")]
    NoController,
    /// Linux before 5.19.
    #[error("this kernel's control groups cannot be told to give memory back (`memory.reclaim`, Linux 5.19)")]
    NoReclaim,
    /// The group would be frozen, so a program started in it would never run.
    #[error("the control group `{}` is frozen", .0.display())]
    Frozen(PathBuf),
    /// We may not create or use a group.
    #[error("cannot {what} `{}`", .path.display())]
    NotPermitted {
        /// An infinitive.
        what: &'static str,
        /// The directory or file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

/// What is charged to a group, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charged {
    /// Page cache: pages of files and, of block devices, metadata blocks.
    pub file: u64,
    /// Directory entries, inodes and other reclaimable kernel memory; 0 where not reported (v1).
    pub reclaimable: u64,
    /// Everything.
    pub total: u64,
}

/// Our own control group. Dropping it moves us back to our former group and removes it.
#[derive(Debug)]
pub struct MemoryGroup {
    generation: Generation,
    directory: PathBuf,
    /// The `cgroup.procs` of our former group.
    home: PathBuf,
    inside: bool,
}

/// Reclaim passes without effect before we stop.
const FRUITLESS_PASSES: u32 = 3;
/// A limit on all passes: another process in the group may read as much as we reclaim.
const MOST_PASSES: u32 = 64;
/// Prefix of our groups' names, followed by the PID and a counter.
const PREFIX: &str = "coldstart-";
static MADE: AtomicU32 = AtomicU32::new(0);

impl MemoryGroup {
    /// Creates a group beside or below our current one. Abandoned groups of killed processes are removed first.
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
            // Left by an earlier process with our PID.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => {
                return Err(GroupError::NotPermitted { what: "create the control group", path: directory, source });
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

    /// Its version.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves this process into the group: its later children belong to the group.
    ///
    /// # Errors
    /// [`GroupError::NotPermitted`]: v2 requires write access to the `cgroup.procs` of the nearest common ancestor.
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

    /// Moves this process back; its children stay. Does nothing outside.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn leave(&mut self) -> io::Result<()> {
        if self.inside {
            move_here(&self.home)?;
            self.inside = false;
        }
        Ok(())
    }

    /// Its current charge.
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

    /// Makes the kernel reclaim what it can of the group's charge: clean pages, directory entries, inodes.
    ///
    /// # Errors
    /// When the kernel refuses; memory that cannot be reclaimed is not an error.
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
                // Nothing of the program is running, so there is nothing to swap; kernels before 6.9 reject
                // the argument.
                let asked = bytes.max(4096);
                let answer = match write(order, format!("{asked} swappiness=0").as_bytes()) {
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                        write(order, asked.to_string().as_bytes())
                    }
                    answer => answer,
                };
                match answer {
                    // Less was reclaimed than requested: the caller checks the result.
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
        // Errors are not reported; a directory left over is removed by the next run.
        let _ = self.leave();
        let _ = fs::remove_dir(&self.directory);
    }
}

fn move_here(procs: &Path) -> io::Result<()> {
    write(procs, b"0")
}

/// One `write` without creating or truncating: these are commands, not files.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(bytes)
}

/// Removes the groups of processes that have ended. A group with processes in it cannot be removed.
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
