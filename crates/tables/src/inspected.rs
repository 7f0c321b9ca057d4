//! Inspected objects: one table of the objects themselves, and one for each of their lists.

use coldstart_inspect::{Figures, Fix, Initialiser, InitialiserKind, InitialiserTotals, Inspection, SearchCost};
use serde::Serialize;

use crate::column::row;

/// Where an object was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What was surveyed, as it was named.
    pub source: String,
    /// The package or image inside the source.
    pub archive: Option<String>,
    /// The file inside the archive or source.
    pub path: String,
    /// The package that owns the file.
    pub package: Option<String>,
    /// Its version.
    pub package_version: Option<String>,
}

row! {
    /// One ELF object that a dynamic loader or the kernel can load, with its costs at the start.
    ObjectRow in "objects" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source, as a path from its top; archives inside archives follow after ` > `.
        archive: Option<String>,
        /// The file inside the archive or source.
        path: String,
        /// The package that owns the file.
        package: Option<String>,
        /// Its version.
        package_version: Option<String>,
        /// What it is: `shared-object`, `position-independent-program`, `fixed-program`, `static-program` or
        /// `static-position-independent-program`.
        kind: String,
        /// The architecture, such as `x86-64`.
        machine: String,
        /// 32 or 64.
        bits: u64,
        /// Whether it is big-endian.
        is_big_endian: bool,
        /// Size of the file in bytes.
        bytes: u64,
        /// Its build id in hexadecimal.
        build_id: Option<String>,
        /// Its own name (`DT_SONAME`).
        soname: Option<String>,
        /// Its interpreter (`PT_INTERP`).
        interpreter: Option<String>,
        /// Its search path (`DT_RUNPATH`, else `DT_RPATH`).
        search_path: Option<String>,
        /// Where function and variable names come from: `symbol-table`, `mini-debug-info` or `dynamic-symbols`.
        names_from: String,
        /// Relocated words.
        relocations: u64,
        /// Bytes of the relocation tables.
        relocation_bytes: u64,
        /// Relocations already packed as RELR.
        packed_relocations: u64,
        /// Bytes that packing would save.
        packing_saves_bytes: u64,
        /// Pages of 4 KiB that relocation makes private to each process.
        private_pages: u64,
        /// Symbols that the loader looks up before the program starts.
        lookups: u64,
        /// Functions that run before `main`.
        initialisers: u64,
        /// Disk requests of the loader's work from a cold cache, by the model.
        read_requests: u64,
        /// The requests among them that do not follow the previous one.
        seeks: u64,
        /// Bytes read by these requests.
        read_bytes: u64,
        /// Failed probes of the loader before it finds all libraries; only of programs in a root file system.
        failed_probes: Option<u64>,
        /// Libraries that it does not find; only of programs in a root file system.
        missing_libraries: Option<u64>,
    }
}

row! {
    /// One possible improvement of one object.
    FindingRow in "findings" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source; see `objects`.
        archive: Option<String>,
        /// The object.
        path: String,
        /// The package that owns it.
        package: Option<String>,
        /// The kind of finding, as `coldstart inspect --fail-on` names it.
        kind: &'static str,
        /// The best fix: a verb of coldstart, or options for the linker or compiler, or a change of the source.
        fix: Option<String>,
        /// Who applies the best fix: `verb`, `linker`, `compiler` or `source`.
        fix_by: Option<&'static str>,
        /// All fixes, best first.
        fixes: Vec<String>,
        /// Bytes no longer stored or read.
        saves_bytes: u64,
        /// File pages no longer read, of 4 KiB.
        saves_read_pages: u64,
        /// Pages of private memory in each process, of 4 KiB.
        saves_private_pages: u64,
        /// Disk requests that do not follow the previous one.
        saves_seeks: u64,
        /// Symbol lookups avoided.
        saves_lookups: u64,
        /// Failed probes avoided.
        saves_probes: u64,
        /// One number to sort by, in bytes: a seek counts as 128 KiB, a page as 4 KiB, a probe as 13 KiB, a lookup as 256 bytes.
        weight: u64,
        /// Where the figures come from: `counted`, `followed`, `modelled` or `upper-bound`.
        certainty: String,
        /// What was found, as a sentence.
        what: String,
        /// Where in the file.
        place: String,
        /// Preconditions or side effects of the fix; empty if there are none.
        condition: &'static str,
    }
}

