//! Findings about looking up symbols and looking for libraries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use coldstart_inspect::{Certainty, FindingKind, Fix, Missing, Saving, SearchCost, Unused};

use super::{inspected, inspected_bytes, none, the};
use crate::built::{build, folder, readelf, section, shared_object};

/// A library with so many symbols.
fn library(folder: &Path, count: usize, style: &str) -> PathBuf {
    let source: String =
        (0..count).map(|index| format!("int function_{index}(void) {{ return {index}; }}\n")).collect();
    let argument = format!("-Wl,--hash-style={style}");
    let library = shared_object(folder, style, &source, &["-nostdlib", &argument]);
    let symbols = readelf(&["--dyn-syms"], &library).matches(" FUNC ").count();
    assert_eq!(symbols, count);
    library
}

#[test]
fn only_the_old_hash_table() {
    let folder = folder();
    let kind = FindingKind::SysvHashOnly;
    let old = library(folder.path(), 1000, "sysv");
    let found = the(&inspected(&old), kind);
    assert_eq!(found.what, "only the old hash table, for 1000 symbols");
    assert_eq!(found.place, format!("DT_HASH at file offset {:#x}", section(&old, ".hash").unwrap().1));
    none(&inspected(&library(folder.path(), 999, "sysv")), kind);
    none(&inspected(&library(folder.path(), 1000, "gnu")), kind);
    none(&inspected(&library(folder.path(), 1000, "both")), kind);
}

#[test]
fn an_old_hash_table_beside_the_new_one() {
    let folder = folder();
    let kind = FindingKind::TwoHashTables;
    let both = library(folder.path(), 1000, "both");
    let (_, offset, bytes) = section(&both, ".hash").unwrap();
    let found = the(&inspected(&both), kind);
    assert!(found.what.ends_with(&format!("the old one of {bytes} bytes")), "{found:?}");
    assert_eq!(found.place, format!("DT_HASH at file offset {offset:#x}"));
    assert_eq!(found.saves, Saving { file_bytes: bytes, ..Saving::default() });
    let small = library(folder.path(), 300, "both");
    assert!(section(&small, ".hash").unwrap().2 < 4096);
    none(&inspected(&small), kind);
    none(&inspected(&library(folder.path(), 1000, "gnu")), kind);
    none(&inspected(&library(folder.path(), 1000, "sysv")), kind);
}

#[test]
fn a_filter_that_lets_everything_pass() {
    let folder = folder();
    let kind = FindingKind::WeakBloomFilter;
    // Behind four numbers, of which the third counts the filter's words.
    let filled = |count: usize| {
        let library = library(folder.path(), count, "gnu");
        none(&inspected(&library), kind);
        let offset = section(&library, ".gnu.hash").unwrap().1 as usize;
        let mut bytes = std::fs::read(&library).unwrap();
        let words = u32::from_le_bytes(bytes[offset + 8..offset + 12].try_into().unwrap()) as usize;
        bytes[offset + 16..][..words * 8].fill(0xff);
        (inspected_bytes(&bytes), words * 8, offset)
    };
    let (inspection, bytes, offset) = filled(1000);
    let found = the(&inspection, kind);
    let expected = format!("the hash table's filter passes 100 % of absent names ({bytes} bytes for 1000 symbols)");
    assert_eq!(found.what, expected);
    assert_eq!(found.place, format!("DT_GNU_HASH at file offset {offset:#x}"));
    none(&filled(999).0, kind);
}

