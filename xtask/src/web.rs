//! The viewer in `web/`: what is built of it stands in `crates/view/assets`, so that coldstart builds without Node.

use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;

use crate::tools::{Tool, install_missing, run, tool};

/// What building the viewer takes. Node 18 will do. Tests need a browser besides, which is among the tools for tests.
const TOOLS: &[Tool] = &[tool("node", "nodejs"), tool("npm", "npm")];

/// The files that the bundler writes.
const BUILT: &[&str] = &["viewer.js", "viewer.css"];

/// Builds the viewer; with `check` says whether the same came out as is checked in, and leaves all as it is.
pub(crate) fn generate(check: bool) -> Result<()> {
    prepare()?;
    run(npm().args(["run", "--silent", "check"]))?;
    let recorded = crate::cargo::workspace().join("crates/view/assets");
    if !check {
        run(npm().args(["run", "--silent", "build"]))?;
        println!("built {}", recorded.join(BUILT.join(" and ")).display());
        return Ok(());
    }
    let scratch = crate::cargo::target_directory()?.join("viewer");
    fs::create_dir_all(&scratch)?;
    run(npm().args(["run", "--silent", "build", "--"]).arg(&scratch))?;
    for name in BUILT {
        ensure!(
            fs::read(scratch.join(name))? == fs::read(recorded.join(name)).unwrap_or_default(),
            "crates/view/assets/{name}: not what web/ gives\nhint: cargo xtask gen, and commit what it writes"
        );
    }
    println!("{} is what its sources give", recorded.display());
    Ok(())
}

/// Tests the viewer: its parts by themselves, and whole pages in Chromium. coldstart and coldstart-survey are built before.
pub(crate) fn test() -> Result<()> {
    prepare()?;
    let built = crate::cargo::target_directory()?.join("debug");
    let mut tests = npm();
    tests.args(["run", "--silent", "test"]).env("COLDSTART", built.join("coldstart"));
    run(tests.env("COLDSTART_SURVEY", built.join("coldstart-survey")))
}

/// Node, a browser, and the libraries as they are locked.
pub(crate) fn prepare() -> Result<()> {
    install_missing(TOOLS)?;
    let directory = crate::cargo::workspace().join("web");
    // npm keeps what it has installed there, in the words of the lock.
    let (locked, installed) = (directory.join("package-lock.json"), directory.join("node_modules/.package-lock.json"));
    let age = |path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    if age(installed).is_none_or(|installed| age(locked).is_some_and(|locked| locked > installed)) {
        run(npm().args(["ci", "--silent"]))?;
    }
    Ok(())
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(crate::cargo::workspace().join("web"));
    npm
}
