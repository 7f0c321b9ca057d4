//! Programs in Rust, built from their sources by cargo and linked by rustc's own lld.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::Value;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::{Linking, Measured, World, kept, made};
use crate::cargo::cargo;

/// A published program.
struct Published {
    package: &'static str,
    version: &'static str,
    binary: &'static str,
    /// Options of cargo for its build.
    options: &'static [&'static str],
}

const RIPGREP: Published = Published { package: "ripgrep", version: "14.1.1", binary: "rg", options: &[] };
/// Without what asks the desktop. Its own profile optimises the whole program at once, which takes minutes for each link.
const STARSHIP: Published = Published {
    package: "starship",
    version: "1.22.1",
    binary: "starship",
    options: &[
        "--no-default-features",
        "--config=profile.release.lto=false",
        "--config=profile.release.codegen-units=16",
    ],
};

struct RustProgram {
    published: &'static Published,
    /// The package with its sources.
    package: PathBuf,
    /// Kept from one run to the next: its dependencies take minutes.
    target: PathBuf,
}

pub(super) fn ripgrep(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    let program = RustProgram::new(workshop, &RIPGREP, directory)?;
    let searched = text(&program.package.join("crates"));
    let start = words(["{}", "--no-config", "--color=never", "-j1", "-n", "fn main", &searched]);
    let held_out = words(["{}", "--no-config", "-j1", "--json", "-i", "-w", "needle|hay[a-z]+", &searched]);
    World { name: "ripgrep by lld", directory, start, held_out }.measure(workshop, &program)
}

pub(super) fn starship(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    let program = RustProgram::new(workshop, &STARSHIP, directory)?;
    let at = text(&program.package);
    let start = words(["{}", "prompt", "--path", &at, "--logical-path", &at]);
    let held_out = words(["{}", "explain", "--path", &at, "--logical-path", &at]);
    World { name: "starship by lld", directory, start, held_out }.measure(workshop, &program)
}

/// Has cargo fetch the sources: a package that needs it is vendored.
fn sources(directory: &Path, published: &Published) -> Result<PathBuf> {
    fs::create_dir_all(directory.join("src"))?;
    fs::write(directory.join("src/lib.rs"), "")?;
    let Published { package, version, .. } = published;
    let manifest = format!(
        "[package]\nname = \"sources\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\n{package} = \"={version}\"\n\n[workspace]\n"
    );
    let path = directory.join("Cargo.toml");
    fs::write(&path, manifest)?;
    let vendored = directory.join("vendor");
    let mut vendor = cargo();
    vendor.args(["vendor", "--quiet", "--manifest-path", &text(&path)]).arg(&vendored);
    crate::tools::run(vendor.stdout(std::process::Stdio::null()))?;
    let package = vendored.join(package);
    // It stands below another workspace.
    let manifest = package.join("Cargo.toml");
    let own = fs::read_to_string(&manifest)?;
    fs::write(&manifest, own + "\n[workspace]\n")?;
    Ok(package)
}

impl RustProgram {
    fn new(workshop: &Workshop, published: &'static Published, directory: &Path) -> Result<Self> {
        let target = workshop.directory.join(format!("{}-target", published.package));
        Ok(Self { published, package: sources(made(directory)?, published)?, target })
    }
}

impl Linking for RustProgram {
    fn list_options(&self) -> Vec<String> {
        words(["--for", "lld"])
    }

    fn link(&self, _: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let mut build = cargo();
        build.current_dir(&self.package);
        build.args(["rustc", "--locked", "--release", "--message-format=json-render-diagnostics"]);
        // Names of functions come from the program before it is stripped; some profiles strip it themselves.
        build.args(["--bin", self.published.binary, "--config=profile.release.strip=false"]);
        build.args(self.published.options);
        build.arg("--target-dir").arg(&self.target).args(["--", "-C", "link-arg=-Wl,--build-id=sha1"]);
        if let Some(list) = list {
            build.args(["-C", &format!("link-arg=-Wl,--symbol-ordering-file={}", text(list))]);
        }
        let package = self.published.package;
        let built = build.stderr(std::process::Stdio::inherit()).output().context("cannot start cargo")?;
        anyhow::ensure!(built.status.success(), "cargo cannot build {package}; it says why above");
        let lines = built.stdout.split(|byte| *byte == b'\n');
        let messages = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let program = messages.filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from)).next_back();
        kept(&program.with_context(|| format!("cargo reports no program of {package}"))?, output)
    }
}
