//! A small root directory in which one program starts: copies of the files that a start uses, under their names.
//!
//! Not obvious: names matter as much as files. A library is found through `/lib -> usr/lib` and `libz.so.1 -> libz.so.1.3`, so
//! each link on the way to a file is made anew, and leads inside the new root to a copy of what it leads to here.

use std::collections::BTreeSet;
use std::fs::FileType;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, ensure};
use coldstart_host::script_line::{LENGTH, ScriptLine};
use fs_err as fs;

/// Links followed for one name, as the kernel allows (path_resolution(7)).
const MOST_LINKS: u32 = 40;
/// What a demonstration may copy.
const MOST_BYTES: u64 = 3 << 30;
/// Made by the kernel, or by the bed, in every root.
const NOT_COPIED: [&str; 5] = ["/proc", "/sys", "/dev", "/tmp", "/run"];
/// Not opened by name by any program, but by the kernel for it.
const FOR_THE_KERNEL: [&str; 6] = [
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
    "/lib/ld-musl-x86_64.so.1",
    "/lib/ld-musl-aarch64.so.1",
    "/bin/sh",
    "/usr/bin/env",
];

/// A root that grows.
pub(super) struct Tree {
    root: PathBuf,
    /// Names that are there: copied, linked, or made as a directory.
    made: BTreeSet<PathBuf>,
    /// Bytes of the files copied.
    pub(super) bytes: u64,
    /// The number of files copied.
    pub(super) files: u64,
}

impl Tree {
    /// An empty root at `root`, where an earlier one is removed. Only its owner may look into it: copies of private files may be in it.
    pub(super) fn new(root: PathBuf) -> Result<Self> {
        remove(&root)?;
        fs::create_dir(&root)?;
        fs::set_permissions(&root, std::fs::Permissions::from_mode(0o700))?;
        let mut tree = Self { root, made: BTreeSet::new(), bytes: 0, files: 0 };
        for directory in NOT_COPIED {
            tree.make_directory(Path::new(directory), 0o755)?;
        }
        // Bare roots have these links, and programs name files through them.
        for name in ["/bin", "/sbin", "/lib", "/lib32", "/lib64"].into_iter().chain(FOR_THE_KERNEL) {
            tree.add(Path::new(name))?;
        }
        Ok(tree)
    }

    /// Copies the file of this name with all links that lead to it; makes a directory an empty one. Missing files, and those of the
    /// kernel's own file systems, are no errors: a program that started without them will again.
    ///
    /// # Errors
    /// When something cannot be read or written.
    pub(super) fn add(&mut self, name: &Path) -> Result<()> {
        let mut links_left = MOST_LINKS;
        // Components still to come, the next one last.
        let mut to_come: Vec<PathBuf> = parts(name);
        let mut at = PathBuf::from("/");
        while let Some(part) = to_come.pop() {
            if part.as_os_str() == ".." {
                at.pop();
                continue;
            }
            let path = at.join(&part);
            if NOT_COPIED.iter().any(|kernels| path.starts_with(kernels)) {
                return Ok(());
            }
            let metadata = match std::fs::symlink_metadata(&path) {
                Err(error) if is_absence(&error) => return Ok(()),
                other => other.with_context(|| format!("cannot look at {}", path.display()))?,
            };
            if metadata.is_symlink() {
                let target = fs::read_link(&path)?;
                if self.made.insert(path.clone()) {
                    fs_err::os::unix::fs::symlink(&target, self.inside(&path))?;
                }
                let Some(left) = links_left.checked_sub(1) else { return Ok(()) };
                links_left = left;
                to_come.extend(parts(&target));
                if target.is_absolute() {
                    at = PathBuf::from("/");
                }
                continue;
            }
            if metadata.is_dir() {
                self.make_directory(&path, metadata.mode() & 0o7777)?;
                at = path;
                continue;
            }
            return self.copy(&path, metadata.file_type(), metadata.len());
        }
        Ok(())
    }

