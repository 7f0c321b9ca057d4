//! Holding the dependencies to `deny.toml` by cargo-deny: licences, no version twice, sources.
//!
//! cargo-deny takes longer to build than all of this project, and its answer depends on few files, which change rarely. So it runs when
//! one of them has changed, and [`RECORD`] says for which it last agreed; CI checks the record.

use anyhow::{Result, bail};
use fs_err as fs;
use sha2::{Digest as _, Sha256};

use crate::cargo::{cargo, workspace};
use crate::tools::{is_there, run};

const VERSION: &str = "0.20.2";
/// What the answer depends on.
const INPUTS: &[&str] = &["Cargo.lock", "Cargo.toml", "deny.toml"];
/// Digests of the inputs with which cargo-deny last agreed.
const RECORD: &str = "deny.sha256";

/// Runs cargo-deny and records that it agrees. `advisories` adds known weaknesses, whose list comes from another place than the packages
/// and changes from day to day, so that nothing is recorded of it.
///
/// # Errors
/// When a dependency breaks a rule.
pub(crate) fn deny(advisories: bool) -> Result<()> {
    if !is_there("cargo-deny") {
        println!("installing cargo-deny");
        run(cargo().args(["install", "--quiet", "--locked", "--version", VERSION, "cargo-deny"]))?;
    }
    let mut deny = cargo();
    deny.args(["deny", "--workspace", "check", "--hide-inclusion-graph", "licenses", "bans", "sources"]);
    run(deny.args(advisories.then_some("advisories")))?;
    Ok(fs::write(workspace().join(RECORD), digests()?)?)
}

/// Checks that cargo-deny has agreed with the dependencies as they are.
///
/// # Errors
/// When they have changed since.
pub(crate) fn check() -> Result<()> {
    if fs::read_to_string(workspace().join(RECORD))? != digests()? {
        bail!("{} have changed since the dependencies were last checked: run `cargo xtask deny`", INPUTS.join(", "));
    }
    Ok(())
}

/// In the form of `sha256sum`, so that anybody can compare them.
fn digests() -> Result<String> {
    let line = |name: &&str| {
        let digest = Sha256::digest(fs::read(workspace().join(name))?);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{digits}  {name}\n"))
    };
    INPUTS.iter().map(line).collect()
}
