//! What is mounted at a place and below it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use coldstart_host::mounts::{Mount, Mounts};

/// What is mounted at exactly `mount_point`, lowest first.
pub(crate) fn at(mount_point: &Path) -> Result<Vec<Mount>> {
    Ok(all()?.into_iter().filter(|mount| mount.place == mount_point).collect())
}

/// Mount points strictly below `directory`.
pub(crate) fn below(directory: &Path) -> Result<Vec<PathBuf>> {
    let inside = |mount: &Mount| mount.place.starts_with(directory) && mount.place != directory;
    Ok(all()?.into_iter().filter(inside).map(|mount| mount.place).collect())
}

fn all() -> Result<Vec<Mount>> {
    Ok(Mounts::here()?.all().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_is_found() {
        assert!(!at(Path::new("/proc")).unwrap().is_empty());
    }
}