    /// Copies all files below a directory.
    ///
    /// # Errors
    /// As [`Tree::add`].
    pub(super) fn add_below(&mut self, directory: &Path) -> Result<()> {
        for entry in walkdir::WalkDir::new(directory).into_iter().filter_map(Result::ok) {
            self.add(entry.path())?;
        }
        Ok(())
    }

    /// The place outside of a name inside.
    pub(super) fn inside(&self, name: &Path) -> PathBuf {
        self.root.join(name.strip_prefix("/").unwrap_or(name))
    }

    /// The root's own place.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Makes a directory and those above it.
    pub(super) fn make_directory(&mut self, path: &Path, mode: u32) -> Result<()> {
        if self.made.insert(path.to_owned()) {
            let inside = self.inside(path);
            fs::create_dir_all(&inside)?;
            // What a program may not write here, it may not there; but we must.
            fs::set_permissions(&inside, std::fs::Permissions::from_mode(mode | 0o700))?;
        }
        Ok(())
    }

    fn copy(&mut self, path: &Path, kind: FileType, length: u64) -> Result<()> {
        // Sockets and pipes are of running programs.
        if !kind.is_file() || kind.is_socket() || !self.made.insert(path.to_owned()) {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(length);
        self.files += 1;
        ensure!(
            self.bytes < MOST_BYTES,
            "the files of a start take more than {} GB\nhint: cargo xtask demo PROGRAM, of a smaller one",
            MOST_BYTES >> 30
        );
        fs::copy(path, self.inside(path))?;
        self.add_interpreter(path)
    }

    /// A script's interpreter, which the kernel opens.
    fn add_interpreter(&mut self, path: &Path) -> Result<()> {
        let mut beginning = Vec::new();
        fs::File::open(path)?.take(LENGTH as u64).read_to_end(&mut beginning)?;
        ScriptLine::parse(&beginning).map_or(Ok(()), |line| self.add(&line.interpreter))
    }
}

/// A path's components that are names or `..`, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    let mut parts: Vec<PathBuf> = named.map(|part| PathBuf::from(part.as_os_str())).collect();
    parts.reverse();
    parts
}

fn is_absence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied)
}

/// Removes a tree or a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = match std::fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Not below `/tmp`, which is never copied.
    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir_in("/var/tmp").unwrap()
    }

    #[test]
    fn links_on_the_way_are_made_and_what_they_lead_to_is_copied() {
        let there = scratch();
        let real = there.path().join("real dir");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(real.join("libz.so.1.3"), "z").unwrap();
        symlink("libz.so.1.3", real.join("libz.so.1")).unwrap();
        symlink("real dir", there.path().join("lib")).unwrap();
        symlink(there.path().join("lib/../lib/libz.so.1"), there.path().join("way")).unwrap();
        symlink("round", there.path().join("round")).unwrap();

        let home = tempfile::tempdir().unwrap();
        let mut tree = Tree::new(home.path().join("root")).unwrap();
        let before = tree.files;
        tree.add(&there.path().join("way")).unwrap();
        tree.add(&there.path().join("way")).unwrap();
        tree.add(&there.path().join("round")).unwrap();
        tree.add(&there.path().join("missing/file")).unwrap();
        assert_eq!(tree.files, before + 1);
        assert_eq!(std::fs::read(tree.inside(&real.join("libz.so.1.3"))).unwrap(), b"z");
        let links = [there.path().join("way"), there.path().join("lib"), real.join("libz.so.1")];
        for link in links {
            assert_eq!(std::fs::read_link(tree.inside(&link)).unwrap(), std::fs::read_link(&link).unwrap());
        }
    }

    #[test]
    fn a_shell_script_starts_in_a_root_of_its_own_parts() {
        let home = tempfile::tempdir().unwrap();
        let tree = Tree::new(home.path().join("root")).unwrap();
        assert!(tree.inside(Path::new("/bin/sh")).exists() || std::fs::symlink_metadata("/bin").unwrap().is_symlink());
        assert!(tree.inside(Path::new("/tmp")).is_dir() && tree.bytes > 0);
        assert_eq!(std::fs::read_dir(tree.inside(Path::new("/proc"))).unwrap().count(), 0);
    }
}
