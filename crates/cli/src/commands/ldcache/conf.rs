//! The folders that /etc/ld.so.conf names, with the files that it includes.

use std::io;

use anyhow::Context;
use coldstart_loader::cache::{ConfLine, FolderAsked, Folders, read_conf};
use coldstart_profile::pattern::{fits, is_pattern};

use super::root::Root;
use super::shown;
use crate::error::{CliError, HintExt};
use crate::output;

/// Files that include one another are followed this deep; `ldconfig` follows them until it has no descriptors left.
const DEEPEST: usize = 16;
/// Files that are read in all.
const MOST_FILES: usize = 4096;

/// The folders of a configuration file and of what it includes, in their order. A file that is not there names none.
pub(super) fn folders(root: &Root, file: &[u8]) -> Result<Vec<FolderAsked>, CliError> {
    let mut reading = Reading { root, folders: Vec::new(), files: 0 };
    reading.read(file, 0)?;
    Ok(reading.folders)
}

struct Reading<'a> {
    root: &'a Root,
    folders: Vec<FolderAsked>,
    files: usize,
}

impl Reading<'_> {
    fn read(&mut self, file: &[u8], depth: usize) -> Result<(), CliError> {
        self.files += 1;
        if depth > DEEPEST || self.files > MOST_FILES {
            return Err(anyhow::anyhow!("`{}` is included too deep, or by itself", shown(file)))
                .hint(|| "look for `include` lines that lead back to their own file");
        }
        let text = match self.root.read(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", shown(file))).map_err(Into::into);
            }
        };
        for line in read_conf(&text) {
            match line {
                ConfLine::Folder(folder) if folder.path.starts_with(b"/") => self.folders.push(folder),
                ConfLine::Folder(folder) => {
                    let (name, file) = (shown(&folder.path), shown(file));
                    output::note(&format!("`{file}` names the folder `{name}`, which is relative; it is passed over"));
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

    /// The files that fit a pattern, in the order of their names' bytes.
    fn expand(&self, pattern: &[u8]) -> Vec<Vec<u8>> {
        let mut found: Vec<Vec<u8>> = vec![Vec::new()];
        for part in pattern.split(|&byte| byte == b'/').filter(|part| !part.is_empty()) {
            if !is_pattern(part) {
                found.iter_mut().for_each(|path| path.extend([b"/", part].concat()));
                continue;
            }
            let mut next = Vec::new();
            for folder in found {
                let listed = self.root.list(if folder.is_empty() { b"/" } else { &folder }).unwrap_or_default();
                // A star does not stand for a dot at the beginning.
                let hidden = part.starts_with(b".");
                let names = listed.into_iter().map(|(name, _)| name);
                let names = names.filter(|name| fits(part, name) && (hidden || !name.starts_with(b".")));
                let mut names: Vec<Vec<u8>> = names.collect();
                names.sort_unstable();
                next.extend(names.into_iter().map(|name| [folder.as_slice(), b"/", &name].concat()));
                if next.len() > MOST_FILES {
                    break;
                }
            }
            found = next;
        }
        if is_pattern(pattern) {
            found.retain(|path| self.root.identity(path).is_ok());
        }
        found
    }
}

/// A pattern in a file: relative ones count from the file's own folder.
fn beside(file: &[u8], pattern: &[u8]) -> Vec<u8> {
    if pattern.starts_with(b"/") {
        return pattern.to_vec();
    }
    let slash = file.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
    [file.get(..slash).unwrap_or_default(), b"/", pattern].concat()
}
