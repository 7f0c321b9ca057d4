//! `test` and `ci`: the same commands for developers and for the CI server.

use std::path::Path;

use anyhow::{Result, bail};
use fs_err as fs;
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::cargo::{cargo, metadata};
use crate::suite::{self, TestArguments, orphans};
use crate::tools::{for_tests, install_missing, run};

/// What the property tests of CI begin their random numbers with, so that what it says of a change is due to the change.
/// Everywhere else they begin with others each time.
const SEED: &str = "20101207";

/// Runs all tests, or those that `arguments` choose. In CI a test that would skip itself fails instead.
pub(crate) fn test(arguments: &TestArguments) -> Result<()> {
    if !orphans::are_reaped() {
        return orphans::reap_beside_the_same_command();
    }
    if arguments.built.is_none() {
        install_missing(&for_tests())?;
    }
    let is_ci = std::env::var_os("CI").is_some();
    let of_ci = [("COLDSTART_NO_SKIP", "1"), ("INSTA_UPDATE", "no"), ("PROPTEST_RNG_SEED", SEED)];
    suite::run(arguments, if is_ci { &of_ci } else { &[] })?;
    if !arguments.is_whole() {
        return Ok(());
    }
    let chosen = packages_for_examples()?;
    run(cargo().args(["test", "--doc", "--quiet"]).args(chosen.iter().flat_map(|package| ["--package", package])))?;
    crate::web::test()
}

/// Libraries whose documentation has blocks of code: starting rustdoc for the others takes minutes in all. And all packages that are
/// no library: for fewer packages cargo turns on fewer features of their dependencies, and builds those once more.
fn packages_for_examples() -> Result<Vec<String>> {
    let metadata = metadata(&["--no-deps"])?;
    let mut chosen = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let (Some(name), Some(manifest)) = (package["name"].as_str(), package["manifest_path"].as_str()) else {
            bail!("cargo metadata names a package without a manifest");
        };
        let is_library = |target: &Value| target["kind"] == json!(["lib"]);
        let has_library = package["targets"].as_array().is_some_and(|targets| targets.iter().any(is_library));
        if !has_library || has_examples(&Path::new(manifest).with_file_name("src"))? {
            chosen.push(name.to_owned());
        }
    }
    Ok(chosen)
}

fn has_examples(sources: &Path) -> Result<bool> {
    for entry in WalkDir::new(sources) {
        let entry = entry?;
        let is_fence = |line: &str| {
            let comment = line.trim_start().strip_prefix("//").and_then(|rest| rest.strip_prefix(['/', '!']));
            comment.is_some_and(|comment| comment.trim_start().starts_with("```"))
        };
        if entry.path().extension().is_some_and(|end| end == "rs")
            && fs::read_to_string(entry.path())?.lines().any(is_fence)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What the server runs: style, lints, built files, dependencies, then the tests by the command that the README names.
pub(crate) fn ci() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    // Fetching and unpacking mostly wait for the network and the disk, compiling does not.
    std::thread::scope(|scope| {
        let tools = scope.spawn(|| install_missing(&for_tests()));
        let checked = lints().and_then(|()| documentation());
        let installed = tools.join().unwrap_or_else(|_| bail!("installing the tests' tools panicked"));
        checked.and(installed)
    })?;
    crate::generate::generate(true)?;
    crate::web::generate(true)?;
    crate::deny::check()?;
    run(cargo().args(["xtask", "test"]))
}

fn lints() -> Result<()> {
    run(cargo().args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}

fn documentation() -> Result<()> {
    run(cargo().env("RUSTDOCFLAGS", "--deny warnings").args([
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ]))
}

/// Writes the man pages and completions, which come from the definition of the arguments.
pub(crate) fn manual(directory: &Path) -> Result<()> {
    let directory = std::path::absolute(directory)?;
    run(cargo().args(["run", "--quiet", "--package", "coldstart", "--example", "manual", "--"]).arg(directory))
}
