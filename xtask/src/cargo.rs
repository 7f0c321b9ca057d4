//! Running cargo in the workspace, and finding what it builds.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// What may move the directory of built files from outside, first what cargo prefers. Configuration files may, too, but cargo reads
/// those the same way from everywhere in the workspace.
const TARGET_DIRECTORIES: [&str; 2] = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];

/// The cargo that runs this chore, in the workspace's directory.
///
/// A relative target directory is relative to where the chore was started: the cargo that built this chore took it so.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    let started_in = std::env::current_dir();
    for name in TARGET_DIRECTORIES {
        if let (Some(directory), Ok(started_in)) = (std::env::var_os(name), &started_in)
            && let Some(directory) = seen_from(started_in, &directory)
        {
            cargo.env(name, directory);
        }
    }
    cargo
}

/// The absolute path of a target directory in the environment; an empty one says nothing, and cargo will.
fn seen_from(started_in: &Path, directory: &OsStr) -> Option<PathBuf> {
    (!directory.is_empty()).then(|| started_in.join(directory))
}

/// What cargo knows of the workspace, and with these options of its dependencies.
pub(crate) fn metadata(options: &[&str]) -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1"])
        .args(options)
        .output()
        .context("cannot start cargo\nhint: install Rust from https://rustup.rs")?;
    ensure!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    serde_json::from_slice(&output.stdout).context("cargo metadata printed something else")
}

/// Where cargo puts what it builds, which its environment and configuration may decide.
pub(crate) fn target_directory() -> Result<PathBuf> {
    let metadata = metadata(&["--no-deps"])?;
    let directory = metadata.get("target_directory").and_then(Value::as_str);
    Ok(directory.context("cargo metadata names no target directory")?.into())
}

/// Builds programs and returns their paths, in the order of `packages`, each of which has one. The paths are those that cargo
/// reports: they depend on the profile, the target directory and the target.
pub(crate) fn build_programs<const N: usize>(profile: &str, packages: [&str; N]) -> Result<[PathBuf; N]> {
    let mut build = cargo();
    build.args(["build", "--profile", profile, "--message-format=json-render-diagnostics"]);
    build.args(packages.map(|package| format!("--package={package}")));
    let output = build
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo\nhint: install Rust from https://rustup.rs")?;
    ensure!(output.status.success(), "cargo cannot build {}; it says why above", packages.join(", "));
    let programs = executables(&output.stdout);
    let mut found = packages.map(|_| PathBuf::new());
    for (package, place) in packages.iter().zip(&mut found) {
        let of_package = programs.iter().find(|(of, _)| of == package);
        let (_, program) = of_package.with_context(|| format!("cargo reports no program of {package}"))?;
        place.clone_from(program);
    }
    Ok(found)
}

/// The packages' names and programs in the messages of a build (cargo's `external-tools.md`, "Artifact messages").
fn executables(messages: &[u8]) -> Vec<(String, PathBuf)> {
    let lines = messages.split(|&byte| byte == b'\n');
    let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    messages.filter_map(|message| executable(&message)).collect()
}

fn executable(message: &Value) -> Option<(String, PathBuf)> {
    let program = message.get("executable")?.as_str()?;
    // `path+file:///place/of/it#name@1.0.0`, or `...it#1.0.0` where the directory has the package's name.
    let (place, version) = message.get("package_id")?.as_str()?.rsplit_once('#')?;
    let name = version.split_once('@').map_or_else(|| place.rsplit('/').next().unwrap_or_default(), |(name, _)| name);
    Some((name.to_owned(), program.into()))
}

/// The directory of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_target_directory_is_where_the_chore_was_started() {
        let started_in = Path::new("/home/me/coldstart/xtask");
        assert_eq!(seen_from(started_in, OsStr::new("t")), Some("/home/me/coldstart/xtask/t".into()));
        assert_eq!(seen_from(started_in, OsStr::new("/t t")), Some("/t t".into()));
        assert_eq!(seen_from(started_in, OsStr::new("")), None);
    }

    #[test]
    fn programs_are_where_cargo_says() {
        let messages = br#"
{"reason":"compiler-artifact","package_id":"registry+https://x/i#syn@3.0.0","executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/cli#coldstart@0.1.0","executable":"/t/demo/coldstart"}
{"reason":"compiler-artifact","package_id":"path+file:///w/xtask#0.1.0","executable":"/t/demo/xtask"}
not JSON
{"reason":"build-finished","success":true}
"#;
        let of = |name: &str, path: &str| (name.to_owned(), PathBuf::from(path));
        assert_eq!(executables(messages), [of("coldstart", "/t/demo/coldstart"), of("xtask", "/t/demo/xtask")]);
    }
}
