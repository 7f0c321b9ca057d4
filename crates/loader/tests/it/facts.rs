//! What is read of an object is what another reader of ELF files reads of it.

use coldstart_elf::{ElfError, ElfFile};
use coldstart_loader::{FileSystem, ObjectFacts, Probe};
use coldstart_testing::library_that_needs;

use crate::common::{Files, read_facts};

#[test]
fn facts_are_those_that_the_object_crate_reads() {
    let files = Files::default();
    let mut compared = 0;
    for folder in ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib"] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
            let Probe::Object { identity, facts } = files.object(&path) else { continue };
            let bytes = std::fs::read(&path).unwrap();
            let ours = ObjectFacts::of(&ElfFile::parse(&bytes).unwrap()).unwrap();
            assert_eq!(ours, read_facts(&path, bytes[4]), "{}", path.display());
            let content = Probe::of_content(&bytes, identity, facts.set_user_id);
            let facts = ObjectFacts { set_user_id: facts.set_user_id, ..ours };
            assert_eq!(content, Probe::Object { identity, facts }, "{}", path.display());
            compared += 1;
        }
    }
    assert!(compared >= 100, "only {compared} objects were there to compare");
}

#[test]
fn names_that_share_their_bytes_do_not_take_more_memory_than_the_file() {
    let few = library_that_needs(b"libc.so.6", 3);
    let facts = ObjectFacts::of(&ElfFile::parse(&few).unwrap()).unwrap();
    assert_eq!(facts.needed, [b"libc.so.6"; 3]);
    // 64 GB, of a file of 2 MB.
    let many = library_that_needs(&vec![b'x'; 1 << 20], 1 << 16);
    assert_eq!(ObjectFacts::of(&ElfFile::parse(&many).unwrap()), Err(ElfError::OverlappingNames));
}
