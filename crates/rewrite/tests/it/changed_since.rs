//! Files that were changed after they had been rewritten: none is restored as if nothing had happened, and what changed is
//! named.

use std::process::Command;

use crate::rewritten_scene::{Rewritten, bound, packed, restored};
use crate::scene::Elf;
use coldstart_elf::ElfFile;
use coldstart_prove::{Source, prove_identity};
use coldstart_rewrite::{Change, ChangedFile, ChangedPart, Identity, PackOptions, identify};
use proptest::prelude::*;
use proptest::sample::Index;

fn program() -> Vec<u8> {
    crate::scene::build_program("bfd", "-pie").0
}

/// Packed; bound; packed, then bound; bound, then packed.
fn scenes() -> [Rewritten; 4] {
    let original = program();
    let options = PackOptions::default();
    let (of_pack, of_bind) = (packed(&original, &options), bound(&original));
    let (both, other_way) = (bound(&of_pack.bytes), packed(&of_bind.bytes, &options));
    [of_pack, of_bind, both, other_way]
}

fn change(bytes: &[u8]) -> Option<Change> {
    match identify(&ElfFile::parse(bytes).unwrap())? {
        Identity::Intact => None,
        Identity::Changed { change } => Some(change),
        Identity::Unrecorded => panic!("it identifies nothing"),
    }
}

fn code(bytes: &[u8]) -> &'static str {
    restored(bytes, ChangedFile::Refuse).unwrap_err().code()
}

#[test]
fn edits_are_taken_back_in_turn() {
    for scene in scenes() {
        assert_eq!(change(&scene.bytes), None);
        assert!(restored(&scene.bytes, ChangedFile::Refuse).unwrap() == scene.original);
    }
    let original = program();
    let both = bound(&packed(&original, &PackOptions::default()).bytes);
    let once = restored(&both.bytes, ChangedFile::Refuse).unwrap();
    assert!(restored(&once, ChangedFile::Refuse).unwrap() == original);
}

#[test]
fn what_was_appended_is_counted_and_can_be_kept() {
    for scene in scenes() {
        let size = scene.bytes.len() as u64;
        let appended = [&scene.bytes[..], b"PAYLOAD"].concat();
        assert_eq!(change(&appended), Some(Change::Appended { bytes: 7, size_before: size }));
        assert_eq!(code(&appended), "changed-since");
        assert!(prove_identity(Source::in_memory(&appended)).is_err());
        let kept = restored(&appended, ChangedFile::KeepPayload).unwrap();
        assert!(kept == [&scene.original[..], b"PAYLOAD"].concat());
        assert!(restored(&appended, ChangedFile::Discard).unwrap() == scene.original);
        // A payload that names its own place keeps it or stays.
        let fixed = [&scene.bytes[..], b"PAYLOAD", &size.to_le_bytes()].concat();
        match restored(&fixed, ChangedFile::KeepPayload) {
            Ok(kept) => {
                assert!(scene.original.len() <= scene.bytes.len());
                assert!(kept[scene.bytes.len()..] == fixed[scene.bytes.len()..] && kept.starts_with(&scene.original));
                assert!(kept[scene.original.len()..scene.bytes.len()].iter().all(|byte| *byte == 0));
            }
            Err(refusal) => {
                assert_eq!(refusal.code(), "payload-moves");
                assert!(scene.original.len() > scene.bytes.len());
            }
        }
    }
}

#[test]
fn what_is_cut_off_is_counted() {
    let [scene, ..] = scenes();
    let cut = &scene.bytes[..scene.bytes.len() - 5];
    assert_eq!(change(cut), Some(Change::Cut { bytes: 5 }));
    for changed in [ChangedFile::Refuse, ChangedFile::KeepPayload, ChangedFile::Discard] {
        assert_eq!(restored(cut, changed).unwrap_err().code(), "changed-since");
    }
}

