//! Findings about hash tables and search paths.

use super::{Certainty, Finding, FindingKind, Fix, Saving, counted};
use crate::file_pages::PAGE;
use crate::layout::LoaderNames;
use crate::object::Object;
use crate::parts::Parts;

/// A filter that passes more absent names than this hardly helps the loader. Linkers aim at a few percent.
const WEAK_FILTER: f64 = 0.25;
/// Smaller tables are fast to search even with a bad filter.
const LARGE_TABLE: u64 = 1000;

pub(super) fn findings(object: &Object<'_>, parts: &Parts) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(hash_tables(parts));
    findings.extend(weak_filter(parts));
    findings.extend(search_path(object, &parts.layout.names));
    findings
}

fn hash_tables(parts: &Parts) -> Option<Finding> {
    let hash = &parts.layout.hash;
    let sysv = hash.sysv.as_ref()?;
    let place = format!("DT_HASH at file offset {:#x}", sysv.file_offset);
    let fixes = vec![Fix::Linker("--hash-style=gnu")];
    if hash.gnu.is_some() {
        return (sysv.bytes >= PAGE).then(|| Finding {
            kind: FindingKind::TwoHashTables,
            what: format!(
                "two hash tables; the loader of glibc and musl never reads the old one of {} bytes",
                sysv.bytes
            ),
            place,
            why: "it is between tables that are read, and readahead includes it",
            fixes,
            saves: Saving { file_bytes: sysv.bytes, ..Saving::default() },
            certainty: Certainty::Counted,
            condition: "a few programs read symbols from the old table only",
        });
    }
    let symbols = sysv.chains.as_ref().map_or(0, |chains| chains.symbols);
    (symbols >= LARGE_TABLE).then(|| Finding {
        kind: FindingKind::SysvHashOnly,
        what: format!("only the old hash table, for {}", counted(symbols, "symbol")),
        place,
        why: "every lookup of an absent symbol compares names along a chain; the newer table has a filter",
        fixes,
        saves: Saving::default(),
        certainty: Certainty::Counted,
        condition: "",
    })
}

fn weak_filter(parts: &Parts) -> Option<Finding> {
    let gnu = parts.layout.hash.gnu.as_ref()?;
    let symbols = gnu.chains.as_ref().map_or(0, |chains| chains.symbols);
    if gnu.bloom_false_positives < WEAK_FILTER || symbols < LARGE_TABLE {
        return None;
    }
    Some(Finding {
        kind: FindingKind::WeakBloomFilter,
        what: format!(
            "the hash table's filter passes {:.0} % of absent names ({} bytes for {})",
            gnu.bloom_false_positives * 100.0,
            gnu.bloom_bytes,
            counted(symbols, "symbol")
        ),
        place: format!("DT_GNU_HASH at file offset {:#x}", gnu.file_offset),
        why: "each false positive costs a chain walk, for every symbol that other libraries look up here",
        fixes: vec![
            Fix::Compiler("-fvisibility=hidden"),
            Fix::Linker("a linker that sizes the filter by the symbol count"),
        ],
        saves: Saving::default(),
        certainty: Certainty::Counted,
        condition: "",
    })
}

/// Up to this many directories are normal in a search path.
const USUAL_PATH: u64 = 2;

fn search_path(object: &Object<'_>, names: &LoaderNames) -> Option<Finding> {
    let plain = names.needed.iter().filter(|name| !name.contains('/')).count() as u64;
    let directories = names.search_directories;
    if directories <= USUAL_PATH || plain == 0 {
        return None;
    }
    let is_program = object.is_program();
    Some(Finding {
        kind: FindingKind::LongSearchPath,
        what: format!(
            "{} {} looked for in up to {} each",
            counted(plain, "library"),
            if plain == 1 { "is" } else { "are" },
            counted(directories, "directory")
        ),
        place: if names.runpath.is_some() { "DT_RUNPATH" } else { "DT_RPATH" }.to_owned(),
        why: "the loader opens each candidate in turn, and again in the subdirectories for this processor",
        fixes: if is_program {
            vec![Fix::Verb("bind")]
        } else {
            vec![Fix::Source("fewer directories, those with the most libraries first")]
        },
        // They all fail for system libraries, which are found after this path.
        saves: Saving { probes: plain.saturating_mul(directories), ..Saving::default() },
        certainty: Certainty::UpperBound,
        condition: "without the subdirectories for the processor; --closure counts the actual failed probes",
    })
}
