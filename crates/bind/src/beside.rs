//! The names of what a program has beside it, unless other paths are given.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::subject::file_name;

/// The link directory of a program: `.NAME.libs` beside it.
pub fn usual_farm(program: &Path) -> PathBuf {
    beside(program, ".libs")
}

/// The auditing library of a program: `.NAME.audit.so` beside it.
pub fn usual_audit_library(program: &Path) -> PathBuf {
    beside(program, ".audit.so")
}

fn beside(program: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(file_name(program));
    name.push(ending);
    program.with_file_name(name)
}
