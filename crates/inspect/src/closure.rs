//! A program with all libraries it loads: findings that need all of them.
//!
//! The loader crate does the search itself; this module states its cost and the unused libraries.

use std::collections::{BTreeMap, BTreeSet};

use coldstart_elf::{DynamicTable, ElfFile, NameRoom, RelocationClass, RelocationClasses, Symbol, SymbolLookup};
use serde::Serialize;

use crate::findings::{Certainty, Finding, FindingKind, Fix, Saving, rank};

/// Names of the symbols that an object refers to in others.
#[derive(Clone, Debug, Default)]
pub struct Wants {
    names: Vec<Vec<u8>>,
}

impl Wants {
    /// The symbols that an object refers to: undefined ones, and variables of libraries that the program has a copy of and so defines itself.
    ///
    /// # Errors
    /// If its dynamic table or symbols cannot be read.
    pub fn of(file: &ElfFile<'_>) -> coldstart_elf::Result<Self> {
        let Some(dynamic) = file.dynamic()? else { return Ok(Self::default()) };
        let symbols = file.dynamic_symbols(&dynamic)?;
        let mut room = NameRoom::of(file);
        let mut names = Vec::new();
        let copied = copied_symbols(file, &dynamic)?;
        let is_wanted = |index: u32, symbol: &Symbol| !symbol.is_defined() || copied.contains(&index);
        for (_, symbol) in (0..).zip(symbols.iter()).filter(|(index, symbol)| is_wanted(*index, symbol)) {
            let name = symbols.name(&symbol);
            room.take(name)?;
            if !name.is_empty() {
                names.push(name.to_vec());
            }
        }
        Ok(Self { names })
    }
}

/// The symbols of copy relocations, by index. Only programs have any.
fn copied_symbols(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> coldstart_elf::Result<BTreeSet<u32>> {
    let mut copied = BTreeSet::new();
    if file.interpreter().is_some() {
        let mut classes = RelocationClasses::new(file.encoding().machine);
        for table in file.dynamic_relocations(dynamic)?.tables() {
            table.for_each(|relocation| {
                if classes.of(relocation.kind) == RelocationClass::Copy {
                    copied.insert(relocation.symbol);
                }
            });
        }
    }
    Ok(copied)
}

/// The symbols that a library defines, by its hash table; enough to decide whether the library is used.
#[derive(Debug)]
pub struct Offers<'data>(SymbolLookup<'data>);

impl<'data> Offers<'data> {
    /// The symbols of a library; `None` without a readable hash table.
    pub fn of(file: &ElfFile<'data>) -> Option<Self> {
        let dynamic = file.dynamic().ok()??;
        SymbolLookup::parse(file, &dynamic).ok()?.map(Self)
    }

    /// Whether the library defines any wanted symbol.
    pub fn any(&self, wants: &Wants) -> bool {
        wants.names.iter().any(|name| self.0.find(name, Symbol::is_defined).is_some())
    }
}

/// The result of the search for a program's libraries.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchCost {
    /// Number of failed probes.
    pub failed_probes: u64,
    /// Failed probes by rule, such as `RUNPATH`.
    pub failed_probes_by_rule: BTreeMap<String, u64>,
    /// Libraries that are not found.
    pub missing: Vec<Missing>,
    /// Unused libraries.
    pub unused: Vec<Unused>,
}

/// A library that is not found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// Its requested name.
    pub library: String,
    /// Who needs it.
    pub needed_by: String,
    /// Whether it is preloaded: the loader then continues without it.
    pub is_preloaded: bool,
}

/// A needed library without a symbol that any object of the program refers to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Unused {
    /// Its file name.
    pub library: String,
    /// Who needs it.
    pub needed_by: Vec<String>,
    /// Pages that loading it makes private to the process.
    pub private_pages: u64,
    /// Seeks to load it from a cold cache, by the model.
    pub seeks: u64,
}

/// Fewer failed probes than this are not worth a change.
const MANY_PROBES: u64 = 16;

impl SearchCost {
    /// The findings about a program with all it loads.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.failed_probes >= MANY_PROBES {
            // A run path is searched before the cache, so a cache avoids only the probes after it.
            let is_behind = |rule: &str| matches!(rule, "ld.so.cache" | "default directory");
            let by_cache = self.failed_probes_by_rule.keys().any(|rule| is_behind(rule));
            let cache = by_cache.then_some(Fix::Verb("ldcache"));
            let rules = self.failed_probes_by_rule.iter().map(|(rule, count)| format!("{count} by {rule}"));
            findings.push(Finding {
                kind: FindingKind::LongSearchPath,
                what: format!("the loader makes {} failed probes before it finds all libraries", self.failed_probes),
                place: rules.collect::<Vec<_>>().join(", "),
                why: "each is a system call; from a cold cache or a network it also waits for directory reads",
                fixes: std::iter::once(Fix::Verb("bind")).chain(cache).collect(),
                saves: Saving { probes: self.failed_probes, ..Saving::default() },
                certainty: Certainty::Followed,
                condition: "with this environment; LD_LIBRARY_PATH and the processor's subdirectories count",
            });
        }
        for unused in &self.unused {
            let needed_by = unused.needed_by.join(", ");
            findings.push(Finding {
                kind: FindingKind::UnusedLibrary,
                what: format!("{} is needed by {needed_by}, and nothing uses its symbols", unused.library),
                place: format!("DT_NEEDED of {needed_by}"),
                why: "it is located, mapped, relocated and initialised without being used",
                fixes: vec![Fix::Linker("--as-needed")],
                saves: Saving { seeks: unused.seeks, private_pages: unused.private_pages, ..Saving::default() },
                certainty: Certainty::UpperBound,
                condition: "a library may be needed for its initialisers or for dlsym",
            });
        }
        findings.extend(self.missing.iter().map(Missing::finding));
        rank(&mut findings);
        findings
    }
}

impl Missing {
    fn finding(&self) -> Finding {
        let (place, why, fix) = if self.is_preloaded {
            (
                "LD_PRELOAD or /etc/ld.so.preload".to_owned(),
                "the loader warns and continues without it",
                "correct the name",
            )
        } else {
            (
                format!("DT_NEEDED of {}", self.needed_by),
                "the program does not start",
                "install the library, or add its directory to RUNPATH or LD_LIBRARY_PATH",
            )
        };
        Finding {
            kind: FindingKind::MissingLibrary,
            what: format!("{} cannot be found; {} needs it", self.library, self.needed_by),
            place,
            why,
            fixes: vec![Fix::Source(fix)],
            saves: Saving::default(),
            certainty: Certainty::Followed,
            condition: "with this environment",
        }
    }
}