#[test]
fn a_search_path_of_many_directories() {
    let folder = folder();
    let kind = FindingKind::LongSearchPath;
    let needed = shared_object(folder.path(), "libneeded.so", "int one(void) { return 1; }\n", &["-nostdlib"]);
    let named = "-Wl,-soname,libnamed.so";
    let named = shared_object(folder.path(), "libnamed.so", "int two(void) { return 2; }\n", &["-nostdlib", named]);
    let source = "int one(void); int two(void); int all(void) { return one() + two(); }\n";
    let with = |name: &str, arguments: &[&str]| {
        inspected(&shared_object(folder.path(), name, source, &[&["-nostdlib"], arguments].concat()))
    };
    let (needed, named) = (needed.to_str().unwrap(), named.to_str().unwrap());
    let path = ["-Wl,--enable-new-dtags", "-Wl,-rpath,/one:/two:/three"];
    // What has no name of its own is needed by its path, with slashes in it.
    let found = the(&with("long", &[path[0], path[1], needed, named]), kind);
    assert_eq!(found.what, "1 library is looked for in up to 3 directories each");
    assert_eq!((found.place.as_str(), found.saves), ("DT_RUNPATH", Saving { probes: 3, ..Saving::default() }));
    assert_eq!(found.fixes, [Fix::Source("fewer directories, those with the most libraries first")]);
    none(&with("absolute", &[path[0], path[1], needed]), kind);
    none(&with("short", &[path[0], "-Wl,-rpath,/one:/two", named]), kind);
    none(&with("same", &[path[0], "-Wl,-rpath,/one:/two:/one/", named]), kind);
    let old = the(&with("old", &["-Wl,--disable-new-dtags", path[1], named]), kind);
    assert_eq!(old.place, "DT_RPATH");

    let main = "int two(void); int main(void) { return two(); }\n";
    let program = the(&inspected(&build(folder.path(), "program", main, &[path[0], path[1], named])), kind);
    assert_eq!(program.what, "2 libraries are looked for in up to 3 directories each", "libc.so.6 too");
    assert_eq!((program.fixes, program.saves.probes), (vec![Fix::Verb("bind")], 6));
    assert_eq!(program.certainty, Certainty::UpperBound);
}

#[test]
fn a_program_with_all_that_it_loads() {
    assert_eq!(SearchCost::default().findings(), []);
    let few = SearchCost { failed_probes: 15, ..SearchCost::default() };
    assert_eq!(few.findings(), []);
    let by_rule = BTreeMap::from([("DT_RPATH".to_owned(), 6), ("DT_RUNPATH".to_owned(), 10)]);
    let unused = |library: &str, seeks| Unused {
        library: library.to_owned(),
        needed_by: vec!["program".to_owned(), "libother.so".to_owned()],
        private_pages: 2,
        seeks,
    };
    let cost = SearchCost {
        failed_probes: 16,
        failed_probes_by_rule: by_rule,
        missing: Vec::new(),
        unused: vec![unused("libsmall.so", 1), unused("liblarge.so", 3)],
    };
    let findings = cost.findings();
    let kinds: Vec<FindingKind> = findings.iter().map(|finding| finding.kind).collect();
    use FindingKind::*;
    // Three seeks, 16 probes, one seek.
    assert_eq!(kinds, [UnusedLibrary, LongSearchPath, UnusedLibrary]);
    let [large, path, small] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(large.what, "liblarge.so is needed by program, libother.so, and nothing uses its symbols");
    assert_eq!(large.saves, Saving { seeks: 3, private_pages: 2, ..Saving::default() });
    assert_eq!((small.saves.seeks, small.certainty), (1, Certainty::UpperBound));
    assert_eq!(path.what, "the loader makes 16 failed probes before it finds all libraries");
    assert_eq!((path.place.as_str(), path.certainty), ("6 by DT_RPATH, 10 by DT_RUNPATH", Certainty::Followed));
    assert_eq!(path.saves, Saving { probes: 16, ..Saving::default() });
    assert_eq!(path.fixes, [Fix::Verb("bind")], "run paths go before a cache");
    let behind = SearchCost {
        failed_probes: 20,
        failed_probes_by_rule: BTreeMap::from([("default directory".to_owned(), 20)]),
        ..SearchCost::default()
    };
    assert_eq!(behind.findings()[0].fixes, [Fix::Verb("bind"), Fix::Verb("ldcache")]);
}

#[test]
fn what_is_missing_comes_before_what_is_slow() {
    let missing = |library: &str, needed_by: &str, is_preloaded| Missing {
        library: library.to_owned(),
        needed_by: needed_by.to_owned(),
        is_preloaded,
    };
    let cost = SearchCost {
        failed_probes: 1000,
        missing: vec![missing("libgone.so", "libother.so", false), missing("libhook.so", "program", true)],
        ..SearchCost::default()
    };
    let findings = cost.findings();
    let [gone, hook, path] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(
        [gone.kind, hook.kind, path.kind].map(FindingKind::name),
        ["missing-library", "missing-library", "long-search-path"]
    );
    assert_eq!(gone.what, "libgone.so cannot be found; libother.so needs it");
    assert_eq!((gone.place.as_str(), gone.why), ("DT_NEEDED of libother.so", "the program does not start"));
    assert!(hook.place.contains("LD_PRELOAD") && hook.why.contains("continues without it"), "{hook:?}");
    assert_eq!((gone.saves, gone.certainty), (Saving::default(), Certainty::Followed));
}