#[test]
fn the_part_that_changed_is_named() {
    let only = |edit: &dyn Fn(&mut Elf)| {
        let [scene, ..] = scenes();
        let mut elf = Elf(scene.bytes);
        edit(&mut elf);
        match change(&elf.0) {
            Some(Change::Edited { parts }) => parts,
            other => panic!("{other:?}"),
        }
    };
    let content = |name: &str| vec![ChangedPart::SectionContent { name: name.to_owned() }];
    let flip = |name: &'static str| {
        move |elf: &mut Elf| {
            let place = elf.content(name).start;
            elf.0[place] ^= 0x10;
        }
    };
    assert_eq!(only(&flip(".text")), content(".text"));
    assert_eq!(only(&flip(".comment")), content(".comment"));
    assert_eq!(only(&flip(".note.coldstart")), content(".note.coldstart"));
    let header = |field: usize, value: u64| {
        move |elf: &mut Elf| {
            let at = elf.section(".note.coldstart").unwrap() + field;
            elf.put(at, 8, value);
        }
    };
    let of_note = ChangedPart::SectionHeader { name: ".note.coldstart".to_owned() };
    assert_eq!(only(&header(8, 0x30)), [of_note]);
    assert_eq!(only(&header(24, 0)), content(".note.coldstart"));
    assert_eq!(only(&header(32, 8)), content(".note.coldstart"));
    // DT_FLAGS_1.
    let flags = only(&|elf| elf.set_tag(0x6fff_fffb, 1));
    assert_eq!(flags[0], ChangedPart::DynamicEntry { tag: "DT_FLAGS_1".to_owned() });
    assert_eq!(flags[1..], content(".dynamic"));
    let entry = only(&|elf| elf.put(24, 8, 0x1234));
    assert_eq!(entry, [ChangedPart::FileHeader]);
    // PT_GNU_STACK executable.
    let stack = only(&|elf| {
        let stack = elf.segments(0x6474_e551)[0];
        elf.put(stack + 4, 4, 7);
    });
    assert_eq!(stack, [ChangedPart::ProgramHeaders]);
}

#[test]
fn names_count_by_what_they_say() {
    let [_, scene, ..] = scenes();
    let old = b"$ORIGIN/.program.libs";
    let at = scene.bytes.windows(old.len()).position(|window| window == old).unwrap();
    let mut bytes = scene.bytes.clone();
    bytes[at + 1] = b'X';
    let Some(Change::Edited { parts }) = change(&bytes) else { panic!() };
    let runpath = ChangedPart::DynamicEntry { tag: "DT_RUNPATH".to_owned() };
    assert_eq!(parts, [runpath, ChangedPart::SectionContent { name: ".dynstr".to_owned() }]);
}

#[test]
fn without_an_identity_nothing_is_restored() {
    let [scene, ..] = scenes();
    let mut elf = Elf(scene.bytes);
    let note = elf.content(".note.coldstart");
    // The fourth note, by its type and our name.
    let kind = b"\x04\0\0\0coldstart\0\0\0";
    let at = note.start + elf.0[note].windows(kind.len()).position(|window| window == kind).unwrap();
    elf.0[at] = 9;
    assert_eq!(identify(&ElfFile::parse(&elf.0).unwrap()), Some(Identity::Unrecorded));
    for changed in [ChangedFile::Refuse, ChangedFile::KeepPayload, ChangedFile::Discard] {
        let refusal = restored(&elf.0, changed).unwrap_err();
        assert_eq!(refusal.code(), "unrecorded");
        assert!(refusal.hint().is_some());
    }
    assert_eq!(code(&program()), "not-ours");
}

