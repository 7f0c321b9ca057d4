//! `survey`: what is asked for, and what was done. The work is in a program of its own (`coldstart-survey`), because what writes
//! Parquet and reads every kind of package is larger than all other verbs together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Serialize;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.survey/1";

/// What to survey, and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directories, packages, images, OCI layouts, ELF files.
    pub what: Vec<OsString>,
    /// The directory of the survey: new, empty, or that of the same survey before.
    pub directory: PathBuf,
    /// Which part of the shards is this process's; all without one.
    pub part: Option<Part>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
    /// How much an archive may unpack to.
    pub limits: Limits,
    /// Where archives are unpacked, into files without a name; by default the directory for temporary files.
    pub scratch: Option<PathBuf>,
    /// The program that reads RPM packages and squashfs images in a process of their own; without it, this process reads them.
    pub archive_reader: Option<PathBuf>,
}

/// The limits of one archive with all archives in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Archives inside archives.
    pub depth: u32,
    /// Files.
    pub files: u64,
    /// Unpacked bytes in all.
    pub bytes: u64,
    /// Unpacked bytes for each packed one.
    pub ratio: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 3, files: 4_000_000, bytes: 64 << 30, ratio: 200 }
    }
}

/// One part of several: `3/10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    index: u32,
    of: NonZeroU32,
}

impl Part {
    /// Whether a shard belongs to it.
    pub fn has(self, shard: u32) -> bool {
        shard % self.of == self.index
    }
}

impl FromStr for Part {
    type Err = String;

    /// From `I/N`, counted from 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "not I/N with I from 1 to N".to_owned();
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let of: NonZeroU32 = of.parse().map_err(|_| wrong())?;
        let index: u32 = index.parse().map_err(|_| wrong())?;
        let index = index.checked_sub(1).filter(|index| *index < of.get()).ok_or_else(wrong)?;
        Ok(Self { index, of })
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Shards of the whole survey.
    pub shards: u64,
    /// Shards of this part that were complete before.
    pub kept: u64,
    /// Shards that were made.
    pub made: u64,
    /// Shards that another process was making.
    pub elsewhere: u64,
    /// Files, ELF or not.
    pub files: u64,
    /// Rows of the table `objects` in kept and made shards.
    pub objects: u64,
    /// Rows of `findings`.
    pub findings: u64,
    /// Rows of `problems`: files that could not be read.
    pub problems: u64,
}

/// What a survey says in all: the answer to "what would this set gain?".
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// What was surveyed.
    pub sources: Vec<String>,
    /// Shards that are complete, of how many.
    pub complete_shards: u64,
    /// All shards.
    pub shards: u64,
    /// All objects.
    pub totals: Totals,
    /// What each fix would save, the most first.
    pub fixes: Vec<FixGain>,
    /// What each package would gain, the most first; at most [`MOST_PACKAGES`].
    pub packages: Vec<PackageGain>,
    /// Packages with objects.
    pub all_packages: u64,
    /// Modules of interpreters, by language.
    pub modules: BTreeMap<String, u64>,
    /// Files that could not be read, at most [`MOST_PROBLEMS`]; `totals` has their number.
    pub problems: Vec<Problem>,
}

/// The name and version of the JSON schema of a report.
pub const REPORT_SCHEMA: &str = "coldstart.survey-report/1";

/// As many packages are listed.
pub const MOST_PACKAGES: usize = 1000;
/// As many problems are listed.
pub const MOST_PROBLEMS: usize = 100;

/// Sums over all objects of a survey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Objects.
    pub objects: u64,
    /// Those of them that are programs.
    pub programs: u64,
    /// Size of the files in bytes.
    pub file_bytes: u64,
    /// Relocated words.
    pub relocations: u64,
    /// Bytes of the relocation tables.
    pub relocation_bytes: u64,
    /// Objects whose relocations are packed as RELR already.
    pub packed_objects: u64,
    /// Functions that run before `main`.
    pub initialisers: u64,
    /// Pages of 4 KiB that relocation makes private.
    pub private_pages: u64,
    /// Failed probes of programs in root file systems.
    pub failed_probes: u64,
    /// Findings.
    pub findings: u64,
    /// Files that could not be read.
    pub problems: u64,
}

/// What one fix would save.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FixGain {
    /// The fix: a verb of coldstart, options of a linker or compiler, or a change of the source.
    pub fix: String,
    /// Who applies it: `verb`, `linker`, `compiler` or `source`.
    pub by: String,
    /// Findings that it is the best fix of.
    pub findings: u64,
    /// Objects with such a finding.
    pub objects: u64,
    /// Packages with such an object.
    pub packages: u64,
    /// What it would save.
    pub saves: Gain,
}

/// What one package would gain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackageGain {
    /// Its name; none for objects of no package.
    pub package: Option<String>,
    /// Its objects.
    pub objects: u64,
    /// Their size in bytes.
    pub file_bytes: u64,
    /// Modules of interpreters, which an index would answer for.
    pub modules: u64,
    /// What all fixes would save.
    pub saves: Gain,
    /// The fix with the largest part of it.
    pub best_fix: Option<String>,
}

/// Savings, summed over findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Gain {
    /// Bytes no longer stored or read.
    pub bytes: u64,
    /// File pages no longer read, of 4 KiB.
    pub read_pages: u64,
    /// Pages of private memory in each process, of 4 KiB.
    pub private_pages: u64,
    /// Disk requests that do not follow the previous one.
    pub seeks: u64,
    /// Symbol lookups.
    pub lookups: u64,
    /// Failed probes.
    pub probes: u64,
    /// One number to sort by, in bytes; `coldstart inspect` says how it is made.
    pub weight: u64,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Where: source, archive, path.
    pub place: String,
    /// What is wrong.
    pub problem: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_counts_from_one() {
        let part: Part = "2/3".parse().unwrap();
        let has: Vec<u32> = (0..7).filter(|shard| part.has(*shard)).collect();
        assert_eq!(has, [1, 4]);
        for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/2"] {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }
}
