//! The programs as users get them: `coldstart`, and `coldstart-run` linked statically with musl.
//!
//! A static launcher needs neither loader nor libc from the cold disk before the plan reads them in with the rest. With glibc it is
//! 1.3 MB, with musl a third of that (docs/decisions/0004-a-small-launcher.md).

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::architecture::{Architecture, install_target};
use crate::cargo::{cargo, target_directory};
use crate::tools::run;

const LAUNCHER: &str = "coldstart-run";

/// Builds both programs and prints their paths and sizes.
pub(crate) fn release() -> Result<()> {
    for program in programs()? {
        println!("{} {}", fs_err::metadata(&program)?.len(), program.display());
    }
    Ok(())
}

/// Builds both programs and returns their paths.
pub(crate) fn programs() -> Result<Vec<PathBuf>> {
    run(cargo().args(["build", "--release", "--package=coldstart"]))?;
    let launcher = launcher()?;
    Ok(vec![launcher.with_file_name("coldstart"), launcher])
}

/// Builds `coldstart-survey` and returns its path.
pub(crate) fn survey_program() -> Result<PathBuf> {
    run(cargo().args(["build", "--profile=survey", "--package=coldstart-survey-program"]))?;
    Ok(target_directory()?.join("survey/coldstart-survey"))
}

/// Builds both programs linked statically with musl for `architecture`, and returns their paths.
pub(crate) fn static_programs(architecture: Architecture) -> Result<Vec<PathBuf>> {
    let crates = ["--release", "--package=coldstart", "--package=coldstart-launcher"];
    let built = build_static(architecture, &crates)?.join("release");
    ["coldstart", LAUNCHER].into_iter().map(|name| static_program(built.join(name))).collect()
}

/// Builds `coldstart-survey` linked statically with musl for `architecture`, and returns its path.
pub(crate) fn static_survey_program(architecture: Architecture) -> Result<PathBuf> {
    let built = build_static(architecture, &["--profile=survey", "--package=coldstart-survey-program"])?;
    static_program(built.join("survey/coldstart-survey"))
}

/// Builds for a processor with musl, and returns cargo's directory for it.
fn build_static(architecture: Architecture, what: &[&str]) -> Result<PathBuf> {
    let target = architecture.target();
    install_target(&target)?;
    let mut build = cargo();
    architecture.compile_for(&mut build)?;
    run(build.arg("build").args(what).args(["--target", &target]))?;
    Ok(target_directory()?.join(&target))
}

/// Builds `coldstart-run` and returns its path beside `coldstart`, where `speedup` looks for it.
///
/// Where Rust's standard library for musl is missing and cannot be installed, the launcher is a dynamic program of this machine.
pub(crate) fn launcher() -> Result<PathBuf> {
    let beside = target_directory()?.join("release").join(LAUNCHER);
    let target = Architecture::native()?.target();
    let mut build = cargo();
    build.args(["build", "--release", "--package=coldstart-launcher"]);
    if install_target(&target).is_err() {
        println!(
            "{LAUNCHER} becomes a dynamic program: Rust's library for {target} is missing (rustup target add {target})"
        );
        run(&mut build)?;
        return Ok(beside);
    }
    run(build.args(["--target", &target]))?;
    let built = target_directory()?.join(&target).join("release").join(LAUNCHER);
    // Not over the old one in place: it may be running, or be a hard link to cargo's own copy.
    let growing = beside.with_extension("partial");
    fs_err::create_dir_all(beside.parent().context("no target directory")?)?;
    fs_err::copy(&built, &growing)?;
    fs_err::rename(&growing, &beside)?;
    static_program(beside)
}

/// The path of a program that is linked statically, as it should be.
fn static_program(program: PathBuf) -> Result<PathBuf> {
    ensure!(is_static(&program)?, "{} asks for a loader, and should be static", program.display());
    Ok(program)
}

/// Whether a program has no interpreter (`PT_INTERP`).
fn is_static(program: &Path) -> Result<bool> {
    let output = Command::new("readelf").args(["--program-headers", "--wide"]).arg(program).output()?;
    ensure!(output.status.success(), "readelf cannot read {}", program.display());
    Ok(!String::from_utf8_lossy(&output.stdout).contains("INTERP"))
}
