//! Names of files in another mount namespace (a sandbox, a container), as the namespace of the traced program itself has them.
//!
//! A sandbox binds a directory of the machine at another place: what the application calls `/app/lib/x` is
//! `/var/lib/flatpak/app/.../files/lib/x`. The mount tables of both namespaces name the directory of the file system that each mount shows
//! (`proc_pid_mountinfo(5)`, field 4); what lies at the same place of the same file system is the same file.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_host::mounts::{Mount, Mounts, mount_id_of};
use coldstart_host::process::ProcessFiles;
use rustix::fs::Stat;

/// Mounts of other namespaces, as they are met.
#[derive(Debug, Default)]
pub(crate) struct OutsideNames {
    /// The namespace in which the program was executed. Not always ours: a trial's files lie over others in a namespace of its own.
    base: Option<Base>,
    /// By namespace and mount.
    seen: HashMap<(PathBuf, u64), Option<Mount>>,
}

#[derive(Debug)]
struct Base {
    namespace: PathBuf,
    mounts: Mounts,
}

impl OutsideNames {
    /// The namespace of the first program is the one whose names count.
    pub(crate) fn executed(&mut self, thread: u32) {
        if self.base.is_some() {
            return;
        }
        let process = ProcessFiles::of(thread);
        if let (Some(namespace), Ok(mounts)) = (namespace_of(&process), Mounts::of_process(&process)) {
            self.base = Some(Base { namespace, mounts });
        }
    }

    /// The namespace of a thread, if it is another one.
    pub(crate) fn other_namespace(&self, thread: u32) -> Option<PathBuf> {
        let base = self.base.as_ref()?;
        namespace_of(&ProcessFiles::of(thread)).filter(|namespace| *namespace != base.namespace)
    }

    /// The name of an open file outside the namespace of a thread; `None` if nothing outside leads to it. `path` is its name inside.
    pub(crate) fn of(
        &mut self,
        namespace: &Path,
        thread: u32,
        file: impl AsFd,
        path: &Path,
        stat: &Stat,
    ) -> Option<PathBuf> {
        let id = mount_id_of(file)?;
        let base = &self.base.as_ref()?.mounts;
        let find = || Mounts::of_process(&ProcessFiles::of(thread)).ok()?.numbered(id).cloned();
        let mount = self.seen.entry((namespace.to_owned(), id)).or_insert_with(find).as_ref()?;
        let inside = mount.path_inside(path)?;
        let same = base.all().iter().rev().filter(|outside| outside.device == mount.device);
        // What is mounted over it there is another file.
        let is_it = |path: &Path| {
            path.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == (stat.st_dev, stat.st_ino))
        };
        same.filter_map(|outside| outside.path_of(&inside)).find(|path| is_it(path))
    }
}

/// The link that names the mount namespace of a process.
fn namespace_of(process: &ProcessFiles) -> Option<PathBuf> {
    std::fs::read_link(process.at("ns/mnt")).ok()
}
