//! `test` and `ci`: the same commands for a newcomer, for us and for the server.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::tools::{FOR_TESTS, install_missing, run};

/// What the property tests of CI begin their random numbers with, so that what it says of a change is due to the change.
/// Everywhere else they begin with others each time.
const SEED: &str = "20101207";

/// Runs all tests. In CI a test that would skip itself fails instead, and all that fail are told, not the first alone.
pub(crate) fn test() -> Result<()> {
    install_missing(FOR_TESTS)?;
    // Tests start the real binary, which a test of another crate does not build by itself.
    run(cargo().args(["build", "--workspace", "--bins"]))?;
    // Shells start what stands in the background with interrupts ignored, and `nohup` ignores hang-ups; our tests of signals would inherit that.
    let mut tests = Command::new("env");
    tests.arg("--default-signal=HUP,INT,QUIT").arg(cargo().get_program()).args(["test", "--workspace"]);
    tests.current_dir(crate::workspace());
    if std::env::var_os("CI").is_some() {
        tests.arg("--no-fail-fast");
        tests.env("COLDSTART_NO_SKIP", "1").env("INSTA_UPDATE", "no").env("PROPTEST_RNG_SEED", SEED);
    }
    run(&mut tests)?;
    crate::web::test()
}

/// What the server runs: style, lints, built files, then the tests by the command that the README names.
pub(crate) fn ci() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))?;
    run(cargo().env("RUSTDOCFLAGS", "--deny warnings").args([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]))?;
    crate::generate::generate(true)?;
    crate::web::generate(true)?;
    run(cargo().args(["xtask", "test"]))
}

pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(crate::workspace());
    cargo
}

/// Where cargo puts what it builds, which its environment and configuration may decide.
pub(crate) fn target_folder() -> Result<PathBuf> {
    let output = cargo().args(["metadata", "--format-version", "1", "--no-deps"]).output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let folder = metadata.get("target_directory").and_then(serde_json::Value::as_str);
    Ok(folder.context("cargo metadata names no target directory")?.into())
}
