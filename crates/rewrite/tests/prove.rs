//! The proof against files as distributions ship them: each is the same object as itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use coldstart_rewrite::{Source, prove};

/// Shared libraries of this machine, an even selection of `count`.
fn libraries(count: usize) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_string_lossy().contains(".so") && path.is_file() && !path.is_symlink())
        .collect();
    found.sort();
    let step = (found.len() / count).max(1);
    found.into_iter().step_by(step).collect()
}

#[test]
fn every_library_is_the_same_object_as_itself() {
    let count = std::env::var("COLDSTART_PROVE_LIBRARIES").ok().and_then(|count| count.parse().ok()).unwrap_or(200);
    let (mut proven, mut bytes) = (0, 0);
    let mut failed = Vec::new();
    for path in libraries(count) {
        let file = std::fs::read(&path).unwrap();
        if !file.starts_with(b"\x7fELF") {
            continue;
        }
        match prove(Source::in_memory(&file), Source::in_memory(&file)) {
            Ok(proof) => {
                assert_eq!(proof.bytes_freed, 0);
                assert!(proof.redundant_entries.is_empty() && proof.moved_sections.is_empty());
                proven += 1;
                bytes += proof.memory_bytes;
            }
            Err(error) => failed.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), failed.len() + proven, failed.join("\n"));
    assert!(proven > 20 && bytes > 1_000_000, "{proven} files, {bytes} bytes");
}
