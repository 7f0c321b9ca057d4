//! The archives for all distributions: static programs, which need no library of the system.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use super::Source;
use super::content::put;
use crate::architecture::Architecture;
use crate::cargo::workspace;
use crate::tools::{emptied, run};

/// Builds the archive of `package` in `output` and returns its path. It holds one directory, which can be copied over a prefix such as
/// `/usr/local`; `lay` lays all that is the package's own below it.
pub(super) fn build(
    package: &str,
    architecture: Architecture,
    source: &Source,
    output: &Path,
    lay: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let name = format!("{package}-{}-{}-linux", source.version, architecture.name());
    let staging = emptied(output.join("archive"))?;
    let root = staging.join(&name);
    lay(&root)?;
    for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
        put(&workspace().join(licence), &root.join("share/doc").join(package).join(licence), 0o644)?;
    }
    let archive = output.join(format!("{name}.tar.xz"));
    let mut pack = Command::new("tar");
    pack.env("XZ_OPT", "-9").args(["--create", "--xz", "--sort=name", "--format=gnu"]);
    pack.args(["--owner=root:0", "--group=root:0", "--mode=u=rwX,go=rX"]).arg(format!("--mtime=@{}", source.time));
    run(pack.arg("--directory").arg(&staging).arg("--file").arg(&archive).arg(&name))?;
    fs::remove_dir_all(&staging)?;
    Ok(archive)
}
