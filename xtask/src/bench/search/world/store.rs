//! A real program of this machine laid out as Nix, Guix and Spack do it: `PREFIX/HASH-package-version/lib`, and each
//! object's RUNPATH lists the directories of what it needs directly.
//!
//! Not obvious: glibc's own package stays as it is. Its libraries are loaded by the system's loader, which
//! must be of the very same build, and a RUNPATH in them would say nothing, as they need only each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::super::binding::{loaded, successful};
use super::super::calls::is_library;
use super::packages::{Package, files, owners};
use crate::bench::runner::words;
use crate::bench::workshop::{Workshop, text};

/// The library by which glibc's package is known.
const LIBC: &str = "libc.so.6";

/// What stands there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::bench) struct Store {
    /// The program, seen from the prefix.
    pub(in crate::bench) program: PathBuf,
    /// Libraries that are loaded with it.
    pub(in crate::bench) loaded: usize,
    /// Objects: the program and all libraries of the packages that take part.
    pub(in crate::bench) objects: usize,
    /// Directories of libraries.
    pub(in crate::bench) directories: usize,
    /// Directories on the RUNPATHs, added up over the objects.
    pub(in crate::bench) runpath_entries: usize,
}

/// Builds the store of `program` below `directory`, to be found at `prefix` when it is used: the same, unless the directory is
/// made into a disk that is mounted elsewhere.
///
/// # Errors
/// When a tool is missing or fails, or a library belongs to no package.
pub(in crate::bench) fn build(workshop: &Workshop, program: &Path, directory: &Path, prefix: &Path) -> Result<Store> {
    let libraries = loaded(workshop, program)?;
    let mut real = vec![fs::canonicalize(program)?];
    for (_, path) in &libraries {
        real.push(fs::canonicalize(path)?);
    }
    let owners = owners(workshop, &real)?;
    let (own, owners) = owners.split_first().context("a program of no package")?;
    let mut layout = Layout::default();
    for (((name, _), real), package) in libraries.iter().zip(real.iter().skip(1)).zip(owners) {
        let home = real.parent().context("a library without a directory")?;
        let place = directory.join(directory_name(package)).join("lib");
        layout.take(workshop, package, home, &place)?;
        layout.find(name, real, &place)?;
    }
    let inside = Path::new(&directory_name(own)).join("bin").join(program.file_name().context("no name")?);
    let copy = directory.join(&inside);
    fs::create_dir_all(copy.parent().context("no directory")?)?;
    fs::copy(program, &copy)?;
    layout.objects.push(copy);
    let libc = layout.places.get(LIBC).context("a program without libc.so.6")?.clone();
    let mut runpath_entries = 0;
    for (object, needed) in needed(workshop, &layout.objects)? {
        if object.parent() == Some(&libc) {
            continue;
        }
        let runpath = layout.runpath(&needed, directory, prefix)?;
        if !runpath.is_empty() {
            runpath_entries += runpath.len();
            let set = words(["patchelf", "--set-rpath", &runpath.join(":"), &text(&object)]);
            successful(workshop, &set)?;
        }
    }
    Ok(Store {
        program: prefix.join(inside),
        loaded: libraries.len(),
        objects: layout.objects.len(),
        directories: layout.taken.len(),
        runpath_entries,
    })
}

/// What lies where while the store grows.
#[derive(Default)]
struct Layout {
    /// The directory of each library's name, links included.
    places: BTreeMap<String, PathBuf>,
    /// Directories that have been filled, with the directories they were filled from.
    taken: BTreeSet<(PathBuf, PathBuf)>,
    /// Regular files.
    objects: Vec<PathBuf>,
}

impl Layout {
    /// Copies the libraries that a package has in `home` to `place`, links as links.
    fn take(&mut self, workshop: &Workshop, package: &Package, home: &Path, place: &Path) -> Result<()> {
        if !self.taken.insert((place.to_owned(), home.to_owned())) {
            return Ok(());
        }
        fs::create_dir_all(place)?;
        for file in files(workshop, package)? {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let directory = file.parent().and_then(|directory| fs::canonicalize(directory).ok());
            if !is_library(&name) || directory.as_deref() != Some(home) {
                continue;
            }
            let copy = place.join(&name);
            if copy.symlink_metadata().is_ok() {
                continue;
            }
            match fs::read_link(&file) {
                // Only within the directory; a link to elsewhere would leave the store.
                Ok(target) if target.components().count() == 1 => std::os::unix::fs::symlink(target, &copy)?,
                Ok(_) => continue,
                Err(_) if is_object(&file) => {
                    fs::copy(&file, &copy)?;
                    self.objects.push(copy);
                }
                // A script for the linker.
                Err(_) => continue,
            }
            self.places.insert(name, place.to_owned());
        }
        Ok(())
    }

