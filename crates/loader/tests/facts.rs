//! What is read of an object is what another reader of ELF files reads of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use coldstart_elf::ElfFile;
use coldstart_loader::{FileSystem, ObjectFacts, Probe};
use common::Files;

#[test]
fn facts_are_those_that_the_object_crate_reads() {
    let files = Files::default();
    let mut compared = 0;
    for folder in ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib"] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let Probe::Object { facts, .. } = files.object(&path) else { continue };
            let bytes = std::fs::read(&path).unwrap();
            let mut ours = ObjectFacts::of(&ElfFile::parse(&bytes).unwrap()).unwrap();
            ours.set_user_id = facts.set_user_id;
            assert_eq!(ours, facts, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 100, "only {compared} objects were there to compare");
}
