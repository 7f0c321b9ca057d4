//! The directories in /etc/ld.so.conf and the files that it includes.

use std::io;
use std::path::PathBuf;

use coldstart_loader::cache::{ConfLine, DirectorySource, RequestedDirectory, read_conf};
use coldstart_profile::pattern::{fits, is_pattern};

use super::{CacheSourceError, as_path};
use crate::Root;

/// Maximum depth of includes; `ldconfig` has no limit but its file descriptors.
const DEEPEST: usize = 16;
/// Maximum number of files read.
const MOST_FILES: usize = 4096;

/// Size limit of a configuration file in bytes.
const MOST_TEXT: u64 = 64 << 20;

/// A line with a relative directory, which `ldconfig` ignores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelativeLine {
    /// The configuration file, as seen from inside the root.
    pub file: PathBuf,
    /// The directory as in the file.
    pub directory: PathBuf,
}

/// The directories of a configuration file and its includes.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// In their order.
    pub(super) directories: Vec<RequestedDirectory>,
    pub(super) relative: Vec<RelativeLine>,
}

/// The directories of a configuration file and its includes; none if the file is missing.
pub(super) fn directories(root: &Root, file: &[u8]) -> Result<Named, CacheSourceError> {
    let mut reading = Reading { root, named: Named::default(), files: 0 };
    reading.read(file, 0)?;
    Ok(reading.named)
}

struct Reading<'a> {
    root: &'a Root,
    named: Named,
    files: usize,
}

impl Reading<'_> {
    fn read(&mut self, file: &[u8], depth: usize) -> Result<(), CacheSourceError> {
        let path = || as_path(file).to_owned();
        self.files += 1;
        if depth > DEEPEST || self.files > MOST_FILES {
            return Err(CacheSourceError::IncludedTooDeep { path: path() });
        }
        let text = match self.root.read(as_path(file), MOST_TEXT) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(CacheSourceError::Read { path: path(), source }),
        };
        for line in read_conf(&text) {
            match line {
                ConfLine::Directory(asked) if asked.path.starts_with(b"/") => self.named.directories.push(asked),
                ConfLine::Directory(asked) => {
                    let directory = as_path(&asked.path).to_owned();
                    self.named.relative.push(RelativeLine { file: path(), directory });
                }
                ConfLine::Ignored(_) => {}
                ConfLine::Include(patterns) => {
                    for pattern in patterns {
                        for included in self.expand(&beside(file, &pattern)) {
                            self.read(&included, depth + 1)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The files that match a pattern, in byte order.
    fn expand(&self, pattern: &[u8]) -> Vec<Vec<u8>> {
        let mut found: Vec<Vec<u8>> = vec![Vec::new()];
        for part in pattern.split(|&byte| byte == b'/').filter(|part| !part.is_empty()) {
            if !is_pattern(part) {
                found.iter_mut().for_each(|path| path.extend([b"/", part].concat()));
                continue;
            }
            let mut next = Vec::new();
            for directory in found {
                let listed = self.root.list(if directory.is_empty() { b"/" } else { &directory }).unwrap_or_default();
                // `*` does not match a leading dot.
                let hidden = part.starts_with(b".");
                let names = listed.into_iter().map(|(name, _)| name);
                let names = names.filter(|name| fits(part, name) && (hidden || !name.starts_with(b".")));
                let mut names: Vec<Vec<u8>> = names.collect();
                names.sort_unstable();
                next.extend(names.into_iter().map(|name| [directory.as_slice(), b"/", &name].concat()));
                if next.len() > MOST_FILES {
                    break;
                }
            }
            found = next;
        }
        if is_pattern(pattern) {
            found.retain(|path| self.root.identity(as_path(path)).is_ok());
        }
        found
    }
}

/// A pattern in a file; relative ones are relative to the file's directory.
fn beside(file: &[u8], pattern: &[u8]) -> Vec<u8> {
    if pattern.starts_with(b"/") {
        return pattern.to_vec();
    }
    let slash = file.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    [file.get(..slash).unwrap_or_default(), b"/", pattern].concat()
}
