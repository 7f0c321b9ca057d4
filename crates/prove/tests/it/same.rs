//! The proof against files as distributions ship them: each is the same object as itself.

use crate::scene::libraries;
use coldstart_prove::{Source, prove};

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
