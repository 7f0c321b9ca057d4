//! What the tests of objects share: building small objects, and what readelf and objdump say of them.

use std::collections::BTreeMap;
#[cfg(target_arch = "x86_64")]
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_profile::trace::{FileId, TracedObject};
use coldstart_symbols::{FunctionStarts, ObjectFile, TouchedPages, WantedPages, describe, function_starts};
pub(crate) use coldstart_testing::skip;
use coldstart_testing::{compile, is_there};

/// Builds one C file. `None`, after saying so, where the compiler is not installed.
pub(crate) fn build_with(compiler: &str, folder: &Path, name: &str, source: &str, flags: &[&str]) -> Option<PathBuf> {
    if !is_there(compiler) {
        skip(&format!("{compiler} is not installed"));
        return None;
    }
    Some(compile(compiler, &folder.join(name), source, flags))
}

/// Builds one C file for this machine.
pub(crate) fn build(folder: &Path, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    build_with("gcc", folder, name, source, flags).unwrap()
}

/// What a program prints; it must succeed.
pub(crate) fn output(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).env("LC_ALL", "C").args(arguments).arg(file).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program on a file.
pub(crate) fn run(program: &str, arguments: &[&str], file: &Path) {
    output(program, arguments, file);
}

pub(crate) fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

/// A section as `readelf -SW` prints it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) entry_size: u64,
}

/// Sections that are loaded, take memory and are not empty.
pub(crate) fn sections(file: &Path) -> Vec<Listed> {
    let text = output("readelf", &["-SW"], file);
    let mut found = Vec::new();
    for line in text.lines() {
        let Some((_, rest)) = line.split_once(']').filter(|(number, _)| number.trim_start().starts_with('[')) else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let &[name, _, address, offset, size, entry_size, flags, ..] = fields.as_slice() else { continue };
        let is_flags = flags.chars().all(|letter| letter.is_ascii_alphabetic());
        if is_flags && flags.contains('A') && name != ".tbss" && hex(size) > 0 {
            let (name, entry_size) = (name.to_owned(), hex(entry_size));
            found.push(Listed { name, address: hex(address), offset: hex(offset), size: hex(size), entry_size });
        }
    }
    found.sort_by_key(|section| section.address);
    found
}

/// Names of functions and variables by address, as `readelf -sW` prints them, without versions. With the sizes.
pub(crate) fn symbols(file: &Path) -> BTreeMap<u64, Vec<(String, u64, bool)>> {
    let mut found: BTreeMap<u64, Vec<(String, u64, bool)>> = BTreeMap::new();
    for line in output("readelf", &["-sW"], file).lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[_, value, size, kind, _, _, section, name, ..] = fields.as_slice() else { continue };
        if !["FUNC", "OBJECT", "IFUNC"].contains(&kind) || ["UND", "ABS"].contains(&section) {
            continue;
        }
        let size = size.strip_prefix("0x").map_or_else(|| size.parse().unwrap(), hex);
        let name = name.split('@').next().unwrap().to_owned();
        found.entry(hex(value)).or_default().push((name, size, kind != "OBJECT"));
    }
    found
}

/// The address of a symbol.
pub(crate) fn address_of(file: &Path, name: &str) -> u64 {
    let symbols = symbols(file);
    let found = symbols.iter().find(|(_, names)| names.iter().any(|(known, _, _)| known == name));
    *found.unwrap_or_else(|| panic!("no symbol {name}")).0
}

/// Where instructions begin, as objdump tells, in a part of the code or in all of it.
#[cfg(target_arch = "x86_64")]
pub(crate) fn instructions(file: &Path, part: Option<(u64, u64)>) -> BTreeSet<u64> {
    let mut arguments = vec!["-d".to_owned(), "-z".to_owned(), "-w".to_owned(), "--no-show-raw-insn".to_owned()];
    if let Some((from, to)) = part {
        arguments.extend([format!("--start-address={from:#x}"), format!("--stop-address={to:#x}")]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let text = output("objdump", &arguments, file);
    let address = |line: &str| u64::from_str_radix(line.trim_start().split_once(":\t")?.0, 16).ok();
    text.lines().filter_map(address).collect()
}

pub(crate) fn all_starts(file: &Path) -> FunctionStarts {
    function_starts(&ObjectFile::open(file).unwrap(), &WantedPages::All).unwrap()
}

/// The whole file is touched, and all zero-filled memory.
pub(crate) fn everything(file: &Path) -> TouchedPages {
    let mut touched = TouchedPages::new();
    (0..=fs::metadata(file).unwrap().len() / 4096).for_each(|page| touched.add_file_page(page));
    let object = described(file, &TouchedPages::new());
    for segment in &object.segments {
        let end = segment.address + segment.memory_size;
        (segment.address / 4096..=end / 4096).for_each(|page| touched.add_zero_filled_page(page));
    }
    touched
}

pub(crate) fn described(file: &Path, touched: &TouchedPages) -> TracedObject {
    describe(&ObjectFile::open(file).unwrap(), FileId(7), touched).unwrap()
}

/// The system's own libraries that the tests look at.
pub(crate) fn library(name: &str) -> Option<PathBuf> {
    let found = [format!("/usr/lib/x86_64-linux-gnu/{name}"), format!("/usr/lib/aarch64-linux-gnu/{name}")];
    let found = found.into_iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Takes the section headers away, as `llvm-objcopy --strip-sections` does.
pub(crate) fn without_section_headers(file: &Path, copy: &Path) {
    let mut bytes = fs::read(file).unwrap();
    assert_eq!(bytes[4], 2, "a 64-bit file");
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    fs::write(copy, bytes).unwrap();
}