row! {
    /// One library that one object needs (`DT_NEEDED`).
    NeededRow in "needed" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source; see `objects`.
        archive: Option<String>,
        /// The object.
        path: String,
        /// The package that owns it.
        package: Option<String>,
        /// Its place among the object's needed libraries, from 0.
        position: u64,
        /// The needed name.
        library: String,
    }
}

row! {
    /// The functions of one object that run before `main` and are called in one way.
    InitialiserRow in "initialisers" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source; see `objects`.
        archive: Option<String>,
        /// The object.
        path: String,
        /// The package that owns it.
        package: Option<String>,
        /// How they are called: `preinit-array`, `init`, `ctors` or `init-array`.
        kind: String,
        /// Number of functions.
        functions: u64,
        /// Functions of unknown size.
        functions_of_unknown_size: u64,
        /// Bytes of their code, as far as known, each byte counted once, without callees.
        code_bytes: u64,
        /// File pages with their code, of 4 KiB.
        code_pages: u64,
        /// Ranges of 128 KiB of the file with their code.
        readahead_windows: u64,
        /// Times that the next function lies before the last one in the file.
        backward_jumps: u64,
    }
}

row! {
    /// Relocated words of one object of one class: vtables, the GOT, tables of pointers.
    OwnerRow in "owners" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source; see `objects`.
        archive: Option<String>,
        /// The object.
        path: String,
        /// The package that owns it.
        package: Option<String>,
        /// The class: `vtable`, `typeinfo`, `init-array`, `global-offset-table`, `named-table` or `untold`.
        owner: String,
        /// How the class was determined: `section`, `name`, `shape` or `nothing`.
        told_by: String,
        /// Relocated words.
        relocations: u64,
        /// Those that refer to a symbol.
        symbolic: u64,
    }
}

/// The rows of inspected objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inspected {
    /// The objects.
    pub objects: Vec<ObjectRow>,
    /// Their findings.
    pub findings: Vec<FindingRow>,
    /// The libraries that they need.
    pub needed: Vec<NeededRow>,
    /// Their initialisers.
    pub initialisers: Vec<InitialiserRow>,
    /// The classes of their relocated words.
    pub owners: Vec<OwnerRow>,
}

