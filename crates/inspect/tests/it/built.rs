//! What the tests share: small programs built on the spot, and what other tools say about them.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_inspect::Object;
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

/// Compiles and links `source`: C++ if `name` ends with `.cc`, assembly if with `.s.o`, else C.
pub(crate) fn build(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    let (compiler, language) = match name {
        name if name.ends_with(".cc") => ("g++", "c++"),
        name if name.ends_with(".s.o") => ("gcc", "assembler"),
        _ => ("gcc", "c"),
    };
    let (input, output) = (folder.join(format!("{name}.source")), folder.join(name));
    std::fs::write(&input, source).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-O1", "-x", language]).arg(&input).args(["-x", "none"]).args(arguments).arg("-o").arg(&output);
    run(&mut command);
    output
}

/// A shared object of C.
pub(crate) fn shared_object(folder: &Path, name: &str, source: &str, arguments: &[&str]) -> PathBuf {
    build(folder, name, source, &[&["-shared", "-fPIC"], arguments].concat())
}

/// Calls `look` with the object in a file.
pub(crate) fn with_object<T>(path: &Path, look: impl FnOnce(&Object<'_>) -> T) -> T {
    let bytes = std::fs::read(path).unwrap();
    look(&Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap())
}

/// What `readelf -W` prints.
pub(crate) fn readelf(arguments: &[&str], file: &Path) -> String {
    run(Command::new("readelf").arg("-W").args(arguments).arg(file))
}

/// Address, offset in the file and size of a section, all in bytes, as `readelf` prints them.
pub(crate) fn section(file: &Path, name: &str) -> Option<(u64, u64, u64)> {
    let text = readelf(&["--sections"], file);
    let line = text.lines().find(|line| line.split_whitespace().any(|word| word == name))?;
    let mut numbers =
        line.split_once(name)?.1.split_whitespace().skip(1).map(|word| u64::from_str_radix(word, 16).unwrap());
    Some((numbers.next()?, numbers.next()?, numbers.next()?))
}

/// Address of a symbol, as `nm` prints it.
pub(crate) fn address(file: &Path, symbol: &str) -> u64 {
    let text = run(Command::new("nm").arg(file));
    let line =
        text.lines().find(|line| line.ends_with(&format!(" {symbol}"))).unwrap_or_else(|| panic!("{symbol}: {text}"));
    u64::from_str_radix(line.split_whitespace().next().unwrap(), 16).unwrap()
}
