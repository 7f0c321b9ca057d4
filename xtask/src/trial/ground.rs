//! Where a trial is made: a directory of its own, copies in it, and the packer.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::process;

/// A trial's directory and packer.
pub(super) struct Ground {
    /// The directory, empty at first.
    pub(super) directory: PathBuf,
    /// `None` where copies stand in for packed files.
    coldstart: Option<PathBuf>,
}

impl Ground {
    /// An empty directory below `home`, for the trial of this name.
    pub(super) fn new(home: &Path, name: &str, coldstart: Option<&Path>) -> Result<Self> {
        let ground = Self { directory: home.join(name), coldstart: coldstart.map(Path::to_owned) };
        if ground.directory.exists() {
            ground.clear()?;
        }
        fs::create_dir_all(&ground.directory)?;
        Ok(ground)
    }

    /// Removes the directory.
    pub(super) fn clear(&self) -> Result<()> {
        Ok(fs::remove_dir_all(&self.directory)?)
    }

    /// A command in the plain environment, at home in this directory.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        process::command(&self.directory, program)
    }

    /// A file of this directory with a text in it.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.directory.join(name);
        fs::write(&file, text)?;
        Ok(file)
    }

    /// The directory of the originals, or of the packed ones.
    pub(super) fn side(&self, packed: bool) -> PathBuf {
        self.directory.join(if packed { "packed" } else { "original" })
    }

    /// Copies a tree to both sides and packs all ELF files in the packed one, in place.
    ///
    /// # Errors
    /// When it cannot be copied, or something that is packed was not proven.
    pub(super) fn copy_tree(&self, tree: &Path) -> Result<String> {
        for packed in [false, true] {
            process::stdout(self.command("cp").arg("--archive").arg(tree).arg(self.side(packed)))?;
        }
        self.pack(&["--in-place".into(), self.side(true)])
    }

    /// Copies files to both sides and packs those in the packed one.
    ///
    /// # Errors
    /// As [`Ground::copy_tree`], and when one of them is refused.
    pub(super) fn copy_files(&self, files: &[&Path]) -> Result<String> {
        for packed in [false, true] {
            fs::create_dir_all(self.side(packed))?;
            for file in files {
                fs::copy(file, self.side(packed).join(file.file_name().context("a file without a name")?))?;
            }
        }
        self.pack(&["--in-place".into(), self.side(true)])
    }

    /// Holds that a program, told to look in the packed side first, loads the library's packed form from there.
    ///
    /// # Errors
    /// When it loads another, or cannot be started.
    pub(super) fn holds_that_packed_is_used(&self, program: &str, library: &Path) -> Result<()> {
        let side = self.side(true);
        // By env(1), or the process that watches the time would be traced.
        let mut traced = self.command("env");
        traced.arg("LD_TRACE_LOADED_OBJECTS=1").arg(format!("LD_LIBRARY_PATH={}", side.display())).arg(program);
        let loaded = process::stdout(&mut traced)?;
        let packed = side.join(library.file_name().context("a library without a name")?);
        ensure!(loaded.contains(&*packed.to_string_lossy()), "{program} does not load {}", packed.display());
        Ok(())
    }

    /// A verb of `coldstart`; `None` where copies stand in.
    pub(super) fn coldstart(&self, verb: &str) -> Option<Command> {
        let mut command = self.command(self.coldstart.as_ref()?);
        command.arg(verb);
        Some(command)
    }

    /// `coldstart bind --anyway` with these arguments: its exit code, 0 or 1, and all it says. `None` where copies stand in.
    ///
    /// # Errors
    /// When it ends with another code.
    pub(super) fn bind(&self, arguments: &[PathBuf]) -> Result<Option<(i32, String)>> {
        let Some(mut command) = self.coldstart("bind") else { return Ok(None) };
        let said = process::said(command.arg("--anyway").args(arguments))?;
        let (end, told) = said.split_once('\n').unwrap_or((&said, ""));
        match end {
            "exit status: 0" => Ok(Some((0, told.to_owned()))),
            "exit status: 1" => Ok(Some((1, told.to_owned()))),
            _ => anyhow::bail!("`coldstart bind` ended with {said}"),
        }
    }

    /// `coldstart pack` with these arguments; its totals in words.
    pub(super) fn pack(&self, arguments: &[PathBuf]) -> Result<String> {
        match self.pack_for_json(arguments)? {
            Some(said) => Ok(totals(&said)),
            None => Ok("copies, not packed".to_owned()),
        }
    }

    /// `coldstart pack` with these arguments; all it says. `None` where copies stand in.
    ///
    /// # Errors
    /// When it fails, or was refused.
    pub(super) fn pack_for_json(&self, arguments: &[PathBuf]) -> Result<Option<Value>> {
        let Some(coldstart) = &self.coldstart else { return Ok(None) };
        let said = process::stdout(self.command(coldstart).args(["pack", "--json"]).args(arguments))?;
        let said: Value = serde_json::from_str(&said).context("`coldstart pack --json` printed no JSON")?;
        ensure!(said.get("files").is_some_and(Value::is_array), "`coldstart pack --json` listed no files");
        Ok(Some(said))
    }
}

/// The files that `coldstart pack` tells of, with their outcomes.
pub(super) fn outcomes(said: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let files = said.get("files").and_then(Value::as_array).into_iter().flatten();
    files.filter_map(|file| Some((file.get("outcome")?.as_str()?, file)))
}

/// How many were packed and what else became of how many, with the sizes of those that were packed.
pub(super) fn totals(said: &Value) -> String {
    let mut counts = std::collections::BTreeMap::new();
    let (mut before, mut after) = (0, 0);
    for (outcome, file) in outcomes(said) {
        *counts.entry(outcome).or_insert(0_u32) += 1;
        let size = |name: &str| file.pointer(&format!("/summary/{name}")).and_then(Value::as_u64).unwrap_or(0);
        if outcome == "packed" {
            before += size("size_before");
            after += size("size_after");
        }
    }
    let counts: Vec<String> = counts.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    format!("{}: {:.2} MB became {:.2} MB", counts.join(", "), megabytes(before), megabytes(after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn totals_count_the_packed() {
        let file =
            |outcome: &str| json!({"outcome": outcome, "summary": {"size_before": 3_000_000, "size_after": 2_000_000}});
        let said = json!({"files": [file("packed"), file("nothing"), file("packed"), {"outcome": "refused"}]});
        assert_eq!(totals(&said), "1 nothing, 2 packed, 1 refused: 6.00 MB became 4.00 MB");
    }
}
