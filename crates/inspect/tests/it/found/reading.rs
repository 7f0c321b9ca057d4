//! The finding about reads that are scattered over the file, which comes from the model of the loader's reads.

use coldstart_inspect::{Certainty, FindingKind, Fix, Saving};

use super::{inspected, none, the};
use crate::built::{folder, shared_object};

const KIND: FindingKind = FindingKind::ScatteredReads;

#[test]
fn a_large_table_is_read_beside_what_it_changes() {
    let folder = folder();
    let source = "static int value; int *pointers[100000] = { [0 ... 99999] = &value };\n";
    let plain = inspected(&shared_object(folder.path(), "plain", source, &["-nostdlib"]));
    let found = the(&plain, KIND);
    let reads = &plain.parts.loader_reads;
    assert!(reads.seeks >= 8);
    assert_eq!(
        found.what,
        format!(
            "the loader alone makes {} requests, {} of them seeks; {} of {} pages are read but not used",
            reads.requests,
            reads.seeks,
            reads.read_pages - reads.useful_pages,
            reads.read_pages
        )
    );
    assert!(found.place.contains("the relocations and what they change"), "{found:?}");
    assert_eq!(found.saves, Saving { seeks: reads.seeks - 1, ..Saving::default() });
    assert_eq!((found.fixes, found.certainty), (vec![Fix::Verb("prefetch"), Fix::Verb("pack")], Certainty::Modelled));
    let packed = shared_object(folder.path(), "packed", source, &["-nostdlib", "-Wl,-z,pack-relative-relocs"]);
    none(&inspected(&packed), KIND);
}

#[test]
fn pointers_far_apart_are_a_seek_each() {
    let folder = folder();
    // One pointer for 256 KiB of data, twice what one read brings in.
    let apart = "extern int elsewhere;\nstruct { int *pointer; char data[(1 << 18) - 8]; } parts[16] = \
                 { [0 ... 15] = { &elsewhere, { 1 } } };\n";
    let together = "extern int elsewhere;\nint *pointers[16] = { [0 ... 15] = &elsewhere };\n\
                    char data[16][(1 << 18) - 8] = { [0 ... 15] = { 1 } };\n";
    let library = |name: &str, source: &str| inspected(&shared_object(folder.path(), name, source, &["-nostdlib"]));
    let found = the(&library("apart", apart), KIND);
    assert!((14..=20).contains(&found.saves.seeks), "{found:?}");
    assert_eq!(found.fixes, [Fix::Verb("prefetch")], "packing these saves nothing");
    none(&library("together", together), KIND);
}