impl Inspected {
    /// Adds an object, and what the search for its libraries costs, if that is known.
    pub fn add(&mut self, place: &Place, inspection: &Inspection, search: Option<&SearchCost>) {
        self.objects.push(object(place, inspection, search));
        // The search through the actual directories replaces what the object alone makes likely.
        let is_followed = |kind| search.is_some() && kind == coldstart_inspect::FindingKind::LongSearchPath;
        let own = inspection.findings.iter().filter(|finding| !is_followed(finding.kind));
        let followed = search.map(SearchCost::findings).unwrap_or_default();
        self.findings.extend(own.chain(&followed).map(|finding| {
            let saves = &finding.saves;
            let fix = finding.fixes.first();
            FindingRow {
                source: place.source.clone(),
                archive: place.archive.clone(),
                path: place.path.clone(),
                package: place.package.clone(),
                kind: finding.kind.name(),
                fix: fix.map(|fix| fix_text(fix).1.to_owned()),
                fix_by: fix.map(|fix| fix_text(fix).0),
                fixes: finding.fixes.iter().map(|fix| fix_text(fix).1.to_owned()).collect(),
                saves_bytes: saves.file_bytes,
                saves_read_pages: saves.read_pages,
                saves_private_pages: saves.private_pages,
                saves_seeks: saves.seeks,
                saves_lookups: saves.lookups,
                saves_probes: saves.probes,
                weight: saves.weight(),
                certainty: name(&finding.certainty),
                what: finding.what.clone(),
                place: finding.place.clone(),
                condition: finding.condition,
            }
        }));
        let needed = &inspection.parts.layout.names.needed;
        self.needed.extend(needed.iter().zip(0..).map(|(library, position)| NeededRow {
            source: place.source.clone(),
            archive: place.archive.clone(),
            path: place.path.clone(),
            package: place.package.clone(),
            position,
            library: library.clone(),
        }));
        let functions = &inspection.parts.initialisers.functions;
        self.initialisers.extend(InitialiserKind::ALL.iter().filter_map(|kind| initialisers(place, *kind, functions)));
        self.owners.extend(inspection.parts.owners.counts.iter().map(|count| OwnerRow {
            source: place.source.clone(),
            archive: place.archive.clone(),
            path: place.path.clone(),
            package: place.package.clone(),
            owner: name(&count.owner),
            told_by: name(&count.told_by),
            relocations: count.count,
            symbolic: count.symbolic,
        }));
    }
}

fn object(place: &Place, inspection: &Inspection, search: Option<&SearchCost>) -> ObjectRow {
    let (facts, figures, names) = (&inspection.object, Figures::of(inspection), &inspection.parts.layout.names);
    ObjectRow {
        source: place.source.clone(),
        archive: place.archive.clone(),
        path: place.path.clone(),
        package: place.package.clone(),
        package_version: place.package_version.clone(),
        kind: name(&facts.kind),
        machine: facts.machine.clone(),
        bits: facts.bits.into(),
        is_big_endian: facts.is_big_endian,
        bytes: facts.bytes,
        build_id: facts.build_id.clone(),
        soname: names.soname.clone(),
        interpreter: names.interpreter.clone(),
        search_path: names.runpath.clone().or_else(|| names.rpath.clone()),
        names_from: name(&facts.names_from),
        relocations: figures.relocations,
        relocation_bytes: figures.relocation_bytes,
        packed_relocations: figures.packed_relocations,
        packing_saves_bytes: figures.packing_saves_bytes,
        private_pages: figures.private_pages,
        lookups: figures.lookups,
        initialisers: figures.initialisers,
        read_requests: figures.read_requests,
        seeks: figures.seeks,
        read_bytes: figures.read_bytes,
        failed_probes: search.map(|search| search.failed_probes),
        missing_libraries: search.map(|search| search.missing.len() as u64),
    }
}

fn initialisers(place: &Place, kind: InitialiserKind, all: &[Initialiser]) -> Option<InitialiserRow> {
    let these: Vec<Initialiser> = all.iter().filter(|function| function.kind == kind).cloned().collect();
    let totals = InitialiserTotals::of(&these);
    (totals.count > 0).then(|| InitialiserRow {
        source: place.source.clone(),
        archive: place.archive.clone(),
        path: place.path.clone(),
        package: place.package.clone(),
        kind: name(&kind),
        functions: totals.count,
        functions_of_unknown_size: totals.functions_of_unknown_size,
        code_bytes: totals.code_bytes,
        code_pages: totals.code_pages,
        readahead_windows: totals.readahead_windows,
        backward_jumps: totals.backward_jumps,
    })
}

/// Who applies a fix, and its text.
fn fix_text(fix: &Fix) -> (&'static str, &'static str) {
    match fix {
        Fix::Verb(text) => ("verb", text),
        Fix::Linker(text) => ("linker", text),
        Fix::Compiler(text) => ("compiler", text),
        Fix::Source(text) => ("source", text),
    }
}

/// The name that a value without data has in JSON.
fn name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => format!("{other:?}"),
    }
}
