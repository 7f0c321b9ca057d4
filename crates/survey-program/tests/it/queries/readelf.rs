//! What `readelf` says of the objects of a tree.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An object.
#[derive(Debug, Default)]
pub(crate) struct Elf {
    /// Below the root.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) machine: String,
    pub(crate) is_program: bool,
    pub(crate) needed: Vec<String>,
    pub(crate) soname: Option<String>,
    pub(crate) run_path: Option<String>,
    pub(crate) build_id: Option<String>,
    /// Of the tables of all three kinds.
    pub(crate) relocation_bytes: u64,
    pub(crate) has_relr: bool,
    pub(crate) has_text_relocations: bool,
    pub(crate) has_symbol_table: bool,
    pub(crate) copy_relocations: u64,
    /// Pages with a word that a relocation changes.
    pub(crate) relocated_pages: BTreeSet<u64>,
}

/// The objects below a directory that `readelf` reads without a complaint, by path.
pub(crate) fn objects(root: &Path) -> Vec<Elf> {
    let mut files = Vec::new();
    collect(root, &mut files);
    files.sort();
    files.iter().filter_map(|file| object(root, file)).collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        match kind.is_dir() {
            true => collect(&entry.path(), files),
            false if kind.is_file() => files.push(entry.path()),
            false => {}
        }
    }
}

fn object(root: &Path, file: &Path) -> Option<Elf> {
    let mut readelf = Command::new("readelf");
    readelf.args(["-hdlnSrW"]).arg(file).env("LC_ALL", "C");
    let output = readelf.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !output.stderr.is_empty() {
        return None;
    }
    let mut elf = Elf {
        path: file.strip_prefix(root).unwrap().to_str().unwrap().to_owned(),
        bytes: file.metadata().unwrap().len(),
        ..Elf::default()
    };
    let mut is_pie = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let named = || line.split_once('[').map(|(_, name)| name.trim_end_matches(']').to_owned());
        if let Some((_, id)) = line.split_once("Build ID: ") {
            elf.build_id = Some(id.trim().to_owned());
        }
        match words[..] {
            ["Machine:", ..] => elf.machine = words[1..].join(" "),
            ["Type:", kind, ..] => elf.is_program = kind == "EXEC",
            [_, "(NEEDED)", ..] => elf.needed.extend(named()),
            [_, "(SONAME)", ..] => elf.soname = named(),
            [_, "(RUNPATH)" | "(RPATH)", ..] => elf.run_path = named(),
            [_, "(TEXTREL)", ..] => elf.has_text_relocations = true,
            [_, "(FLAGS_1)", ..] => is_pie = words.contains(&"PIE"),
            [_, "(RELRSZ)", size, ..] => {
                elf.has_relr = true;
                elf.relocation_bytes += size.parse::<u64>().unwrap();
            }
            [_, "(RELASZ)" | "(RELSZ)" | "(PLTRELSZ)", size, ..] => {
                elf.relocation_bytes += size.parse::<u64>().unwrap();
            }
            [offset, _, kind, ..] if kind.starts_with("R_") => {
                elf.copy_relocations += u64::from(kind.ends_with("_COPY"));
                elf.relocated_pages.insert(u64::from_str_radix(offset, 16).unwrap() >> 12);
            }
            _ if line.contains(" SYMTAB ") => elf.has_symbol_table = true,
            _ => {}
        }
    }
    elf.is_program |= is_pie;
    Some(elf)
}
