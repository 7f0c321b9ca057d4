//! The Debian package of a file, according to dpkg.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::binding::successful;
use crate::bench::runner::words;
use crate::bench::workshop::{Workshop, text};

/// A package by its full name, with its architecture where Debian has several beside each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench::search) struct Package {
    pub(in crate::bench::search) name: String,
    pub(in crate::bench::search) version: String,
}

/// The package of each file. The files must be real ones, no links.
///
/// # Errors
/// When dpkg fails, or one belongs to no package.
pub(in crate::bench::search) fn owners(workshop: &Workshop, files: &[PathBuf]) -> Result<Vec<Package>> {
    // dpkg knows a file by the path that its package names it with, which may be without /usr (hier(7), merged /usr).
    let mut query = words(["dpkg-query", "--search"]);
    query.extend(files.iter().flat_map(|file| [text(file), text(&without_usr(file))]));
    // 1: some of them are not known, and half of the names never are.
    let found = workshop.runner.said(&query)?.stdout;
    let owners = owned(&found);
    let names: Vec<String> = files
        .iter()
        .map(|file| {
            let owner = owners.get(file.as_path()).or_else(|| owners.get(without_usr(file).as_path()));
            owner.map(|&name| name.to_owned()).with_context(|| format!("{} belongs to no package", file.display()))
        })
        .collect::<Result<_>>()?;
    let mut query = words(["dpkg-query", "--show", "--showformat", "${binary:Package} ${Version}\\n"]);
    query.extend(names.iter().cloned());
    let shown = successful(workshop, &query)?;
    let versions: BTreeMap<&str, &str> = shown.lines().filter_map(|line| line.split_once(' ')).collect();
    let package = |name: String| {
        let version = versions.get(name.as_str()).with_context(|| format!("{name} has no version"))?;
        Ok(Package { version: (*version).to_owned(), name })
    };
    names.into_iter().map(package).collect()
}

/// All files of a package.
///
/// # Errors
/// When dpkg fails.
pub(in crate::bench::search) fn files(workshop: &Workshop, package: &Package) -> Result<Vec<PathBuf>> {
    let listed = successful(workshop, &words(["dpkg-query", "--listfiles", &package.name]))?;
    Ok(listed.lines().map(PathBuf::from).collect())
}

/// Package by path, of lines such as `zlib1g:amd64: /lib/x86_64-linux-gnu/libz.so.1.2.13`.
fn owned(found: &str) -> BTreeMap<&Path, &str> {
    let lines = found.lines().filter(|line| !line.starts_with("diversion by "));
    let pairs = lines.filter_map(|line| line.split_once(": /").map(|(packages, _)| (packages, line)));
    pairs
        .filter_map(|(packages, line)| {
            // Several packages may share a file; the first will do.
            let first = packages.split(", ").next()?;
            Some((Path::new(line.get(packages.len() + 2..)?), first))
        })
        .collect()
}

fn without_usr(file: &Path) -> PathBuf {
    file.strip_prefix("/usr").map_or_else(|_| file.to_owned(), |rest| Path::new("/").join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_read() {
        let found = "\
zlib1g:amd64: /lib/x86_64-linux-gnu/libz.so.1.2.13
diversion by dash from: /bin/sh
libc6:amd64, libc6:i386: /usr/lib/a.so
";
        let owners = owned(found);
        assert_eq!(owners.get(Path::new("/lib/x86_64-linux-gnu/libz.so.1.2.13")), Some(&"zlib1g:amd64"));
        assert_eq!(owners.get(Path::new("/usr/lib/a.so")), Some(&"libc6:amd64"));
        assert_eq!(owners.len(), 2);
        assert_eq!(without_usr(Path::new("/usr/lib/a")), Path::new("/lib/a"));
    }
}
