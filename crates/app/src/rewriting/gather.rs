//! From arguments to the list of files to process.
//!
//! All are collected before the first is written; otherwise the walk would find new files of this run.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_elf::FileKind;
use coldstart_launch::Interrupt;
use coldstart_pagecache::{Walk, WalkOptions};
use rayon::prelude::*;

use crate::observer::Observer;
use crate::reading::kind_of;

/// A file to process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Where it is.
    pub path: PathBuf,
    /// Whether the file itself was given, rather than a directory above it.
    pub is_named: bool,
    /// Its path below a directory for results.
    pub below: PathBuf,
}

impl Task {
    /// A given file.
    pub fn named(path: &Path) -> Self {
        let below = path.file_name().map(PathBuf::from).unwrap_or_default();
        Self { path: path.to_owned(), is_named: true, below }
    }
}

/// The files to process.
#[derive(Debug, Default)]
pub struct Gathered {
    /// The files, in the order of arguments and walks.
    pub tasks: Vec<Task>,
    /// Whether a directory was given.
    pub has_walked: bool,
    /// Number of separate debug files, recognised by name.
    pub debug_files: u64,
}

/// Finds the files: the given ones, of any kind, and the ELF files below directories, each once. Files below `results` are
/// skipped. Errors of walks go to the observer.
pub fn gather(
    targets: &[PathBuf],
    one_file_system: bool,
    results: &[&Path],
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Gathered {
    let results: Vec<PathBuf> = results.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let (directories, files): (Vec<&PathBuf>, Vec<&PathBuf>) = targets.iter().partition(|target| target.is_dir());
    let mut gathered = Gathered { has_walked: !directories.is_empty(), ..Gathered::default() };
    let mut seen = HashSet::new();
    for path in files {
        let task = Task::named(path);
        if !gathered.tasks.contains(&task) {
            seen.extend(identity(path));
            gathered.tasks.push(task);
        }
    }
    observer.begin(None);
    for root in directories {
        let real_root = root.canonicalize().unwrap_or_else(|_| root.clone());
        // With several roots, two may contain files with the same relative path.
        let front = match real_root.file_name() {
            Some(name) if targets.len() > 1 => PathBuf::from(name),
            _ => PathBuf::new(),
        };
        let walk = Walk::new([root.clone()], WalkOptions { one_file_system });
        let is_result = |relative: &Path| {
            let path = real_root.join(relative);
            results.iter().any(|result| path.starts_with(result))
        };
        let found = walk.take_while(|_| interrupt.signal().is_none()).enumerate().par_bridge();
        let found = found.filter_map(|(number, found)| {
            observer.step();
            let path = match found {
                Ok(found) => found.path,
                Err(error) => return Some((number, Err(error))),
            };
            let relative = path.strip_prefix(root).ok()?;
            if is_result(relative) || !matches!(kind_of(&path), Ok(FileKind::Elf)) {
                return None;
            }
            let below = front.join(relative);
            Some((number, Ok(Task { path, is_named: false, below })))
        });
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(number, _)| *number);
        for (_, found) in found {
            match found {
                Err(error) => observer.error(error.into()),
                Ok(task) if task.path.extension().is_some_and(|extension| extension == "debug") => {
                    gathered.debug_files += 1;
                }
                // Within one walk each file comes once.
                Ok(task) if targets.len() > 1 && identity(&task.path).is_some_and(|file| !seen.insert(file)) => {}
                Ok(task) => gathered.tasks.push(task),
            }
        }
    }
    observer.end();
    gathered
}

/// The identity of a file, independent of its name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct NoErrors;

    impl Observer for NoErrors {
        fn error(&self, error: crate::error::AppError) {
            panic!("{}", error.sentence());
        }
    }

    fn elf(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, b"\x7fELF and more").unwrap();
    }

    fn gathered(targets: &[PathBuf], results: &[&Path]) -> Vec<(String, bool)> {
        let interrupt = Interrupt::listen().unwrap();
        let gathered = gather(targets, false, results, &interrupt, &NoErrors);
        gathered.tasks.iter().map(|task| (task.below.display().to_string(), task.is_named)).collect()
    }

    #[test]
    fn a_tree_s_files_keep_their_place_and_come_once() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("root");
        elf(&root.join("a.so"));
        elf(&root.join("deep/b.so"));
        elf(&root.join("deep/b.debug"));
        elf(&root.join("packed/a.so"));
        std::fs::hard_link(root.join("a.so"), root.join("z.so")).unwrap();
        std::os::unix::fs::symlink("a.so", root.join("link.so")).unwrap();
        std::fs::write(root.join("readme"), "no ELF file").unwrap();
        let packed = root.join("packed");
        let walked = |path: &str| (path.to_owned(), false);
        assert_eq!(gathered(std::slice::from_ref(&root), &[&packed]), [walked("a.so"), walked("deep/b.so")]);
        let deep = root.join("deep");
        assert_eq!(
            gathered(&[root.join("a.so"), deep, root.clone()], &[&packed]),
            [("a.so".to_owned(), true), walked("deep/b.so")]
        );
    }
}
