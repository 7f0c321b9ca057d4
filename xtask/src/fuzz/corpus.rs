//! The corpora: what is kept for each target, as one small archive.
//!
//! Kept is what reaches other code than the seeds, and only small inputs: a fuzzer makes larger ones again within a minute. Of targets
//! that begin with ELF files larger ones are kept as well: they are not made again so soon, and as each differs little from a seed, an
//! archive of 400 of them takes 50 kB.
//! Files with a name that is not a digest are seeds that somebody wrote; they stay.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;
use fs_err as fs;

use super::fuzzer::Fuzzer;
use super::targets::Target;
use crate::cargo::workspace;
use crate::tools::{emptied, run};

/// Bytes of the largest input that is kept.
const LARGEST_INPUT: u64 = 1024;
/// The same of targets that begin with ELF files, of which the largest has 22 kB.
const LARGEST_ELF_FILE: u64 = 32 << 10;
/// Bytes of an archive from which on an input must reach a new line of code, and not only run one more often.
const LARGE_ARCHIVE: u64 = 100_000;

/// What is kept of a corpus.
pub(super) struct Kept {
    pub(super) inputs: usize,
    pub(super) bytes: u64,
}

/// The unpacked corpus of a target.
pub(super) fn directory(target: &Target) -> PathBuf {
    home().join(target.name)
}

fn home() -> PathBuf {
    workspace().join("fuzz/corpus")
}

fn archive(target: &Target) -> PathBuf {
    home().join(format!("{}.tar.xz", target.name))
}

/// Adds what is kept for a target to its corpus.
pub(super) fn unpack(target: &Target) -> Result<()> {
    fs::create_dir_all(directory(target))?;
    if !archive(target).is_file() {
        return Ok(());
    }
    run(Command::new("tar").arg("-xf").arg(archive(target)).arg("-C").arg(home()))
}

/// Leaves a small corpus that reaches the same code, and packs it.
pub(super) fn minimise(fuzzer: &Fuzzer, target: &Target) -> Result<Kept> {
    let found = fuzzer.scratch("found").join(target.name);
    emptied(found.clone())?;
    let largest = if target.seeds().is_some() { LARGEST_ELF_FILE } else { LARGEST_INPUT };
    let mut written = Vec::new();
    for path in files(&directory(target))? {
        if path.file_name().is_some_and(|name| !is_digest(name)) {
            written.push(path);
        } else if fs::metadata(&path)?.len() <= largest {
            fs::copy(&path, found.join(path.file_name().unwrap_or_default()))?;
        }
    }
    let mut kept = merge(fuzzer, target, &written, &found, &[])?;
    if kept.bytes > LARGE_ARCHIVE {
        kept = merge(fuzzer, target, &written, &found, &["-use_counters=0"])?;
    }
    Ok(kept)
}

/// Takes from `found` what the seeds do not reach. libFuzzer adds to the first directory, which so begins with the seeds.
fn merge(fuzzer: &Fuzzer, target: &Target, written: &[PathBuf], found: &Path, options: &[&str]) -> Result<Kept> {
    let merged = emptied(fuzzer.scratch("merged").join(target.name))?;
    let elf_seeds = target.seeds().map(|seeds| files(&seeds)).transpose()?.unwrap_or_default();
    for seed in elf_seeds.iter().chain(written) {
        fs::copy(seed, merged.join(seed.file_name().unwrap_or_default()))?;
    }
    let mut command = fuzzer.command(target);
    command.arg("-merge=1").args(options).arg(&merged).arg(found);
    run(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    let kept = emptied(fuzzer.scratch("kept").join(target.name))?;
    let new = files(&merged)?.into_iter().filter(|path| path.file_name().is_some_and(is_digest));
    let mut inputs = 0_usize;
    for path in new.chain(written.iter().cloned()) {
        fs::copy(&path, kept.join(path.file_name().unwrap_or_default()))?;
        inputs = inputs.saturating_add(1);
    }
    fs::remove_dir_all(directory(target))?;
    fs::create_dir_all(directory(target))?;
    for path in files(&kept)? {
        fs::copy(&path, directory(target).join(path.file_name().unwrap_or_default()))?;
    }
    if inputs == 0 {
        let _ = fs::remove_file(archive(target));
        return Ok(Kept { inputs, bytes: 0 });
    }
    pack(&kept, &archive(target))?;
    Ok(Kept { inputs, bytes: fs::metadata(archive(target))?.len() })
}

/// The same bytes for the same files.
fn pack(directory: &Path, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "-cJf"]);
    tar.arg(archive).arg("-C").arg(directory.parent().unwrap_or(directory));
    tar.arg(directory.file_name().unwrap_or_default());
    // Options for xz of the user's own.
    run(tar.env_remove("XZ_OPT").env_remove("XZ_DEFAULTS"))
}

/// Whether libFuzzer named the file: by its SHA-1.
fn is_digest(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == 40 && name.iter().all(u8::is_ascii_hexdigit)
}

/// The files of a directory, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.is_file());
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_told_from_what_was_found() {
        assert!(is_digest(OsStr::new("da39a3ee5e6b4b0d3255bfef95601890afd80709")));
        assert!(!is_digest(OsStr::new("conf")) && !is_digest(OsStr::new("shared_x86_64.elf")));
    }

    #[test]
    fn the_same_files_give_the_same_archive() {
        let place = tempfile::tempdir().unwrap();
        let corpus = place.path().join("corpus");
        let mut archives = Vec::new();
        for names in [["b", "a"], ["a", "b"]] {
            emptied(corpus.clone()).unwrap();
            names.iter().for_each(|name| std::fs::write(corpus.join(name), name).unwrap());
            let archive = place.path().join("corpus.tar.xz");
            pack(&corpus, &archive).unwrap();
            archives.push(std::fs::read(archive).unwrap());
        }
        assert_eq!(archives[0], archives[1]);
    }
}
