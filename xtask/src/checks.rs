//! `test` and `ci`: the same commands for developers and for the CI server.

use std::path::Path;

use anyhow::Result;

use crate::cargo::cargo;
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
    run(cargo().args(["test", "--workspace", "--doc", "--quiet"]))?;
    crate::web::test()
}

/// What the server runs: style, lints, built files, dependencies, then the tests by the command that the README names.
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
    crate::deny::check()?;
    run(cargo().args(["xtask", "test"]))
}

/// Writes the man pages and completions, which come from the definition of the arguments.
pub(crate) fn manual(directory: &Path) -> Result<()> {
    let directory = std::path::absolute(directory)?;
    run(cargo().args(["run", "--quiet", "--package", "coldstart", "--example", "manual", "--"]).arg(directory))
}
