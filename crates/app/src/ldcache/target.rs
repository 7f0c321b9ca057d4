//! The output file of a cache: by the rule for outputs, and not the system's own cache without `--force`.

use std::path::{Path, PathBuf};

use coldstart_output::{Inputs, OutputTarget};

use super::SYSTEM_CACHE;
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::writing::{try_out, write_file};

/// The checked output of a cache.
pub(super) struct Target(OutputTarget);

impl Target {
    /// Checks an existing file, and that the path is writable. `inputs` are the files that the cache is made from.
    pub(super) fn new(path: &Path, inputs: Inputs, force: bool) -> Result<Self, AppError> {
        let place = OutputTarget::new(path, kinds::LOADER_CACHE, force)?.not_over(inputs);
        refuse_the_systems(&place, force)?;
        try_out([&place])?;
        Ok(Self(place))
    }

    /// Writes a temporary file and renames it.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), AppError> {
        write_file(&self.0, bytes)
    }
}

fn refuse_the_systems(place: &OutputTarget, force: bool) -> Result<(), AppError> {
    let systems = Path::new(SYSTEM_CACHE);
    let real = systems.canonicalize().unwrap_or_else(|_| PathBuf::from(SYSTEM_CACHE));
    let is_it = [systems, &real].contains(&place.real_path().as_path());
    if is_it && !force {
        return Err(anyhow::anyhow!("`{SYSTEM_CACHE}` is this system's own cache, used by every program"))
            .hint(|| "it is maintained by `ldconfig`; use --force to write it nevertheless");
    }
    Ok(())
}
