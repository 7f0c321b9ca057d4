//! What is installed where, below a prefix such as `/usr`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use fs_err as fs;

use super::name_of;
use crate::cargo::workspace;
use crate::tools::run;

/// Where shells look for completions, by what `cargo xtask manual` calls them.
const COMPLETIONS: [(&str, &str); 3] = [
    ("coldstart.bash", "share/bash-completion/completions/coldstart"),
    ("_coldstart", "share/zsh/vendor-completions/_coldstart"),
    ("coldstart.fish", "share/fish/vendor_completions.d/coldstart.fish"),
];

/// Files of the project that belong to each copy of the program, and their names there.
const DOCUMENTS: [(&str, &str); 2] = [("README.md", "README.md"), ("CHANGELOG.md", "changelog")];

/// Lays programs, manual, completions and documents below `prefix`; `manual` holds all but the programs.
pub(super) fn lay(programs: &[PathBuf], manual: &Path, prefix: &Path) -> Result<()> {
    for program in programs {
        put(program, &prefix.join("bin").join(name_of(program)?), 0o755)?;
    }
    let pages = prefix.join("share/man/man1");
    for page in fs::read_dir(manual.join("man1"))? {
        let page = page?.path();
        let target = pages.join(name_of(&page)?);
        put(&page, &target, 0o644)?;
        compress(&target)?;
    }
    for (name, place) in COMPLETIONS {
        put(&manual.join("completions").join(name), &prefix.join(place), 0o644)?;
    }
    let documents = prefix.join("share/doc/coldstart");
    for (name, installed) in DOCUMENTS {
        put(&workspace().join(name), &documents.join(installed), 0o644)?;
    }
    for document in fs::read_dir(manual.join("documents"))? {
        let document = document?.path();
        let installed = documents.join(name_of(&document)?);
        put(&document, &installed, 0o644)?;
        compress(&installed)?;
    }
    compress(&documents.join("changelog"))
}

/// Lays the program for surveys below `prefix`, where `coldstart` beside it looks for it, with its documents.
pub(super) fn lay_survey(program: &Path, documents: &Path, prefix: &Path) -> Result<()> {
    put(program, &prefix.join("lib/coldstart").join(name_of(program)?), 0o755)?;
    for document in fs::read_dir(documents)? {
        let document = document?.path();
        let installed = prefix.join("share/doc/coldstart-survey").join(name_of(&document)?);
        put(&document, &installed, 0o644)?;
        compress(&installed)?;
    }
    Ok(())
}

/// Copies a file and makes the directories that lead to it.
pub(super) fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to)?;
    fs::set_permissions(to, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Replaces a file by its compressed form, without name and time inside.
pub(super) fn compress(path: &Path) -> Result<()> {
    run(Command::new("gzip").args(["--best", "--no-name", "--force"]).arg(path))
}

/// Bytes of all files below a directory.
pub(super) fn size(directory: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in walkdir::WalkDir::new(directory) {
        let entry = entry?;
        if entry.file_type().is_file() {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}
