//! Example programs, which some tests start.

use std::path::PathBuf;
use std::process::Command;

use crate::Turn;

/// Set to `1` when all examples have been built already, as by `cargo xtask test`.
const BUILT: &str = "COLDSTART_EXAMPLES_BUILT";

/// The example `name` of a package, brought up to date: cargo does not build examples when it is asked for a single test.
/// `cargo` and `manifest` are `env!("CARGO")` and the path of the package's `Cargo.toml`.
///
/// # Panics
/// When it cannot be built.
pub fn example(cargo: &str, manifest: &str, name: &str) -> PathBuf {
    let ours = std::env::current_exe().unwrap();
    let profile = ours.ancestors().nth(2).expect("a test runs from its build directory");
    if std::env::var_os(BUILT).is_some_and(|value| value == "1") {
        return profile.join("examples").join(name);
    }
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--offline", "--example", name, "--manifest-path", manifest]);
    if profile.ends_with("release") {
        build.arg("--release");
    }
    // While one links it, another may not start it.
    let _turn = Turn::alone("examples");
    assert!(build.status().unwrap().success());
    profile.join("examples").join(name)
}
