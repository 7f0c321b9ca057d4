//! The library that answers the loader, for mode `audit`: put in place, and taken away.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::audit::{Architecture, Table, build};
use coldstart_elf::ElfFile;

use crate::commands::reading::open_regular;
use crate::error::{CliError, HintExt};
use crate::output::file::write_beside;
use crate::output::path::printable;

/// The largest file that is read to see whether it is one of ours, in bytes.
const LARGEST: u64 = 256 << 20;

/// Makes the library with a table for a program, and puts it in place.
pub(super) fn write_library(path: &Path, table: &Table, program: &[u8]) -> Result<PathBuf, CliError> {
    let encoding = ElfFile::parse(program)?.encoding();
    let architecture = Architecture::of(encoding)
        .ok_or_else(|| anyhow::anyhow!("there is no auditing library for the machine {}", encoding.machine))
        .hint(|| "`--mode soname` needs none")?;
    let bytes = build(architecture, table)?;
    if path.symlink_metadata().is_ok() && !is_ours(path) {
        return Err(anyhow::anyhow!("`{}` is there already, and is no library that coldstart made", printable(path)))
            .hint(|| "give another place with `--audit-library`");
    }
    write_beside(path, &bytes).with_context(|| format!("cannot write `{}`", printable(path)))?;
    Ok(path.to_owned())
}

/// Whether a file is an auditing library that we made.
pub(in crate::commands) fn is_ours(path: &Path) -> bool {
    let read = || {
        let mut bytes = Vec::new();
        open_regular(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
        coldstart_bind::audit::read(&bytes).ok()
    };
    read().is_some()
}
