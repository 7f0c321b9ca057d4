//! `demo`: the main job on a real program of this machine.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo::cargo;
use crate::tools::{is_there, run};

/// Programs worth demonstrating with, first those whose cold starts are many small reads: name, and arguments that make it start and end by itself.
/// `{dir}` is a scratch directory with `a.txt`, `a.html` and `a.rs` in it.
const CANDIDATES: &[(&str, &[&str])] = &[
    ("soffice", &["--headless", "--convert-to", "odt", "--outdir", "{dir}", "{dir}/a.txt"]),
    (
        "firefox-esr",
        &[
            "--headless",
            "--no-remote",
            "--profile",
            "{dir}/profile",
            "--screenshot",
            "{dir}/a.png",
            "file://{dir}/a.html",
        ],
    ),
    ("python3", &["-c", "import json, decimal, asyncio"]),
    ("gdb", &["--version"]),
    ("node", &["--eval", "0"]),
    ("rustc", &["--emit=metadata", "--crate-type=lib", "--out-dir", "{dir}", "{dir}/a.rs"]),
];

/// Builds coldstart and runs `speedup` on the first program that is installed, or on the one named.
pub(crate) fn demo(program: Option<&str>) -> Result<()> {
    let wanted = |name: &str| program.is_none_or(|program| program == name) && is_there(name);
    let Some((name, arguments)) = CANDIDATES.iter().find(|(name, _)| wanted(name)) else {
        bail!(
            "none of {} is installed\nhint: for any other program: cargo run --release -- speedup -- PROGRAM ARGS",
            CANDIDATES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        );
    };
    run(cargo().args(["build", "--release", "--package", "coldstart"]))?;
    let scratch = scratch_directory()?;
    let in_scratch = |argument: &&str| argument.replace("{dir}", &scratch.to_string_lossy());
    let mut coldstart = Command::new(crate::cargo::workspace().join("target/release/coldstart"));
    coldstart
        .arg("speedup")
        .arg("--output")
        .arg(scratch.join(format!("{name}.prefetch")))
        .arg("--")
        .arg(real_program(name))
        .args(arguments.iter().map(in_scratch))
        .current_dir(&scratch);
    let status = coldstart.status()?;
    // 1 is an answer: this disk may be too fast for any fix to show.
    match status.code() {
        Some(0 | 1) => Ok(()),
        _ => bail!("coldstart ended with {status}"),
    }
}

/// The toolchain proxy that rustup installs as `rustc` only starts another program; the demonstration wants that one.
fn real_program(name: &str) -> PathBuf {
    let sysroot = (name == "rustc").then(|| Command::new("rustc").args(["--print", "sysroot"]).output().ok()).flatten();
    let program = sysroot
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map(|sysroot| PathBuf::from(sysroot.trim()).join("bin/rustc"));
    program.filter(|program| program.is_file()).unwrap_or_else(|| name.into())
}

fn scratch_directory() -> Result<PathBuf> {
    let directory = crate::cargo::workspace().join("target/demo");
    fs_err::create_dir_all(directory.join("profile"))?;
    fs_err::write(directory.join("a.txt"), "How long does a start take?\n")?;
    fs_err::write(directory.join("a.html"), "<!doctype html><title>start</title><p>How long does a start take?\n")?;
    fs_err::write(directory.join("a.rs"), "//! A small library.\npub fn answer() -> u32 { 42 }\n")?;
    Ok(directory)
}
