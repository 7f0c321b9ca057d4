//! Whether a file is whole, by what reads it: for outputs that hold times, addresses or random numbers.

use std::path::Path;
use std::process::{Command, Stdio};

/// Why a file is not whole; `None` if it is.
pub(super) fn damage(path: &Path) -> Option<String> {
    // A file of an index is judged with the others.
    if let Some(index) = path.ancestors().find(|above| above.ends_with("index")) {
        return read_by(index, &["index", "check"]);
    }
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    let ends = |end: &str| {
        let text = String::from_utf8_lossy(&bytes);
        (!text.trim_end().ends_with(end)).then(|| format!("it does not end with {end}"))
    };
    if bytes.starts_with(b"SQLite format 3\0") {
        return read_by(path, &["trace", "show"]);
    }
    if bytes.get(1024..1028) == Some(&[0xe2, 0xe1, 0xf5, 0xe0]) {
        return read_by(path, &["image", "verify"]);
    }
    if bytes.starts_with(b"<!doctype html>") || bytes.starts_with(b"<!DOCTYPE html>") {
        return ends("</html>");
    }
    if bytes.starts_with(b"<svg") || bytes.starts_with(b"<?xml") || bytes.starts_with(b"<!--") {
        return ends("</svg>");
    }
    if bytes.starts_with(b"{") {
        return serde_json::from_slice::<serde_json::Value>(&bytes).err().map(|error| error.to_string());
    }
    if bytes.starts_with(b"coldplan") {
        return read_by(path, &["prefetch", "show"]);
    }
    if bytes.starts_with(b"coldpage") {
        return read_by(path, &["pagecache", "restore", "--add"]);
    }
    if bytes.starts_with(b"\x89PNG") {
        return (!bytes.ends_with(b"IEND\xaeB`\x82")).then(|| "its last chunk is missing".to_owned());
    }
    Some(format!("no reader for a file that begins with {:?}", bytes.get(..bytes.len().min(40))))
}

/// What a verb says against a file; `None` if it reads it.
fn read_by(path: &Path, verb: &[&str]) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coldstart"));
    let output = command.args(verb).arg(path).stdin(Stdio::null()).output().unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}
