//! The Python package: one wheel for all Pythons from 3.10 (abi3), built by maturin, and tried in a clean virtual environment.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::{Source, components};
use crate::architecture::Architecture;
use crate::cargo::{target_directory, workspace};
use crate::clean_system::said;
use crate::tools::{Tool, emptied, install_missing, run, tool};

const TOOLS: &[Tool] = &[
    tool("python3", "python3"),
    tool("pip3", "python3-pip"),
    // It has no program of its own.
    tool("/usr/share/doc/python3-venv", "python3-venv"),
];

/// What a new user does first, and the examples of the documentation.
const USES: &str = "
import coldstart, doctest, importlib.metadata
assert importlib.metadata.version('coldstart') == coldstart.__version__
licences = [str(path) for path in importlib.metadata.files('coldstart') if 'LICENSE' in str(path)]
assert len(licences) == 3, licences
assert len(coldstart.inspect('/bin/sh').objects) == 1
assert coldstart.survey(['/bin/sh'], 'out')['objects'] == 1
failed = doctest.testmod(coldstart).failed
assert not failed, failed
print(coldstart.__version__)
";

/// Builds the wheel and returns its path.
pub(super) fn build(source: &Source, output: &Path) -> Result<PathBuf> {
    install_missing(TOOLS)?;
    let maturin = maturin()?;
    let wheels = emptied(output.join("wheel"))?;
    let package = workspace().join("crates/python");
    let mut build = Command::new(maturin);
    build.args(["build", "--quiet", "--locked", "--out"]).arg(&wheels);
    build.current_dir(&package).env("SOURCE_DATE_EPOCH", &source.time);
    // `license-files` of pyproject.toml takes only files of the package's own directory.
    let licences = output.join("documents");
    components::write(&["coldstart-python"], &Architecture::native()?.target(), source, &licences)?;
    let beside = package.join("LICENSE-THIRD-PARTY");
    fs::copy(licences.join("third-party-licences"), &beside)?;
    let built = run(&mut build);
    fs::remove_file(&beside)?;
    built?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin has built nothing")??;
    let place = output.join(wheel.file_name());
    fs::rename(wheel.path(), &place)?;
    fs::remove_dir(&wheels)?;
    Ok(place)
}

/// Installs the wheel into a new virtual environment, without any network, uses it there and removes it.
pub(super) fn try_out(wheel: &Path, output: &Path) -> Result<()> {
    let root = emptied(output.join("venv"))?;
    run(Command::new("python3").args(["-m", "venv"]).arg(&root))?;
    let python = root.join("bin/python");
    let pip = |words: &[&str]| said(Command::new(&python).args(["-m", "pip", "--quiet"]).args(words));
    let path = wheel.to_str().context("the wheel's path is not UTF-8")?;
    pip(&["install", "--no-index", path])?;
    let version = said(Command::new(&python).args(["-I", "-c", USES]).current_dir(&root))?;
    pip(&["uninstall", "--yes", "coldstart"])?;
    let is_gone = !Command::new(&python).args(["-I", "-c", "import coldstart"]).output()?.status.success();
    ensure!(is_gone, "{} stays after it was removed", wheel.display());
    fs::remove_dir_all(&root)?;
    println!("wheel: {} is installed, answers, and is removed", version.trim());
    Ok(())
}

/// The program maturin, fetched once.
fn maturin() -> Result<PathBuf> {
    let list = workspace().join("xtask/src/package/maturin.txt");
    let text = fs::read_to_string(&list)?;
    let version = text.lines().find_map(|line| line.strip_prefix("maturin==")?.split_whitespace().next());
    let version = version.with_context(|| format!("{} names no version", list.display()))?;
    let place = target_directory()?.join(format!("maturin-{version}"));
    if !place.exists() {
        let partial = emptied(place.with_extension("partial"))?;
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target"]).arg(&partial);
        run(pip.arg("-r").arg(list).env("PIP_ROOT_USER_ACTION", "ignore"))?;
        fs::rename(&partial, &place)?;
    }
    Ok(place.join("bin/maturin"))
}
