//! What the tests share: programs built on the spot, and what readelf says about them.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_testing::{scratch, succeed};
use tempfile::TempDir;

/// An empty folder for what is built; it goes when the test ends.
pub(crate) fn folder() -> TempDir {
    scratch()
}

/// Runs a program that has to succeed, and gives what it printed. Messages are in English.
pub(crate) fn run(command: &mut Command) -> String {
    succeed(command.env("LC_ALL", "C"))
}

/// Compiles and links `source`, which is C, or assembly if `name` ends so (`name.s.o`).
pub(crate) fn build(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let language = if name.ends_with(".s.o") { "assembler" } else { "c" };
    let (input, output) = (folder.join(format!("{name}.source")), folder.join(name));
    std::fs::write(&input, source).unwrap();
    run(Command::new("cc")
        .args(["-x", language])
        .arg(&input)
        .args(["-x", "none"])
        .args(arguments)
        .arg("-o")
        .arg(&output));
    output
}

/// A shared object of C.
pub(crate) fn shared_object(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let arguments: Vec<&str> = ["-shared", "-fPIC", "-O1"].iter().chain(arguments).copied().collect();
    build(folder, name, source, &arguments)
}

/// What `readelf -W` prints. It may fail nevertheless: it does for notes of a kind that it does not know.
pub(crate) fn readelf(arguments: &[&str], file: &Path) -> String {
    let output = Command::new("readelf").env("LC_ALL", "C").arg("-W").args(arguments).arg(file).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What follows `label` in a line, up to white space.
pub(crate) fn after<'text>(line: &'text str, label: &str) -> Option<&'text str> {
    line.split_once(label)?.1.split_whitespace().next()
}
