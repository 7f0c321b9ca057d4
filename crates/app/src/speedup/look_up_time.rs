//! How long it takes here to look up a name that is not there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coldstart_host::mounts::{Mount, Mounts};

/// No program has a file of this name.
const MISSING: &str = ".coldstart-look-up-time";
/// Directories of a kind that are asked, spread over all of them.
const SAMPLED: usize = 16;
/// Look-ups in each: the first is not counted, because it may have to read the directory.
const LOOK_UPS: u32 = 8;
/// More time than this is not taken, except by the first directory.
const LONGEST: Duration = Duration::from_millis(200);

/// Directories of one kind of file system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Searched {
    pub(super) directories: f64,
    /// Seconds until the kernel says that a name is missing, directory and name in memory if this file system keeps them there: the median.
    pub(super) look_up: f64,
}

/// The directories in which a start looks for names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SearchedDirectories {
    pub(super) local: Searched,
    pub(super) remote: Searched,
    /// A look-up in the root directory, in seconds: a measure of this processor's speed.
    pub(super) root: f64,
}

impl SearchedDirectories {
    /// Counts and asks them.
    pub(super) fn measure(directories: &BTreeSet<PathBuf>) -> Self {
        let mounts = Mounts::here().ok();
        let is_remote = |directory: &&PathBuf| {
            mounts.as_ref().and_then(|mounts| mounts.of(directory)).is_some_and(Mount::is_remote)
        };
        let (remote, local): (Vec<&PathBuf>, Vec<&PathBuf>) = directories.iter().partition(is_remote);
        Self { local: measured(&local), remote: measured(&remote), root: look_up(Path::new("/")) }
    }
}

fn measured(directories: &[&PathBuf]) -> Searched {
    let begin = Instant::now();
    let step = directories.len().div_ceil(SAMPLED).max(1);
    let mut times = Vec::new();
    for directory in directories.iter().step_by(step) {
        times.push(look_up(directory));
        if begin.elapsed() > LONGEST {
            break;
        }
    }
    times.sort_by(f64::total_cmp);
    Searched { directories: directories.len() as f64, look_up: times.get(times.len() / 2).copied().unwrap_or(0.0) }
}

/// The time of one look-up in the directory, in seconds.
fn look_up(directory: &Path) -> f64 {
    let missing = directory.join(MISSING);
    let ask = || drop(std::hint::black_box(missing.symlink_metadata()));
    ask();
    let begin = Instant::now();
    for _ in 0..LOOK_UPS {
        ask();
    }
    begin.elapsed().as_secs_f64() / f64::from(LOOK_UPS)
}

#[cfg(test)]
mod tests {
    use coldstart_testing::scratch;

    use super::*;

    #[test]
    fn directories_are_counted_and_asked() {
        let directory = scratch();
        let searched = BTreeSet::from_iter((0..100).map(|number| directory.path().join(number.to_string())));
        let found = SearchedDirectories::measure(&searched);
        assert_eq!((found.local.directories, found.remote), (100.0, Searched::default()));
        assert!(found.local.look_up > 0.0 && found.root > 0.0, "{found:?}");
        assert_eq!(SearchedDirectories::measure(&BTreeSet::new()).local, Searched::default());
    }
}
