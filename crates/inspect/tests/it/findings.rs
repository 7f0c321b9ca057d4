//! Each finding is made for a small file that has what it is about, with the right figures, and not for its twin that was
//! built as the finding advises.

use coldstart_inspect::{Finding, FindingKind, Saving, rank};

use crate::built::{folder, section, shared_object};
use crate::found::{inspected, kinds};

#[test]
fn a_plain_library_has_nothing_to_mend() {
    let folder = folder();
    let source = "int f(void) { return 1; }\n";
    let library = shared_object(folder.path(), "library", source, &[]);
    // What the compiler brings ends in data that is relocated, and zeros that begin in the same page cost nothing more.
    // Where another linker places them apart, that alone is found.
    assert!(section(&library, ".bss").is_some());
    assert!(kinds(&inspected(&library)).iter().all(|kind| *kind == FindingKind::BssInFilePage));
    let bare = shared_object(folder.path(), "bare", source, &["-nostdlib"]);
    assert_eq!(kinds(&inspected(&bare)), []);
}

#[test]
fn what_saves_most_comes_first() {
    let folder = folder();
    let functions: String = (0..2000).map(|index| format!("void function_{index}(void) {{}}\n")).collect();
    let pointers: String = (0..2000).map(|index| format!("function_{index}, ")).collect();
    let source = format!(
        "{functions}void (*own[])(void) = {{ {pointers} }};\n\
         static int value; int *pointers[100000] = {{ [0 ... 99999] = &value }};\n"
    );
    let library = shared_object(folder.path(), "library", &source, &["-nostdlib", "-Wl,--hash-style=both"]);
    let inspection = inspected(&library);
    use FindingKind::*;
    for kind in [UnpackedRelocations, OwnSymbolReferences, ScatteredReads, TwoHashTables, PrivatePages] {
        assert_eq!(kinds(&inspection).iter().filter(|found| **found == kind).count(), 1, "{kind:?}");
    }
    let weights: Vec<u64> = inspection.findings.iter().map(|finding| finding.saves.weight()).collect();
    assert!(weights.is_sorted_by(|before, after| before >= after), "{weights:?}");

    let mut shuffled: Vec<Finding> = inspection.findings.iter().rev().cloned().collect();
    rank(&mut shuffled);
    assert_eq!(shuffled, inspection.findings, "findings of equal weight have an order too");
}

#[test]
fn weights_cannot_overflow() {
    let most = Saving { file_bytes: u64::MAX, seeks: u64::MAX, ..Saving::default() };
    assert_eq!(most.weight(), u64::MAX);
    assert_eq!(Saving::default().weight(), 0);
    assert_eq!(Saving { seeks: 1, ..Saving::default() }.weight(), 128 * 1024);
}
