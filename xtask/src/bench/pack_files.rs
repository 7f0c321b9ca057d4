//! The files that packing is measured on, and one packing of a file by `coldstart pack` or by elfhack.
//!
//! elfhack is Mozilla's packer: it injects code that does the loader's work. It is a peer for measurements only and not
//! part of Debian, so whoever has built it names it by [`ELFHACK`]; without it the tables say that it is missing.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::runner::{Said, shown};
use super::workshop::{Workshop, text};
use crate::tools::{Tool, tool};

/// The environment variable that names elfhack's program, beside which its directory `inject` lies.
const ELFHACK: &str = "COLDSTART_ELFHACK";

/// A file of Debian 12 with many relative relocations.
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    /// Where the libraries it needs lie, if the loader does not find them by itself.
    pub(super) needs: Option<&'static str>,
    /// Bytes by which packing is to shrink it: the records' bytes without those of the packed table, and without a page
    /// or two that rounding costs.
    pub(super) shrinks_by: f64,
}

/// A program and five libraries, from four linkers.
pub(super) const SAMPLES: [Sample; 6] = [
    sample("chromium", "/usr/lib/chromium/chromium", 26.14e6),
    Sample {
        needs: Some("/usr/lib/libreoffice/program"),
        ..sample("libmergedlo", "/usr/lib/libreoffice/program/libmergedlo.so", 8.24e6)
    },
    sample("libLLVM-14", "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1", 7.92e6),
    sample("libclang-cpp", "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.14", 5.13e6),
    sample("libjvm", "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", 2.36e6),
    Sample {
        needs: Some("/usr/lib/libreoffice/program"),
        ..sample("liblocaledata_others", "/usr/lib/libreoffice/program/liblocaledata_others.so", 1.72e6)
    },
];

const fn sample(name: &'static str, path: &'static str, shrinks_by: f64) -> Sample {
    Sample { name, path, needs: None, shrinks_by }
}

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[
    tool(SAMPLES[0].path, "chromium"),
    tool(SAMPLES[1].path, "libreoffice-core"),
    tool(SAMPLES[2].path, "libllvm14"),
    tool(SAMPLES[3].path, "libclang-cpp14"),
    tool(SAMPLES[4].path, "openjdk-17-jre-headless"),
    tool("readelf", "binutils"),
    tool("cc", "gcc"),
    tool("/usr/include/stdio.h", "libc6-dev"),
    tool("ld.bfd", "binutils"),
    tool("ld.lld", "lld"),
    tool("mold", "mold"),
];

/// One packing of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Packing {
    /// Seconds from the process' start to its end.
    pub(super) seconds: f64,
    /// Size of the result in bytes, as the file system has it; `None` if there is none.
    pub(super) size: Option<u64>,
    /// How the process ended, in words.
    end: String,
    /// What `coldstart pack --json` printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<Value>,
}

impl Packing {
    /// Seconds without those in which the result was flushed to disk; `None` if there is no result.
    pub(super) fn seconds_without_flush(&self) -> Option<f64> {
        self.size?;
        let flush = self.said.as_ref().and_then(|said| said.pointer("/files/0/seconds/flush")?.as_f64());
        Some(self.seconds - flush.unwrap_or(0.0))
    }
}

/// Packs `file` to `output`, which is removed first, with options of `coldstart pack`. A refusal is a result.
///
/// # Errors
/// When coldstart cannot be started, ends otherwise than done or refused, or prints no JSON.
pub(super) fn pack(workshop: &Workshop, options: &[&str], file: &Path, output: &Path) -> Result<Packing> {
    if output.exists() {
        fs::remove_file(output)?;
    }
    let mut command = workshop.coldstart(["pack", "--json", &text(file), "-o", &text(output)]);
    command.extend(options.iter().map(|&option| option.to_owned()));
    let said = workshop.runner.timed(&command)?;
    ensure!(
        matches!(said.status.code(), Some(0 | 1)),
        "`{}` ended with {}: {}",
        shown(&command),
        said.status,
        said.stderr.trim()
    );
    let json = serde_json::from_str(&said.stdout).with_context(|| format!("`{}` printed no JSON", shown(&command)))?;
    packing(&said, output, Some(json))
}

/// elfhack's program, if it was named.
pub(super) fn elfhack() -> Option<PathBuf> {
    std::env::var_os(ELFHACK).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// A line on whether elfhack takes part.
pub(super) fn about_elfhack() -> String {
    match elfhack() {
        Some(_) => "elfhack as built by whoever ran this".to_owned(),
        None => format!("elfhack is missing ({ELFHACK} names no program)"),
    }
}

/// Packs a copy of `file`, at `copy`, by elfhack, which works in place. A crash is a result: the size then is `None`.
///
/// # Errors
/// When elfhack cannot be started, or the file not be copied.
pub(super) fn pack_by_elfhack(workshop: &Workshop, elfhack: &Path, file: &Path, copy: &Path) -> Result<Packing> {
    copy_flushed(file, copy)?;
    let said = workshop.runner.timed(&[text(elfhack), text(copy)])?;
    let packing = packing(&said, copy, None)?;
    // Or it is written back beside the next run.
    fs::File::open(copy)?.sync_all()?;
    Ok(packing)
}

fn packing(said: &Said, result: &Path, json: Option<Value>) -> Result<Packing> {
    let is_there = said.status.success() && result.exists();
    let size = is_there.then(|| fs::metadata(result).map(|metadata| metadata.len())).transpose()?;
    Ok(Packing { seconds: said.seconds, size, end: said.status.to_string(), said: json })
}

/// A copy that is on disk, too, so that nobody has to write it back while something is measured.
pub(super) fn copy_flushed(file: &Path, copy: &Path) -> Result<()> {
    if copy.exists() {
        fs::remove_file(copy)?;
    }
    fs::copy(file, copy)?;
    fs::File::open(copy)?.sync_all()?;
    Ok(())
}

/// A directory of the workshop, empty.
pub(super) fn empty_directory(workshop: &Workshop, name: &str) -> Result<PathBuf> {
    let directory = workshop.directory.join(name);
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn flushing_is_not_counted_and_no_result_has_no_time() {
        let said = json!({"files": [{"seconds": {"plan": 0.1, "flush": 0.5}}]});
        let packing = Packing { seconds: 2.0, size: Some(7), end: "exit status: 0".into(), said: Some(said) };
        assert_eq!(packing.seconds_without_flush(), Some(1.5));
        assert_eq!(Packing { said: None, ..packing.clone() }.seconds_without_flush(), Some(2.0));
        assert_eq!(Packing { size: None, ..packing }.seconds_without_flush(), None);
    }
}
