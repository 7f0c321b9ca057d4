//! `coldstart pack`, `verify` and `unpack` as their users call them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::run::{output, succeed};

/// What came of packing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The output is there, and smaller.
    Packed,
    /// The file is as good as it gets, and the output was a copy of it. The reason's short name.
    Nothing(String),
    /// The reason's short name.
    Refused(String),
}

pub(crate) fn coldstart(verb: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.arg(verb);
    command
}

/// Packs `input` into the new file `target`. An exit by 2, or one that its output contradicts, is an error.
pub(crate) fn pack(input: &Path, target: &Path, options: &[&str]) -> Result<Verdict, String> {
    let output = output(coldstart("pack").args(options).arg("--json").arg(input).arg("-o").arg(target));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let json: Value = serde_json::from_str(&text).unwrap_or_default();
    let error = json.pointer("/files/0/error").and_then(Value::as_str).unwrap_or(&text);
    let name = input.file_name().unwrap().display();
    let all = || format!("pack {options:?} of {name}: {}: {error} {errors}", output.status);
    let word = |path: &str| json.pointer(path).and_then(Value::as_str).map(str::to_owned).ok_or_else(all);
    match (output.status.code(), word("/files/0/outcome")?.as_str(), target.exists()) {
        (Some(0), "packed", true) => Ok(Verdict::Packed),
        (Some(0), "nothing", true) => {
            if std::fs::read(input).unwrap() != std::fs::read(target).unwrap() {
                return Err(format!("{} was to be left as it is", target.display()));
            }
            std::fs::remove_file(target).unwrap();
            word("/files/0/nothing/reason").map(Verdict::Nothing)
        }
        (Some(1), "refused", false) => word("/files/0/refusal/code").map(Verdict::Refused),
        _ => Err(all()),
    }
}

/// Proves a packed file against its original.
pub(crate) fn prove_same(original: &Path, packed: &Path) -> Result<(), String> {
    succeed(coldstart("verify").arg(packed).arg("--against").arg(original)).map(drop)
}

/// The same, and it has to be a page smaller.
pub(crate) fn prove(original: &Path, packed: &Path) -> Result<(), String> {
    prove_same(original, packed)?;
    let (before, after) = (size(original), size(packed));
    if after + 4096 <= before {
        return Ok(());
    }
    Err(format!("{} has {after} bytes, its original {before}", packed.display()))
}

/// Restores the original of a packed file into the new file `restored`.
pub(crate) fn restore(original: &Path, packed: &Path, restored: &Path) -> Result<(), String> {
    succeed(coldstart("unpack").arg(packed).arg("-o").arg(restored))?;
    if std::fs::read(original).unwrap() == std::fs::read(restored).unwrap() {
        return Ok(());
    }
    Err(format!("unpack of {} is not its original", packed.display()))
}

/// Bytes of a file; of one with holes, those on disk.
fn size(path: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let status = std::fs::metadata(path).unwrap();
    status.len().min(status.blocks() * 512)
}
