//! Which programs of a system are asked, and which ELF files it has.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use fs_err as fs;

/// Directories with programs and libraries, on systems with and without merged `/usr`.
const DIRECTORIES: [&str; 7] = ["/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// Programs that are not asked, and why. A jail lets no other do harm, but a trace is taken outside of a PID namespace.
const LEFT_OUT: &[(&str, &str)] = &[
    ("halt", "stops the machine"),
    ("poweroff", "stops the machine"),
    ("reboot", "stops the machine"),
    ("shutdown", "stops the machine"),
    ("systemd-shutdown", "stops the machine"),
    ("telinit", "stops the machine"),
    ("kexec", "starts another kernel"),
    ("killall5", "sends signals to all processes"),
];

/// The ELF files of a system, by their absolute paths in it.
#[derive(Default)]
pub(super) struct Files {
    /// Directories that hold them.
    pub(super) directories: Vec<PathBuf>,
    /// All.
    pub(super) all: Vec<PathBuf>,
    /// Those that are asked.
    pub(super) programs: Vec<PathBuf>,
    /// Those that are not, and why.
    pub(super) left_out: Vec<(PathBuf, &'static str)>,
}

impl Files {
    /// Looks for them below `tree`. A file with several names counts once; what cannot be read is passed over.
    pub(super) fn of(tree: &Path) -> Self {
        let mut files = Self::default();
        let mut seen = BTreeSet::new();
        for directory in DIRECTORIES {
            let below = inside(tree, Path::new(directory));
            if below.is_symlink() || !below.is_dir() {
                continue;
            }
            files.directories.push(directory.into());
            for entry in walkdir::WalkDir::new(below).same_file_system(true).sort_by_file_name() {
                // On a running system files vanish meanwhile.
                let Ok(entry) = entry else { continue };
                let Ok(metadata) = entry.metadata() else { continue };
                if !entry.file_type().is_file() || !seen.insert((metadata.dev(), metadata.ino())) {
                    continue;
                }
                let Ok(beginning) = beginning(entry.path()) else { continue };
                let Ok(path) = entry.path().strip_prefix(tree) else { continue };
                files.add(Path::new("/").join(path), &beginning, metadata.permissions().mode());
            }
        }
        files
    }

    /// Keeps those only that have the text in their paths.
    pub(super) fn keep(&mut self, text: &str) {
        self.all.retain(|path| path.to_string_lossy().contains(text));
        self.programs.retain(|path| path.to_string_lossy().contains(text));
        self.left_out.retain(|(path, _)| path.to_string_lossy().contains(text));
    }

    fn add(&mut self, path: PathBuf, beginning: &[u8], mode: u32) {
        if !beginning.starts_with(b"\x7fELF") {
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The C library is a program, too, and no other library is.
        if mode & 0o111 != 0 && has_interpreter(beginning) && !name.contains(".so") {
            match LEFT_OUT.iter().find(|(left_out, _)| *left_out == name) {
                Some((_, reason)) => self.left_out.push((path.clone(), reason)),
                None => self.programs.push(path.clone()),
            }
        }
        self.all.push(path);
    }
}

/// The place on this machine of a path in the system.
pub(super) fn inside(tree: &Path, path: &Path) -> PathBuf {
    tree.join(path.strip_prefix("/").unwrap_or(path))
}

/// As much of a file as its program headers are in, with every linker there is.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(4096).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a little-endian ELF file names an interpreter (`PT_INTERP`, ELF specification, "Program Header").
fn has_interpreter(file: &[u8]) -> bool {
    let number = |offset: usize, length: usize| {
        let bytes = file.get(offset..offset.checked_add(length)?)?;
        Some(bytes.iter().rev().fold(0_usize, |number, &byte| number << 8 | usize::from(byte)))
    };
    let find = || {
        let (table, size, count) = match file.get(4)? {
            1 => (number(28, 4)?, number(42, 2)?, number(44, 2)?),
            2 => (number(32, 8)?, number(54, 2)?, number(56, 2)?),
            _ => return None,
        };
        let headers = (0..count).map_while(|index| number(table.checked_add(index * size)?, 4));
        Some(headers.into_iter().any(|kind| kind == 3))
    };
    find().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a 64-bit file, and program headers of these kinds.
    fn file(kinds: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 64 + 56 * kinds.len()];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[32], file[54], file[56]) = (64, 56, u8::try_from(kinds.len()).unwrap());
        for (index, kind) in kinds.iter().enumerate() {
            file[64 + 56 * index] = *kind;
        }
        file
    }

    #[test]
    fn programs_have_an_interpreter() {
        assert!(has_interpreter(&file(&[6, 3, 1])));
        assert!(!has_interpreter(&file(&[1, 2])));
        assert!(!has_interpreter(&file(&[6, 3])[..100]));
        let mut far = file(&[3]);
        far[32..40].fill(0xff);
        assert!(!has_interpreter(&far));
    }

    #[test]
    fn libraries_and_dangerous_programs_are_not_asked() {
        let mut files = Files::default();
        for name in ["ls", "libc.so.6", "kexec"] {
            files.add(Path::new("/usr/bin").join(name), &file(&[3]), 0o755);
        }
        files.add("/usr/lib/data".into(), &file(&[3]), 0o644);
        files.add("/usr/bin/static".into(), &file(&[1]), 0o755);
        files.add("/usr/bin/script".into(), b"#!/bin/sh", 0o755);
        assert_eq!(files.programs, [Path::new("/usr/bin/ls")]);
        assert_eq!(files.left_out, [(PathBuf::from("/usr/bin/kexec"), "starts another kernel")]);
        assert_eq!(files.all.len(), 5);
        files.keep("bin/s");
        assert_eq!((files.programs.len(), files.all.len()), (0, 1));
    }

    #[test]
    fn a_tree_is_walked_without_following_links() {
        let tree = tempfile::tempdir().unwrap();
        let bin = tree.path().join("usr/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("one"), file(&[3])).unwrap();
        fs::set_permissions(bin.join("one"), PermissionsExt::from_mode(0o755)).unwrap();
        fs::hard_link(bin.join("one"), bin.join("two")).unwrap();
        std::os::unix::fs::symlink("usr/bin", tree.path().join("bin")).unwrap();
        let files = Files::of(tree.path());
        assert_eq!(files.programs, [Path::new("/usr/bin/one")]);
        assert_eq!(files.directories, [Path::new("/usr")]);
    }
}
