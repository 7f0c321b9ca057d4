//! A glance at an object tells what the whole file tells, or nothing.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_loader::dlopen_notes::dlopen_texts;
use coldstart_loader::{Glance, Identity, Probe};
use proptest::prelude::*;

/// A glance at a file in memory.
fn glance(content: &[u8]) -> Option<Glance> {
    Glance::of(content.len() as u64, |buffer, offset| {
        let rest = content.get(usize::try_from(offset).unwrap()..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    })
}

/// Holds a glance against the whole.
fn compare(content: &[u8], glance: &Glance) {
    let whole = Probe::of_content(content, Identity::default(), false);
    let facts = glance.facts.clone();
    assert_eq!(whole, Probe::Object { identity: Identity::default(), facts });
    let file = ElfFile::parse(content).unwrap();
    assert_eq!(file.header().file_type, glance.file_type);
}

/// A library with everything that is looked at, a note for `dlopen` included.
fn library() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let source = r#"
        __asm__(".pushsection .note.dlopen,\"a\",@note\n.balign 4\n.long 4,1f-0f,0x407c0c0a\n.asciz \"FDO\"\n"
                "0: .asciz \"[{\\\"soname\\\":[\\\"libz.so.1\\\"]}]\"\n1:\n.balign 4\n.popsection");
        int value(void) { return 1; }"#;
    std::fs::write(folder.path().join("a.c"), source).unwrap();
    let arguments =
        ["-shared", "-fPIC", "-nostdlib", "-o", "liba.so", "a.c", "-Wl,-soname,liba.so.1", "-Wl,--no-as-needed"];
    let more = ["-Wl,-rpath,$ORIGIN/lib:/opt/lib", "-Wl,--enable-new-dtags", "-lc", "-lm"];
    let done = Command::new("gcc").args(arguments).args(more).current_dir(folder.path()).status().unwrap();
    assert!(done.success());
    std::fs::read(folder.path().join("liba.so")).unwrap()
}

#[test]
fn a_glance_at_the_system_s_libraries_tells_what_the_whole_tells() {
    let (mut all, mut told, mut calls) = (0, 0, 0);
    for folder in ["/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib", "/usr/lib/libreoffice/program"] {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
        for path in paths.collect::<Vec<PathBuf>>() {
            let Ok(content) = std::fs::read(&path) else { continue };
            let Probe::Object { .. } = Probe::of_content(&content, Identity::default(), false) else { continue };
            let (file, reads) = (File::open(&path).unwrap(), Cell::new(0));
            let read_at = |buffer: &mut [u8], offset| {
                reads.set(reads.get() + 1);
                file.read_at(buffer, offset)
            };
            all += 1;
            if let Some(glance) = Glance::of(content.len() as u64, read_at) {
                compare(&content, &glance);
                let elf = ElfFile::parse(&content).unwrap();
                let whole: Vec<&[u8]> = dlopen_texts(&elf).collect();
                assert_eq!(glance.dlopen_texts, whole, "{}", path.display());
                told += 1;
                calls += reads.get();
            }
        }
    }
    assert!(all >= 100, "only {all} objects were there to compare");
    assert!(told * 100 >= all * 95, "{told} of {all} objects");
    assert!(calls <= told * 4, "{calls} calls for {told} objects");
}

#[test]
fn everything_is_told_of_a_library() {
    let content = library();
    let glance = glance(&content).unwrap();
    compare(&content, &glance);
    assert_eq!(glance.facts.soname.as_deref(), Some(b"liba.so.1".as_slice()));
    assert_eq!(glance.facts.needed, [b"libc.so.6".to_vec(), b"libm.so.6".to_vec()]);
    assert_eq!(glance.facts.runpath.as_deref(), Some(b"$ORIGIN/lib:/opt/lib".as_slice()));
    assert_eq!(glance.dlopen_texts, [br#"[{"soname":["libz.so.1"]}]"#.to_vec()]);
}

#[test]
fn nothing_is_told_of_a_file_that_is_cut_off_or_cannot_be_read() {
    let content = library();
    for size in [0, 3, 16, 63, 64, 100, 1000, 5000, content.len() / 2] {
        if let Some(glance) = glance(&content[..size]) {
            compare(&content[..size], &glance);
        }
        // It was as long as that a moment ago.
        let read_at = |buffer: &mut [u8], offset: u64| {
            let rest = content[..size].get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        };
        assert_eq!(Glance::of(content.len() as u64, read_at), None, "{size}");
    }
    assert_eq!(Glance::of(content.len() as u64, |_, _| Err(io::ErrorKind::Other.into())), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn a_glance_at_a_damaged_library_tells_what_the_whole_tells(
        headers in prop::collection::vec((0_usize..0x400, any::<u8>()), 0..4),
        table in prop::collection::vec((0_usize..0x200, any::<u8>()), 0..4),
        cut in prop::option::of(0_usize..20_000),
    ) {
        thread_local! {
            static LIBRARY: Vec<u8> = library();
        }
        let mut content = LIBRARY.with(Vec::clone);
        let dynamic = ElfFile::parse(&content).unwrap().dynamic().unwrap().unwrap().file_offset().0;
        headers.iter().for_each(|&(place, value)| content[place] = value);
        table.iter().for_each(|&(place, value)| content[usize::try_from(dynamic).unwrap() + place] = value);
        content.truncate(cut.unwrap_or(usize::MAX));
        if let Some(glance) = glance(&content) {
            compare(&content, &glance);
        }
    }
}
