//! What debuggers find: the same lines of source before and after packing.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use super::run::{output, succeed};
use super::toolchain::Machine;

/// Where gdb stops in the fixture of exceptions, and how it came there: through the library and back to the program.
pub(crate) fn backtraces(program: &Path) -> Result<String, String> {
    let mut gdb = Command::new("gdb");
    gdb.env_remove("DEBUGINFOD_URLS").args(["-nx", "-q", "-batch"]);
    for command in [
        "set breakpoint pending on",
        "set startup-with-shell off",
        "set print address off",
        "set print frame-arguments presence",
        "break Square::name",
        "break throws_a_problem",
        "run",
        "bt",
        "continue",
        "bt",
        "print number",
        "up",
        "info source",
    ] {
        gdb.args(["-ex", command]);
    }
    let output = output(gdb.arg(program));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let frames: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with('#') || line.starts_with('$') || line.contains("library.cpp"))
        .collect();
    for wanted in ["Square::name", "throws_a_problem (", "with_callback (", "library.cpp:", "main.cpp:", "$1 = 8"] {
        if !frames.iter().any(|frame| frame.contains(wanted)) {
            return Err(format!("gdb shows no `{wanted}`:\n{text}{}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(frames.join("\n"))
}

/// Function and source line of each address in `addresses`.
pub(crate) fn source_lines(machine: Machine, file: &Path, addresses: &[String]) -> Result<String, String> {
    let mut addr2line = Command::new(machine.binutils("addr2line"));
    addr2line.args(["-C", "-f", "-i", "-e"]).arg(file).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = addr2line.spawn().map_err(|error| format!("{addr2line:?}: {error}"))?;
    // The answers to a few hundred addresses fit into the pipe.
    child.stdin.take().unwrap().write_all(addresses.join("\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() && text.contains("library.c") { Ok(text) } else { Err(format!("{addr2line:?}: {text}")) }
}

/// Addresses of the functions of an object, and some inside of them.
pub(crate) fn code_addresses(machine: Machine, file: &Path) -> Result<Vec<String>, String> {
    let symbols = succeed(Command::new(machine.binutils("nm")).args(["--defined-only", "--numeric-sort"]).arg(file))?;
    let mut addresses = Vec::new();
    for line in symbols.lines() {
        let mut fields = line.split_whitespace();
        let (Some(address), Some("t" | "T" | "W")) = (fields.next(), fields.next()) else { continue };
        let address = u64::from_str_radix(address, 16).unwrap();
        addresses.extend([0, 4, 9].map(|inside| format!("{:#x}", address + inside)));
    }
    Ok(addresses)
}
