//! Small libraries and trees of them, and conversations about them.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) use coldstart_testing::{scratch, skip, succeed};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

pub(crate) fn coldstart(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    command.current_dir(directory).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Its exit code, what it printed, and what it said besides.
pub(crate) fn said(directory: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = coldstart(directory, arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    let is_text = !arguments.contains(&"--json");
    for line in stdout.lines().filter(|_| is_text) {
        assert!(line.width() <= 100 && line.trim_end() == line, "{arguments:?}: {line:?}");
    }
    (output.status.code().expect("it ends by itself"), stdout, stderr)
}

/// What it prints; it must have succeeded.
pub(crate) fn done(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = said(directory, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stdout}{stderr}");
    stdout
}

/// The whole conversation, with what differs between machines and runs replaced.
pub(crate) fn conversation(directory: &Path, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = said(directory, arguments);
    // In words, because figures are replaced.
    let code = ["zero", "one", "two"][code as usize];
    format!("$ coldstart {}\nexit: {code}\n--- stdout\n{stdout}--- stderr\n{stderr}", arguments.join(" "))
}

pub(crate) fn steady(check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"[0-9a-f]{64}", "[DIGEST]");
    settings.add_filter(r"\d+(\.\d+)? (ms|s)\b", "[TIME]");
    settings.add_filter(r"\b(\d{1,3}( \d{3})+|\d+(\.\d)?)( [kM]?B)?\b( %)?", "[N]");
    // Where lines break depends on the figures in them.
    settings.add_filter(r"\n {13,}", " ");
    settings.add_filter(r" {2,}", "  ");
    settings.bind(check);
}

pub(crate) fn json(directory: &Path, arguments: &[&str]) -> (i32, Value) {
    let (code, stdout, _) = said(directory, arguments);
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}")))
}

/// Compiles C with more options.
pub(crate) fn compile(path: &Path, source: &str, options: &[&str]) -> PathBuf {
    coldstart_testing::compile("gcc", path, source, &[&["-O1", "-fPIC"], options].concat())
}

pub(crate) const UNPACKED: &str = "-Wl,-z,nopack-relative-relocs";

/// A library with a table of pointers, which are relative relocations: 6000 of them are 144 kB of 64-bit records.
pub(crate) fn library(path: &Path, pointers: usize) -> PathBuf {
    library_by(path, pointers, &[])
}

/// Such a library, compiled and linked with more options.
pub(crate) fn library_by(path: &Path, pointers: usize, options: &[&str]) -> PathBuf {
    let table: String = (0..pointers).map(|number| format!("&words[{number}],")).collect();
    let source = format!(
        "#include <stdlib.h>\nstatic int words[{pointers}];\nint *table[] = {{ {table} }};\n\
         int *at(int place) {{ return place < 0 ? malloc(4) : table[place]; }}\n"
    );
    compile(path, &source, &[&["-shared", UNPACKED], options].concat())
}

pub(crate) const POINTERS: usize = 6000;

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn is_packed(path: &Path) -> bool {
    let output = Command::new("readelf").arg("-dW").arg(path).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("(RELR)")
}

/// All files below a directory, by their relative paths.
pub(crate) fn files_below(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                directories.push(path);
            } else {
                files.push(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

/// A tree with two files to pack, one that needs nothing, one that is refused, and some of no concern.
pub(crate) fn tree(root: &Path) {
    library(&root.join("lib/liba.so.1"), POINTERS);
    library(&root.join("lib/deep/libb.so"), 2 * POINTERS);
    compile(&root.join("lib/none.so"), "int x;", &["-shared", "-nostdlib", UNPACKED]);
    compile(&root.join("bin/static"), "int main(void) { return 0; }", &["-static"]);
    std::fs::copy(root.join("lib/liba.so.1"), root.join("lib/liba.so.1.debug")).unwrap();
    std::fs::hard_link(root.join("lib/liba.so.1"), root.join("lib/same.so")).unwrap();
    symlink("liba.so.1", root.join("lib/liba.so")).unwrap();
    std::fs::write(root.join("lib/readme"), "text").unwrap();
}
