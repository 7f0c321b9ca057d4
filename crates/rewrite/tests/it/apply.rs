//! Edits from their scripts to files in their places, each with what it claims.

use std::path::Path;

use coldstart_elf::ElfFile;
use coldstart_prove::{PathKind, SearchEdit, SearchPath, Source, prove, prove_identity};
use coldstart_rewrite::{
    ApplyError, ChangedFile, Claim, EditNote, NotTakenBack, OriginalFile, PackDecision, PackOptions, Rewriting, Script,
    Target, plan_pack, plan_search, plan_unpack, without_edit,
};

use crate::replace_scene::{names, scratch};
use crate::scene::{Elf, build_program};

fn search_edit(path: &str) -> SearchEdit {
    let path = SearchPath { kind: PathKind::Runpath, text: path.as_bytes().to_vec() };
    SearchEdit { needed: vec![b"libc.so.6".to_vec()], path: Some(path), audit: None, loaded_note: None }
}

fn search_script(bytes: &[u8], path: &str) -> Script {
    let note = EditNote { name: "bind", content: Some("{}") };
    plan_search(&ElfFile::parse(bytes).unwrap(), &search_edit(path), note).unwrap().script
}

fn pack_script(bytes: &[u8]) -> Script {
    match plan_pack(&ElfFile::parse(bytes).unwrap(), &PackOptions::default()).unwrap() {
        PackDecision::Pack(plan) => plan.script,
        PackDecision::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

/// Applies a script to a file in its place.
fn apply(path: &Path, script: &Script, claim: Claim<'_>, base: Option<&[u8]>) -> Result<(), ApplyError> {
    let original = OriginalFile::open(path).unwrap();
    let view = original.map().unwrap();
    let rewriting = Rewriting { original: &original, view: &view, base, target: &Target::InPlace, keep_original: None };
    rewriting.apply(script, claim).map(drop)
}

#[test]
fn edits_are_applied_in_place_and_taken_back() {
    let directory = scratch();
    let path = directory.path().join("program");
    let Elf(original) = build_program("bfd", "-pie");
    std::fs::write(&path, &original).unwrap();

    apply(&path, &pack_script(&original), Claim::SameIdentified, None).unwrap();
    let packed = std::fs::read(&path).unwrap();
    assert!(packed.len() < original.len());
    prove(Source::in_memory(&original), Source::in_memory(&packed)).unwrap();
    prove_identity(Source::in_memory(&packed)).unwrap();

    apply(&path, &search_script(&packed, "/one"), Claim::Search(&search_edit("/one")), None).unwrap();
    let bound = std::fs::read(&path).unwrap();
    assert_eq!(without_edit(&bound, "relr"), Err(NotTakenBack::OtherEdit("bind".to_owned())));

    // Another binding takes the place of the first one.
    let base = without_edit(&bound, "bind").unwrap();
    assert_eq!(base, packed);
    apply(&path, &search_script(&base, "/two"), Claim::Search(&search_edit("/two")), Some(&base)).unwrap();
    let rebound = std::fs::read(&path).unwrap();
    assert_eq!(without_edit(&rebound, "bind").unwrap(), packed);

    let plan = plan_unpack(&ElfFile::parse(&rebound).unwrap(), ChangedFile::Refuse).unwrap();
    let opened = OriginalFile::open(&path).unwrap();
    let view = opened.map().unwrap();
    let rewriting =
        Rewriting { original: &opened, view: &view, base: None, target: &Target::InPlace, keep_original: None };
    let restored = rewriting.restore(&plan).unwrap();
    assert_eq!(restored.proof.blake3, blake3::hash(&packed).to_hex().to_string());
    assert_eq!(std::fs::read(&path).unwrap(), packed);
    assert_eq!(without_edit(&original, "bind").unwrap(), original);
    assert_eq!(names(directory.path()), ["program"]);
}

#[test]
fn what_is_claimed_in_vain_is_not_put_in_place() {
    let directory = scratch();
    let path = directory.path().join("program");
    let Elf(original) = build_program("bfd", "-pie");
    std::fs::write(&path, &original).unwrap();
    let bind = search_script(&original, "/one");
    let copy = Script::identity(ElfFile::parse(&original).unwrap().encoding(), original.len() as u64);
    let other = search_edit("/two");
    for (script, claim) in [
        (&bind, Claim::Same),
        (&bind, Claim::SameIdentified),
        (&bind, Claim::Search(&other)),
        // A copy has no note that identifies it.
        (&copy, Claim::SameIdentified),
    ] {
        let error = apply(&path, script, claim, None).unwrap_err();
        assert!(matches!(error, ApplyError::Differs(_)), "{claim:?}: {error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), original);
    }
    apply(&path, &copy, Claim::Same, None).unwrap();
    assert_eq!(names(directory.path()), ["program"]);
}

#[test]
fn a_file_that_breaks_rules_by_itself_is_told_from_a_fault_of_ours() {
    let directory = scratch();
    let path = directory.path().join("program");
    let mut elf = build_program("bfd", "-pie");
    // DT_NEEDED: a name behind the last string.
    elf.set_tag(1, 1 << 20);
    std::fs::write(&path, &elf.0).unwrap();
    let copy = Script::identity(ElfFile::parse(&elf.0).unwrap().encoding(), elf.0.len() as u64);
    let error = apply(&path, &copy, Claim::Same, None).unwrap_err();
    assert!(matches!(error, ApplyError::Contradicts(_)), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), elf.0);
}

#[test]
fn a_file_that_shrinks_meanwhile_proves_nothing() {
    let directory = scratch();
    let path = directory.path().join("program");
    let Elf(original) = build_program("bfd", "-pie");
    std::fs::write(&path, &original).unwrap();
    let script = pack_script(&original);
    let opened = OriginalFile::open(&path).unwrap();
    let view = opened.map().unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
    let target = Target::InPlace;
    let rewriting = Rewriting { original: &opened, view: &view, base: None, target: &target, keep_original: None };
    assert!(matches!(rewriting.apply(&script, Claim::SameIdentified), Err(ApplyError::Shrank)));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 4096);
}
