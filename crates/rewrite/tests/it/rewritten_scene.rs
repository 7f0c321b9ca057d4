//! Packed and bound programs in memory, with the originals that they must come back to.

use coldstart_elf::ElfFile;
use coldstart_prove::{PathKind, SearchEdit, SearchPath, Source, prove, prove_identity, prove_search};
use coldstart_rewrite::{
    ChangedFile, EditNote, PackDecision, PackOptions, Refusal, plan_pack, plan_search, plan_unpack,
};

/// A rewritten file.
#[derive(Clone)]
pub(crate) struct Rewritten {
    pub(crate) original: Vec<u8>,
    pub(crate) bytes: Vec<u8>,
}

/// Packs a file, and proves it.
pub(crate) fn packed(original: &[u8], options: &PackOptions) -> Rewritten {
    let file = ElfFile::parse(original).unwrap();
    let PackDecision::Pack(plan) = plan_pack(&file, options).unwrap() else { panic!("nothing to pack") };
    let bytes = plan.script.to_vec(original).unwrap();
    prove(Source::in_memory(original), Source::in_memory(&bytes)).unwrap();
    prove_identity(Source::in_memory(&bytes)).unwrap();
    Rewritten { original: original.to_vec(), bytes }
}

/// Gives a program another search path, as `bind` does, and proves it.
pub(crate) fn bound(original: &[u8]) -> Rewritten {
    let path = SearchPath { kind: PathKind::Runpath, text: b"$ORIGIN/.program.libs:/a/path/of/some/length".to_vec() };
    let edit = SearchEdit { needed: vec![b"libc.so.6".to_vec()], path: Some(path), audit: None, loaded_note: None };
    let note = EditNote { name: "bind", content: Some("{}") };
    let plan = plan_search(&ElfFile::parse(original).unwrap(), &edit, note).unwrap();
    let bytes = plan.script.to_vec(original).unwrap();
    prove_search(Source::in_memory(original), Source::in_memory(&bytes), &edit).unwrap();
    prove_identity(Source::in_memory(&bytes)).unwrap();
    Rewritten { original: original.to_vec(), bytes }
}

/// What stands in the file after its edit was taken back.
pub(crate) fn restored(bytes: &[u8], changed: ChangedFile) -> Result<Vec<u8>, Refusal> {
    plan_unpack(&ElfFile::parse(bytes)?, changed)?.restore(bytes)
}
