//! Independent readers of ELF files: what they complain about in a packed file they must have said of the original.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::run::output;
use super::toolchain::Machine;

/// A packed file with the file whose complaints are no news: its original, treated alike.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) before: PathBuf,
    pub(crate) after: PathBuf,
}

/// Complaints about packed files that no reader has about their originals.
///
/// llvm-readelf reads all at once: it takes longer to start than all other readers together to read a file, and has
/// nothing to say of most.
pub(crate) fn new_complaints(machine: Machine, pairs: &[Pair]) -> Vec<String> {
    let all = output(llvm_readelf().args(pairs.iter().map(|pair| &pair.after)));
    let ask_llvm = !all.status.success() || !warnings(&all).is_empty();
    let mut new = Vec::new();
    for Pair { before, after } in pairs {
        let mut found = complaints(machine, after, ask_llvm);
        if !found.is_empty() {
            let known = complaints(machine, before, ask_llvm);
            found.retain(|complaint| !known.contains(complaint));
        }
        let place: PathBuf = after.iter().skip(after.iter().count().saturating_sub(2)).collect();
        new.extend(found.into_iter().map(|complaint| format!("{}: {complaint}", place.display())));
    }
    new
}

fn llvm_readelf() -> Command {
    let mut command = Command::new("llvm-readelf");
    command.args(["-h", "-l", "-S", "-d", "-r", "-s", "-V", "-n"]);
    command
}

/// The lines in which a reader complains.
fn warnings(output: &Output) -> Vec<String> {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    // Some of it binutils say on the other side.
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let signs = ["warning:", "error:", "<corrupt", "<unknown"];
    let in_text = stdout.lines().filter(|line| signs.iter().any(|sign| line.to_lowercase().contains(sign)));
    stderr.lines().chain(in_text).map(str::to_owned).collect()
}

/// All complaints about a file, without numbers and its name.
fn complaints(machine: Machine, file: &Path, ask_llvm: bool) -> BTreeSet<String> {
    let mut readelf = Command::new(machine.binutils("readelf"));
    readelf.arg("-aW");
    let mut eu_readelf = Command::new("eu-readelf");
    eu_readelf.args(["-h", "-l", "-S", "-d", "-s", "-V", "-n"]);
    let mut readers = vec![("readelf", readelf), ("eu-readelf", eu_readelf)];
    if ask_llvm {
        readers.push(("llvm-readelf", llvm_readelf()));
    }
    let mut complaints = BTreeSet::new();
    for (name, mut reader) in readers {
        let output = output(reader.arg(file));
        complaints.extend(warnings(&output).iter().map(|line| format!("{name}: {}", without_numbers(line, file))));
        if !output.status.success() {
            complaints.insert(format!("{name} ended with {}", output.status));
        }
    }
    // eu-elflint prints what it finds on its standard output.
    let output = output(Command::new("eu-elflint").arg("--gnu-ld").arg(file));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter(|line| *line != "No errors");
    complaints.extend(lines.map(|line| format!("eu-elflint: {}", without_numbers(line, file))));
    // elfutils before 0.190 take a RELR table for one of REL, no reader knows our note, and `--drop-syment` is asked for.
    // mold says of memory without bytes in the file that it stands at its begin, where a segment has fewer bytes now, and
    // of constants to be merged that they have no size, of which patchelf makes more or fewer.
    let of_mold = ["'.bss' not fully", "'.relro_padding' not fully", "merge flag set but entry size is zero"];
    // Why it cannot read patchelf's notes in mold's files, eu-elflint says with an old error of another call.
    let known: Vec<&str> =
        [".relr.dyn", "coldstart", "SYMENT", "cannot get content of note section"].into_iter().chain(of_mold).collect();
    complaints.retain(|line| known.iter().all(|known| !line.contains(known)));
    complaints
}

/// The text with one sign for each number, so that moved addresses do not make new complaints.
fn without_numbers(line: &str, file: &Path) -> String {
    let line = line.replace(&*file.to_string_lossy(), "FILE");
    let mut text = String::new();
    for word in line.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
        let end = word.len() - word.chars().next_back().map_or(0, |last| usize::from(!last.is_ascii_alphanumeric()));
        text += if is_number { "N" } else { word.get(..end).unwrap_or(word) };
        text += word.get(end..).unwrap_or("");
    }
    text
}
