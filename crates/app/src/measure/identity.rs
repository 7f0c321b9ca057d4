//! The identity of a program, to detect changes in later measurements.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use coldstart_elf::{ElfFile, build_id};
use coldstart_host::script_line::{DEEPEST, ScriptLine};
use coldstart_launch::find_program;
use coldstart_profile::FileIdentity;
use coldstart_profile::measurement::{ProgramIdentity, path_to_text};

use crate::reading::map;

/// The program that a launch of `program` starts; `None` if it cannot be found or read.
pub(super) fn identity_of(program: &OsStr) -> Option<ProgramIdentity> {
    let found = find_program(program, std::env::var_os("PATH").as_deref(), None).ok()?;
    let path = fs::canonicalize(found).ok()?;
    let metadata = fs::metadata(&path).ok()?;
    let size = i64::try_from(metadata.len()).unwrap_or(i64::MAX);
    let file = FileIdentity::from_stat(size, metadata.mtime(), metadata.mtime_nsec());
    let view = map(&path).ok();
    let own = view.as_ref().and_then(|view| build_id_of(view.bytes()));
    let content_hash = match (&own, &view) {
        (None, Some(view)) => Some(blake3::hash(view.bytes()).to_hex().to_string()),
        _ => None,
    };
    let interpreter = view.as_ref().and_then(|view| interpreter(view.bytes()));
    let build_id = own.or_else(|| build_id_of_interpreter(interpreter?));
    Some(ProgramIdentity { path: path_to_text(path.as_os_str().as_bytes()), file, build_id, content_hash })
}

fn build_id_of(bytes: &[u8]) -> Option<String> {
    Some(build_id(&ElfFile::parse(bytes).ok()?)?.to_string())
}

fn build_id_of_interpreter(first: PathBuf) -> Option<String> {
    let mut path = first;
    for _ in 0..DEEPEST {
        let view = map(&path).ok()?;
        match interpreter(view.bytes()) {
            Some(next) => path = next,
            None => return build_id_of(view.bytes()),
        }
    }
    None
}

/// The interpreter after `#!` in a script.
fn interpreter(bytes: &[u8]) -> Option<PathBuf> {
    ScriptLine::parse(bytes).map(|line| line.interpreter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn a_script_is_its_content_and_its_interpreters_build() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let identity = |path: &Path| identity_of(path.as_os_str()).unwrap();
        let shell = identity_of(OsStr::new("sh")).unwrap();
        assert!(shell.build_id.is_some() && shell.content_hash.is_none(), "{shell:?}");
        let first = write("first", "#! /bin/sh -e\ntrue\n");
        assert_eq!(identity(&first).build_id, shell.build_id);
        let second = write("second", "#! /bin/sh -e\nfalse\n");
        assert_ne!(identity(&first).content_hash, identity(&second).content_hash);
        assert!(!identity(&first).is_same_program(&identity(&second)));
        let third = write("third", &format!("#!{} x\n", first.display()));
        assert_eq!(identity(&third).build_id, shell.build_id);
        let circle = write("circle", &format!("#!{}\n", folder.path().join("circle").display()));
        assert_eq!(identity(&circle).build_id, None);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&first, &link).unwrap();
        assert_eq!(identity(&link), identity(&first));
        assert!(identity_of(OsStr::new("no-such-program-anywhere")).is_none());
    }
}
