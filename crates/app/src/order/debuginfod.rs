//! Debug files from debuginfod servers, through elfutils' own client: it has the cache, the limits and the settings that users know.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::anyhow;

use crate::error::{AppError, HintExt};
use crate::text::harmless;

const CLIENT: &str = "debuginfod-find";

/// Fetches the debug file of a build id; returns its place in the client's cache.
///
/// # Errors
/// If the client is missing or finds nothing.
pub(super) fn debug_file(build_id: &str) -> Result<PathBuf, AppError> {
    let output = Command::new(CLIENT).args(["debuginfo", build_id]).stdin(Stdio::null()).output();
    let output = match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(anyhow!("`{CLIENT}` is not installed"))
                .hint(|| "install elfutils' client (Debian: `apt install debuginfod`), or name a file with --symbols");
        }
        output => output?,
    };
    if !output.status.success() {
        let reason = harmless(output.stderr.trim_ascii());
        return Err(anyhow!("no debug file for the build id {build_id}: {reason}"))
            .hint(|| "set DEBUGINFOD_URLS to a server that has it, or name a file with --symbols");
    }
    Ok(PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii())))
}
