//! ripgrep, built from its sources by cargo and linked by rustc's own lld.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::Value;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::{Linking, Measured, World, kept, made};
use crate::cargo::cargo;

const VERSION: &str = "14.1.1";

struct Ripgrep {
    /// The package with its sources.
    package: PathBuf,
    /// Kept from one run to the next: its dependencies take minutes.
    target: PathBuf,
}

pub(super) fn measure(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    let package = sources(made(directory)?)?;
    let ripgrep = Ripgrep { target: workshop.directory.join("ripgrep-target"), package };
    let searched = text(&ripgrep.package.join("crates"));
    let start = words(["--no-config", "--color=never", "-j1", "-n", "fn main", &searched]);
    let held_out = words(["--no-config", "-j1", "--json", "-i", "-w", "needle|hay[a-z]+", &searched]);
    World { name: "ripgrep by lld", directory, start, held_out }.measure(workshop, &ripgrep)
}

/// Has cargo fetch the sources: a package that needs it is vendored.
fn sources(directory: &Path) -> Result<PathBuf> {
    fs::create_dir_all(directory.join("src"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\nripgrep = \"={VERSION}\"\n\n[workspace]\n"
    );
    let path = directory.join("Cargo.toml");
    fs::write(&path, manifest)?;
    let vendored = directory.join("vendor");
    let mut vendor = cargo();
    vendor.args(["vendor", "--quiet", "--manifest-path", &text(&path)]).arg(&vendored);
    crate::tools::run(vendor.stdout(std::process::Stdio::null()))?;
    let package = vendored.join("ripgrep");
    // It stands below another workspace.
    let manifest = package.join("Cargo.toml");
    let own = fs::read_to_string(&manifest)?;
    fs::write(&manifest, own + "\n[workspace]\n")?;
    Ok(package)
}

impl Linking for Ripgrep {
    fn list_options(&self) -> Vec<String> {
        words(["--for", "lld"])
    }

    fn link(&self, _: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let mut build = cargo();
        build.current_dir(&self.package);
        build.args(["rustc", "--locked", "--release", "--bin", "rg", "--message-format=json-render-diagnostics"]);
        build.arg("--target-dir").arg(&self.target).args(["--", "-C", "link-arg=-Wl,--build-id=sha1"]);
        if let Some(list) = list {
            build.args(["-C", &format!("link-arg=-Wl,--symbol-ordering-file={}", text(list))]);
        }
        let built = build.stderr(std::process::Stdio::inherit()).output().context("cannot start cargo")?;
        anyhow::ensure!(built.status.success(), "cargo cannot build ripgrep; it says why above");
        let lines = built.stdout.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let program = messages.filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from)).next_back();
        kept(&program.context("cargo reports no program of ripgrep")?, output)
    }
}