#[test]
fn each_byte_of_the_note_and_of_the_headers_counts() {
    for scene in scenes() {
        let elf = Elf(scene.bytes.clone());
        let places = elf.content(".note.coldstart").chain(0..64 + 56 * 14).chain(elf.word(40) as usize..elf.0.len());
        for at in places {
            let mut bytes = scene.bytes.clone();
            bytes[at] ^= 0x41;
            assert!(restored(&bytes, ChangedFile::Refuse).is_err(), "byte {at:#x}");
            assert!(prove_identity(Source::in_memory(&bytes)).is_err(), "byte {at:#x}");
            if let Ok(back) = restored(&bytes, ChangedFile::Discard) {
                assert!(back == scene.original, "byte {at:#x}");
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Edit {
    Append(Vec<u8>),
    Cut(Index),
    Flip(Index, u8),
    Overwrite(Index, Vec<u8>),
    Zeros(usize),
    SetRpath(usize),
    Strip,
    AddSection,
}

fn edit() -> impl Strategy<Value = Edit> {
    let bytes = || proptest::collection::vec(any::<u8>(), 1..100);
    prop_oneof![
        3 => bytes().prop_map(Edit::Append),
        2 => any::<Index>().prop_map(Edit::Cut),
        4 => (any::<Index>(), 1_u8..).prop_map(|(place, bits)| Edit::Flip(place, bits)),
        3 => (any::<Index>(), bytes()).prop_map(|(place, bytes)| Edit::Overwrite(place, bytes)),
        1 => (1_usize..5000).prop_map(Edit::Zeros),
        1 => (1_usize..200).prop_map(Edit::SetRpath),
        1 => Just(Edit::Strip),
        1 => Just(Edit::AddSection),
    ]
}

impl Edit {
    fn is_tool(&self) -> bool {
        matches!(self, Self::SetRpath(_) | Self::Strip | Self::AddSection)
    }

    fn make(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Append(more) => bytes.extend(more),
            Self::Cut(place) => bytes.truncate(place.index(bytes.len() + 1)),
            Self::Flip(place, bits) if !bytes.is_empty() => {
                let place = place.index(bytes.len());
                bytes[place] ^= bits;
            }
            Self::Overwrite(place, new) if !bytes.is_empty() => {
                let place = place.index(bytes.len());
                bytes.iter_mut().skip(place).zip(new).for_each(|(old, new)| *old = *new);
            }
            Self::Flip(..) | Self::Overwrite(..) => {}
            Self::Zeros(size) => bytes.resize(bytes.len() + size, 0),
            Self::SetRpath(length) => by_tool(bytes, "patchelf", &["--set-rpath", &"x".repeat(*length)]),
            Self::Strip => by_tool(bytes, "strip", &[]),
            Self::AddSection => by_tool(bytes, "objcopy", &["--add-section", ".added=/bin/true"]),
        }
    }
}

/// What a tool makes of a file in place; as it is, where the tool refuses it or is not there.
fn by_tool(bytes: &mut Vec<u8>, tool: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, &bytes).unwrap();
    if Command::new(tool).args(arguments).arg(&path).output().is_ok_and(|output| output.status.success()) {
        *bytes = std::fs::read(&path).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever was done to a rewritten file: it is refused, or it is the file that we wrote and comes back as it was.
    /// Nothing else than the original is ever restored.
    #[test]
    fn a_changed_file_is_refused_or_the_original_comes_back(
        which in 0_usize..4,
        edits in proptest::collection::vec(edit(), 1..4),
    ) {
        static SCENES: std::sync::LazyLock<[Rewritten; 4]> = std::sync::LazyLock::new(scenes);
        let scene = &SCENES[which];
        let mut bytes = scene.bytes.clone();
        // Tools come first: they need files that are whole.
        for edit in edits.iter().filter(|edit| edit.is_tool()).chain(edits.iter().filter(|edit| !edit.is_tool())) {
            edit.make(&mut bytes);
        }
        match restored(&bytes, ChangedFile::Refuse) {
            Ok(back) => prop_assert!(bytes == scene.bytes && back == scene.original),
            Err(_) => prop_assert!(bytes != scene.bytes),
        }
        if let Ok(back) = restored(&bytes, ChangedFile::Discard) {
            prop_assert!(back == scene.original);
        }
        if let Ok(back) = restored(&bytes, ChangedFile::KeepPayload) {
            let payload = bytes.strip_prefix(&scene.bytes[..]).expect("nothing else was changed");
            let gap = back.strip_prefix(&scene.original[..]).and_then(|rest| rest.strip_suffix(payload));
            prop_assert!(gap.expect("both are there").iter().all(|byte| *byte == 0));
        }
        prop_assert_eq!(prove_identity(Source::in_memory(&bytes)).is_ok(), bytes == scene.bytes);
    }
}