    /// Sees to it that a library is found by its name: links that only ldconfig made belong to no package.
    fn find(&mut self, name: &str, real: &Path, place: &Path) -> Result<()> {
        let file = real.file_name().context("a library without a name")?;
        ensure!(place.join(file).exists(), "{} did not come with its package", real.display());
        if !place.join(name).exists() {
            std::os::unix::fs::symlink(file, place.join(name))?;
        }
        self.places.insert(name.to_owned(), place.to_owned());
        Ok(())
    }

    /// The directories of what an object needs, each once, in the order of need. What is not in the store is left to the
    /// system's directories.
    fn runpath(&self, needed: &[String], directory: &Path, prefix: &Path) -> Result<Vec<String>> {
        let mut runpath = Vec::new();
        for place in needed.iter().filter_map(|name| self.places.get(name)) {
            let entry = text(&prefix.join(place.strip_prefix(directory)?));
            if !runpath.contains(&entry) {
                runpath.push(entry);
            }
        }
        Ok(runpath)
    }
}

/// Whether a file begins as ELF files do.
fn is_object(file: &Path) -> bool {
    let mut magic = [0; 4];
    let read = fs::File::open(file).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut magic));
    read.is_ok() && magic == *b"\x7fELF"
}

/// `HASH-package-version`: 32 letters as in Nix, the same for the same package each time.
fn directory_name(package: &Package) -> String {
    let name = package.name.split(':').next().unwrap_or_default();
    format!(
        "{:032x}-{name}-{}",
        fnv(&format!("{} {}", package.name, package.version)),
        package.version.replace(':', "_")
    )
}

/// FNV-1a of 128 bits (Fowler, Noll, Vo): the directories only need names that differ.
fn fnv(text: &str) -> u128 {
    let basis = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
    text.bytes().fold(basis, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul((1 << 88) + 0x13b))
}

/// What each object needs, in its own order.
fn needed(workshop: &Workshop, objects: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<String>)>> {
    let mut command = words(["readelf", "--dynamic", "--wide"]);
    command.extend(objects.iter().map(|object| text(object)));
    Ok(by_object(&successful(workshop, &command)?))
}

/// Of several files readelf names each before its table.
fn by_object(printed: &str) -> Vec<(PathBuf, Vec<String>)> {
    let mut objects: Vec<(PathBuf, Vec<String>)> = Vec::new();
    for line in printed.lines() {
        if let Some(object) = line.strip_prefix("File: ") {
            objects.push((PathBuf::from(object), Vec::new()));
        } else if line.contains("(NEEDED)")
            && let Some((_, names)) = objects.last_mut()
            && let Some((_, name)) = line.rsplit_once('[')
        {
            names.push(name.trim_end_matches(']').to_owned());
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_stay_the_same_and_hold_no_colon() {
        let package = |version: &str| Package { name: "zlib1g:amd64".into(), version: version.into() };
        let name = directory_name(&package("1:1.2.13.dfsg-1"));
        assert_eq!(name, directory_name(&package("1:1.2.13.dfsg-1")));
        assert!(name.ends_with("-zlib1g-1_1.2.13.dfsg-1") && name.len() == 32 + 23, "{name}");
        assert_ne!(name.get(..32), directory_name(&package("2")).get(..32));
        // The algorithm's own test vectors.
        assert_eq!(fnv(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn tables_of_several_files_are_told_apart() {
        let printed = "\nFile: /a\n\nDynamic section at offset 0x1 contains 2 entries:\n  Tag        Type                         Name/Value\n 0x0000000000000001 (NEEDED)             Shared library: [libm.so.6]\n 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]\n 0x000000000000000e (SONAME)             Library soname: [a]\n\nFile: /b\n\nThere is no dynamic section in this file.\n";
        let expected: Vec<(PathBuf, Vec<String>)> =
            vec![("/a".into(), vec!["libm.so.6".into(), "libc.so.6".into()]), ("/b".into(), vec![])];
        assert_eq!(by_object(printed), expected);
    }

    #[test]
    fn a_runpath_names_each_directory_once_from_the_prefix() {
        let mut layout = Layout::default();
        for (name, place) in [("b.so", "/w/2/lib"), ("a.so", "/w/1/lib"), ("c.so", "/w/2/lib")] {
            layout.places.insert(name.into(), place.into());
        }
        let needed = ["b.so", "x.so", "a.so", "c.so"].map(str::to_owned);
        let runpath = layout.runpath(&needed, Path::new("/w"), Path::new("/mnt/p")).unwrap();
        assert_eq!(runpath, ["/mnt/p/2/lib", "/mnt/p/1/lib"]);
    }
}
