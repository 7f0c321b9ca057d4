//! The file that a cache is written to: what it may replace, and how.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_loader::cache::{CacheError, LdSoCache};

use super::{SYSTEM_CACHE, read_file};
use crate::error::{CliError, HintExt};
use crate::output::file::write_beside;
use crate::output::path::printable;

/// Where a cache may be written.
pub(super) struct Target(PathBuf);

impl Target {
    /// Looks at what is there. A link stays, and the file it leads to is replaced.
    pub(super) fn new(path: &Path, force: bool) -> Result<Self, CliError> {
        let name = printable(path);
        let found = match path.canonicalize() {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
                return Self::fresh(path, force);
            }
            Err(error) => return Err(error).with_context(|| format!("cannot write `{name}`")).map_err(Into::into),
        };
        if !found.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(anyhow::anyhow!("`{name}` is no regular file, and stays as it is"))
                .hint(|| "name the file that the cache is to be written to");
        }
        refuse_the_systems(&found, force)?;
        let is_cache = !matches!(LdSoCache::parse(&read_file(&found)?), Err(CacheError::Magic));
        if !is_cache && !force {
            return Err(anyhow::anyhow!("`{name}` is there and is no loader cache"))
                .hint(|| "name another file, or say --force to replace it");
        }
        Ok(Self(found))
    }

    /// A file that is not there yet.
    fn fresh(path: &Path, force: bool) -> Result<Self, CliError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let named = path.file_name().context("the name of a file is missing behind the last `/`")?;
        let folder = folder.canonicalize().with_context(|| format!("cannot write into `{}`", printable(folder)))?;
        let path = folder.join(named);
        refuse_the_systems(&path, force)?;
        Ok(Self(path))
    }

    /// Writes beside the file and renames.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), CliError> {
        let name = printable(&self.0);
        write_beside(&self.0, bytes).with_context(|| format!("cannot write `{name}`")).hint(|| {
            format!("what was there as `{name}` is as before; the folder has to be writable and its disk to have room")
        })
    }
}

fn refuse_the_systems(path: &Path, force: bool) -> Result<(), CliError> {
    let systems = Path::new(SYSTEM_CACHE).canonicalize().unwrap_or_else(|_| PathBuf::from(SYSTEM_CACHE));
    if path == systems && !force {
        return Err(anyhow::anyhow!(
            "`{SYSTEM_CACHE}` is this system's own cache, which every program here is started with"
        ))
        .hint(|| "`ldconfig` keeps it; say --force to write it all the same");
    }
    Ok(())
}
