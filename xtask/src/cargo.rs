//! Running cargo in the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The cargo that runs this chore, in the workspace's directory.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    cargo
}

/// Where cargo puts what it builds, which its environment and configuration may decide.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let directory = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    Ok(directory.context("cargo metadata names no target directory")?.into())
}

/// The directory of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}
