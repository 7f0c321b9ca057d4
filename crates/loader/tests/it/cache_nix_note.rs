//! The resolution note of Nix, by the expectations of patchelf's own tests (tests/build-resolution-cache-search-hint.sh).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use coldstart_elf::ByteOrder;
use coldstart_loader::nix_note::{NixEntry, NixNote, NixNoteError, NixPlace};
use coldstart_loader::{Class, FileSystem, Identity, ObjectFacts, Probe};

/// Files and folders that are only said to be there.
#[derive(Default)]
struct Said {
    folders: BTreeSet<PathBuf>,
    objects: BTreeMap<PathBuf, Class>,
    forbidden: BTreeSet<PathBuf>,
}

impl FileSystem for Said {
    fn object(&self, path: &Path) -> Probe {
        if self.forbidden.contains(path) {
            return Probe::Absent(io::ErrorKind::PermissionDenied);
        }
        match self.objects.get(path) {
            Some(&class) => {
                Probe::Object { identity: Identity::default(), facts: ObjectFacts { class, ..ObjectFacts::default() } }
            }
            None => Probe::Absent(io::ErrorKind::NotFound),
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.folders.contains(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }
}

fn said() -> Said {
    Said {
        folders: ["/libs", "/hw", "/hw/glibc-hwcaps", "/other", "/narrow"].map(PathBuf::from).into(),
        objects: [
            ("/libs/libfoo.so", Class::Bits64),
            ("/hw/libfoo.so", Class::Bits64),
            ("/other/libfoo.so", Class::Bits64),
            ("/narrow/libfoo.so", Class::Bits32),
        ]
        .map(|(path, class)| (path.into(), class))
        .into(),
        forbidden: BTreeSet::new(),
    }
}

fn descriptor(system: &Said, run_path: &str, needed: &[&str]) -> String {
    let facts = ObjectFacts {
        runpath: Some(run_path.into()),
        needed: needed.iter().map(|name| name.as_bytes().to_vec()).collect(),
        ..ObjectFacts::default()
    };
    String::from_utf8(NixNote::of(&facts, system).descriptor()).unwrap()
}

#[test]
fn directories_that_only_a_start_can_tell_are_hints_in_their_place() {
    let system = said();
    for (run_path, places) in [
        ("$ORIGIN/libs", "?$ORIGIN/libs"),
        ("/hw", "?/hw"),
        (":/libs", "?:=/libs/libfoo.so"),
        ("relative/dir:/libs", "?relative/dir:=/libs/libfoo.so"),
        ("/does-not-exist:/libs", "?/does-not-exist:=/libs/libfoo.so"),
        ("/libs:", "=/libs/libfoo.so:?"),
        ("/libs/libfoo.so:/libs", "?/libs/libfoo.so:=/libs/libfoo.so"),
        ("/libs:/other", "=/libs/libfoo.so:=/other/libfoo.so"),
        ("/narrow:/libs", "=/libs/libfoo.so"),
    ] {
        assert_eq!(descriptor(&system, run_path, &["libfoo.so"]), format!("libfoo.so\0{places}\0\0"), "{run_path}");
    }
}

#[test]
fn names_are_sorted_and_those_that_are_not_searched_are_left_out() {
    let needed = ["libz.so", "libfoo.so", "/libs/libfoo.so", "lib:x.so", "libfoo.so"];
    assert_eq!(descriptor(&said(), "/libs", &needed), "libfoo.so\0=/libs/libfoo.so\0\0");
    assert_eq!(descriptor(&said(), "/none", &needed), "libfoo.so\0?/none\0libz.so\0?/none\0\0");
    assert_eq!(descriptor(&said(), "", &needed), "\0");
    let mut system = said();
    system.forbidden.insert("/other/libfoo.so".into());
    assert_eq!(descriptor(&system, "/other:/libs", &["libfoo.so"]), "libfoo.so\0?/other:=/libs/libfoo.so\0\0");
}

#[test]
fn the_bytes_are_those_of_a_note() {
    let places = vec![NixPlace::Search(b"$ORIGIN".to_vec()), NixPlace::Exact(b"/a/l".to_vec())];
    let note = NixNote { entries: vec![NixEntry { needed: b"l".to_vec(), places }] };
    let mut expected = vec![6, 0, 0, 0, 18, 0, 0, 0, 0xb6, 0x6c, 0xa8, 0x63];
    expected.extend(b"NixOS\0\0\0l\0?$ORIGIN:=/a/l\0\0");
    let size = b"l\0?$ORIGIN:=/a/l\0\0".len();
    expected[4] = u8::try_from(size).unwrap();
    expected.resize(expected.len().next_multiple_of(4), 0);
    assert_eq!(note.to_bytes(ByteOrder::Little), expected);
    assert_eq!(note.to_bytes(ByteOrder::Big)[..12], [0, 0, 0, 6, 0, 0, 0, size as u8, 0x63, 0xa8, 0x6c, 0xb6]);
    assert_eq!(NixNote::parse(&note.descriptor()), Ok(note));
}

#[test]
fn damaged_notes_are_refused() {
    assert_eq!(NixNote::parse(b"").unwrap().entries, []);
    assert_eq!(NixNote::parse(b"\0\0").unwrap().entries, []);
    assert_eq!(NixNote::parse(b"l"), Err(NixNoteError::Text { offset: 0 }));
    assert_eq!(NixNote::parse(b"l\0=/a"), Err(NixNoteError::Text { offset: 2 }));
    assert_eq!(NixNote::parse(b"l\0"), Err(NixNoteError::NoPlaces { offset: 0 }));
    assert_eq!(NixNote::parse(b"l\0\0\0"), Err(NixNoteError::NoPlaces { offset: 0 }));
    assert_eq!(NixNote::parse(b"l\0/a\0\0"), Err(NixNoteError::Place { offset: 2 }));
}
