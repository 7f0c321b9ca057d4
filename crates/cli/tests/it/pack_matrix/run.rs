//! Starting tools and fixtures, with failures as text.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::build::Kind;
use super::feature::{Feature, Meeting};
use super::toolchain::Machine;

/// What a command did, whether it succeeded or not.
pub(crate) fn output(command: &mut Command) -> Output {
    command.env("LC_ALL", "C").stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What a command printed; it must have succeeded.
pub(crate) fn succeed(command: &mut Command) -> Result<String, String> {
    let output = output(command);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    Err(format!("{command:?} ended with {}\n{stdout}{}", output.status, String::from_utf8_lossy(&output.stderr)))
}

/// Runs the fixture in a folder in all its ways, and gives what it printed.
pub(crate) fn run_fixture(feature: &Feature, machine: Machine, kind: Kind, folder: &Path) -> Result<String, String> {
    let program = folder.join(kind.roles().last().unwrap().file_name());
    let mut environment = Vec::new();
    if feature.meeting == Meeting::Preloaded {
        environment.push(("LD_PRELOAD", folder.join("libfixture.so").to_string_lossy().into_owned()));
    }
    let mut printed = succeed(&mut machine.run(&program, &environment))?;
    if let Some((name, value)) = feature.also_with {
        environment.push((name, value.to_owned()));
        printed += &succeed(&mut machine.run(&program, &environment))?;
    }
    Ok(printed)
}
