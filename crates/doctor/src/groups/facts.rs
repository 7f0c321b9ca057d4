//! All facts, before they are judged.

use std::path::Path;

use coldstart_host::kernel::{RELEASE, settings};

use crate::groups::{
    cgroups, display, file_systems, images, launching, loader, memory, page_cache, processes, processors, who,
};
use crate::probes::Probes;
use crate::root::Root;
use crate::surroundings::Surroundings;

/// All facts.
#[derive(Clone, Debug)]
pub struct Facts {
    pub(crate) who: who::Who,
    pub(crate) kernel: Kernel,
    pub(crate) processes: processes::Processes,
    pub(crate) page_cache: page_cache::PageCache,
    pub(crate) launching: launching::Launching,
    pub(crate) processors: processors::Processors,
    pub(crate) memory: memory::Memory,
    pub(crate) cgroups: cgroups::Cgroups,
    pub(crate) loader: loader::Loader,
    pub(crate) file_systems: file_systems::FileSystems,
    pub(crate) display: display::Display,
    pub(crate) images: images::Images,
    pub(crate) perf_paranoid: Result<i64, String>,
    pub(crate) unprivileged_userfaultfd: Result<i64, String>,
    pub(crate) probes: Probes,
}

/// The running kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    /// "6.1.0-18-amd64"; empty when unknown.
    pub(crate) release: String,
    /// (6, 1).
    pub(crate) version: Option<(u32, u32)>,
}

impl Kernel {
    pub(crate) fn of_release(release: &str) -> Self {
        let mut numbers = release.split(|character: char| !character.is_ascii_digit());
        let version =
            numbers.next().and_then(|first| first.parse().ok()).zip(numbers.next().and_then(|n| n.parse().ok()));
        Self { release: release.to_owned(), version }
    }

    /// Whether it is at least this version; `None` when unknown.
    pub(crate) fn since(&self, major: u32, minor: u32) -> Option<bool> {
        self.version.map(|version| version >= (major, minor))
    }

    /// "Linux 6.1.0-18-amd64"
    pub(crate) fn words(&self) -> String {
        if self.release.is_empty() { "Linux of unknown release".to_owned() } else { format!("Linux {}", self.release) }
    }
}

impl Facts {
    /// Reads this machine.
    pub fn here() -> Self {
        let surroundings = Surroundings::here();
        let probes = Probes::try_here(&surroundings);
        Self::look(Path::new("/"), &surroundings, probes)
    }

    /// Reads the machine below `root`, which may be a fake one; results of system calls are taken from `probes`.
    pub fn look(root: &Path, surroundings: &Surroundings, probes: Probes) -> Self {
        let root = Root::new(root);
        let release = probes.release.clone().or_else(|| root.text(RELEASE).ok());
        let kernel = Kernel::of_release(&release.unwrap_or_default());
        Self {
            who: who::look(&root, surroundings, &probes),
            processes: processes::look(&root, surroundings),
            page_cache: page_cache::look(&root, surroundings),
            launching: launching::look(&root),
            processors: processors::look(&root, &probes),
            memory: memory::look(&root),
            cgroups: cgroups::look(&root, surroundings),
            loader: loader::look(&root),
            file_systems: file_systems::look(&root, surroundings, &probes),
            display: display::look(surroundings),
            images: images::look(&root, &kernel),
            perf_paranoid: root.number(settings::PERF_EVENT_PARANOID),
            unprivileged_userfaultfd: root.number(settings::UNPRIVILEGED_USERFAULTFD),
            kernel,
            probes,
        }
    }
}
