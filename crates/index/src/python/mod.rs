//! The index for Python: which directory has which module, and the code of all modules in one pack.
//!
//! | what | where |
//! |---|---|
//! | what a recorded start says | `recording.rs` |
//! | what a directory answers, by Python's rules | `resolve.rs` |
//! | the data that `shims/python/hook.py` reads | `marshal.rs`, here |
//!
//! Not obvious: the hook starts as a module `encodings` in the first directory of PYTHONPATH. That is the only module that Python
//! imports before `site`, whose `.pth` files already search. A warning category (PYTHONWARNINGS) comes as early, but prints a message
//! in every start that does not find it: one whose program replaces PYTHONPATH, or after the index has been removed.

mod marshal;
mod recording;
mod resolve;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::directories::{Directories, Known};
use crate::identity::Identity;
use crate::listing::Times;
use crate::log::{Event, escaped};
use crate::manifest::SourceFile;
use crate::sources::settled_sources;
use marshal::Marshal;
use recording::{FoundModule, Recording, as_path, stripped};
use resolve::{Answer, LOADERS, resolve, stems, suffixes};

/// Stands in front of Python's own module of that name.
pub const ENCODINGS: &str = include_str!("../../shims/python/encodings.py");
/// Runs in every start of the recorded interpreter.
pub const HOOK: &str = include_str!("../../shims/python/hook.py");
/// Run by the recorded interpreter when an index is made: compiles.
pub const PACK: &str = include_str!("../../shims/python/pack.py");
/// The variable that names the log of a recorded start.
pub const LOG_VARIABLE: &str = "COLDSTART_INDEX_LOG";

/// Names of the files in the index's directory for Python.
pub mod files {
    /// [`super::ENCODINGS`].
    pub const ENCODINGS: &str = "python/encodings/__init__.py";
    /// [`super::HOOK`] compiled, with the interpreter's version in front.
    pub const HOOK: &str = "python/hook.bin";
    /// What [`super::PythonIndex::encode`] returns.
    pub const INDEX: &str = "python/index.bin";
    /// The modules' code.
    pub const PACK: &str = "python/pack.bin";
}

/// Version of the index's data, which the hook knows.
const VERSION: i64 = 1;

/// The index for one interpreter of Python.
#[derive(Debug)]
pub struct PythonIndex {
    recording: Recording,
    directories: Directories,
    /// For each directory, as Python names it, the names with a known answer.
    answers: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Answer>>,
    /// Modules whose code belongs into the pack: names and sources.
    sources: Vec<(Vec<u8>, SourceFile)>,
}

/// Where a module's code is in the pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedCode {
    /// The number of the module among [`PythonIndex::sources`].
    pub number: usize,
    /// Offset in bytes.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

impl PythonIndex {
    /// From the log of a recorded start; waits for directories that have just changed. `None` if no Python wrote into it.
    pub fn new(events: &[Event]) -> Option<Self> {
        let recording = Recording::of(events)?;
        let listed = recording.directories();
        let directories = Directories::list(listed.iter().map(|path| as_path(path)), Times::Nanoseconds);
        let mut index = Self { answers: BTreeMap::new(), sources: Vec::new(), directories, recording };
        index.find_answers();
        index.find_sources();
        Some(index)
    }

    /// The interpreter.
    pub fn executable(&self) -> &Path {
        &self.recording.executable
    }

    /// Its version, as `sys.version` has it, on one line.
    pub fn version(&self) -> String {
        let text = self.recording.tag.first().map(|text| String::from_utf8_lossy(text)).unwrap_or_default();
        text.split(' ').next().unwrap_or_default().to_owned()
    }

    /// The degree of optimisation that its code is compiled with (`-O`).
    pub fn optimize(&self) -> i64 {
        self.recording.optimize
    }

    /// What was listed and what guards it.
    pub fn directories(&self) -> &Directories {
        &self.directories
    }

    /// Number of names with a known place.
    pub fn module_count(&self) -> u64 {
        self.answers.values().map(|names| names.len() as u64).sum()
    }

    /// Number of names that nothing had.
    pub fn missing_count(&self) -> u64 {
        self.recording.missing.len() as u64
    }

    /// Modules whose code belongs into the pack.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = &SourceFile> {
        self.sources.iter().map(|(_, source)| source)
    }

    /// The list for [`PACK`]: the pack's identity, then names and sources.
    pub fn pack_list(&self, identity: &str) -> Vec<u8> {
        let mut list = format!("{identity}\n").into_bytes();
        for (name, source) in &self.sources {
            list.extend(escaped(name));
            list.push(b'\t');
            list.extend(escaped(source.path.as_os_str().as_bytes()));
            list.push(b'\n');
        }
        list
    }

    fn find_answers(&mut self) {
        let suffixes = suffixes(&self.recording.extension_suffixes());
        let mut by_path: BTreeMap<&[u8], Vec<&Vec<u8>>> = BTreeMap::new();
        let listed = self.recording.directories();
        for path in &listed {
            by_path.entry(stripped(path)).or_default().push(path);
        }
        for module in &self.recording.found {
            for holder in holders(module) {
                for path in by_path.get(holder).into_iter().flatten() {
                    let below = [holder, b"/", &module.tail].concat();
                    let Some((listing, _)) = self.directories.listing(as_path(path)) else { continue };
                    let below = self.directories.listing(as_path(&below)).map(|(listing, _)| listing);
                    let answer = resolve(listing, below, &module.tail, &suffixes);
                    // What Python found must be what we find now; else it has changed meanwhile, or another finder did it.
                    if let Some(answer) = answer.filter(|answer| is_as_found(answer, module, holder)) {
                        self.answers.entry((*path).clone()).or_default().insert(module.tail.clone(), answer);
                    }
                }
            }
        }
    }

    /// Waits for sources that have just changed, as [`Directories::list`] does for directories.
    fn find_sources(&mut self) {
        let mut found = BTreeMap::new();
        for module in self.recording.found.iter().filter(|module| module.loader == LOADERS[1]) {
            if as_path(&module.origin).is_absolute() {
                found.entry(module.origin.clone()).or_insert_with(|| module.name.clone());
            }
        }
        let paths = found.keys().map(|path| as_path(path));
        let mut names: BTreeMap<PathBuf, Vec<u8>> =
            found.iter().map(|(path, name)| (as_path(path).to_owned(), name.clone())).collect();
        self.sources = settled_sources(paths)
            .into_iter()
            .filter_map(|source| Some((names.remove(&source.path)?, source)))
            .collect();
    }

    /// The data for the hook. Of `packed`, those whose source is still the same are taken. `maker` is the user that makes it.
    pub fn encode(&self, identity: &str, packed: &[PackedCode], maker: u32) -> Vec<u8> {
        let mut out = Marshal::default();
        out.tuple(9).int(VERSION);
        out.tuple(self.recording.tag.len());
        for field in &self.recording.tag {
            out.text(field);
        }
        out.bytes(identity.as_bytes()).int(i64::from(maker));
        let guards = self.directories.guards();
        out.tuple(guards.len());
        for guard in guards {
            out.tuple(5).text(guard.path.as_os_str().as_bytes());
            match guard.identity {
                Some(identity) => write_identity(&mut out, &identity),
                None => out.int(-1).int(-1).int(0).int(0),
            };
        }
        self.write_directories(&mut out);
        self.write_top_names(&mut out);
        out.dictionary();
        for code in packed {
            let Some((_, known)) = self.sources.get(code.number) else { continue };
            if SourceFile::of(&known.path).as_ref() != Some(known) {
                continue;
            }
            out.text(known.path.as_os_str().as_bytes()).tuple(7);
            write_identity(&mut out, &known.identity);
            for number in [known.bytes, code.offset, code.length] {
                out.int(i64::try_from(number).unwrap_or(i64::MAX));
            }
        }
        out.end().int(self.recording.optimize);
        out.finish()
    }

    fn write_directories(&self, out: &mut Marshal) {
        out.dictionary();
        for path in self.recording.directories() {
            let (guard, stems_of) = match self.directories.get(as_path(&path)) {
                Some(Known::Listed(listing, guard)) => (*guard, Some(listing)),
                Some(Known::Absent(guard)) => (*guard, None),
                _ => continue,
            };
            out.text(&path).tuple(3).int(i64::try_from(guard).unwrap_or(i64::MAX)).dictionary();
            for (tail, answer) in self.answers.get(&path).into_iter().flatten() {
                out.text(tail).tuple(4).int(answer.kind).text(&answer.file);
                out.bool(answer.is_package).bool(answer.is_link);
            }
            out.end();
            let stems: BTreeSet<&[u8]> = stems_of.into_iter().flat_map(stems).collect();
            let mut rest = b"\n".to_vec();
            for stem in stems {
                rest.extend(stem);
                rest.push(b'\n');
            }
            out.bytes(&rest);
        }
        out.end();
    }

    /// For each name that was asked for, the entries of `sys.path` that have it or may have it.
    fn write_top_names(&self, out: &mut Marshal) {
        let mut having: BTreeMap<&[u8], Vec<&[u8]>> =
            self.recording.top_names.iter().map(|name| (name.as_slice(), Vec::new())).collect();
        for entry in &self.recording.entries {
            let Some((listing, _)) = self.directories.listing(as_path(entry)) else { continue };
            let stems: BTreeSet<&[u8]> = stems(listing).collect();
            for stem in stems {
                if let Some(entries) = having.get_mut(stem) {
                    entries.push(entry);
                }
            }
        }
        out.dictionary();
        for (name, entries) in having {
            out.text(name).tuple(entries.len());
            for entry in entries {
                out.text(entry);
            }
        }
        out.end();
    }

    /// The pack's entries as [`PACK`] prints them; malformed lines are left out.
    pub fn packed(printed: &str) -> Vec<PackedCode> {
        let parse = |line: &str| {
            let mut numbers = line.split(' ').map(|word| word.parse::<u64>().ok());
            let (number, offset, length) = (numbers.next()??, numbers.next()??, numbers.next()??);
            Some(PackedCode { number: usize::try_from(number).ok()?, offset, length })
        };
        printed.lines().filter_map(parse).collect()
    }

    /// Whether all sources in the pack may be read by everybody; otherwise the pack must not be, either.
    pub fn is_public(&self) -> bool {
        self.sources.iter().all(|(_, source)| source.is_public())
    }
}

fn write_identity<'m>(out: &'m mut Marshal, identity: &Identity) -> &'m mut Marshal {
    let number = |number: u64| i64::try_from(number).unwrap_or(-2);
    out.int(identity.device.map_or(-1, number)).int(number(identity.inode));
    out.int(identity.modified).int(identity.changed)
}

/// The source that a file belongs to: of `__pycache__/NAME.TAG.pyc`, `NAME.py` beside `__pycache__`; of any other, itself.
pub fn source_of(file: &Path) -> PathBuf {
    let name = file.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
    let above = file.parent().filter(|parent| parent.ends_with("__pycache__")).and_then(Path::parent);
    match (above, name.strip_suffix(b".pyc").and_then(|rest| rest.split(|&byte| byte == b'.').next())) {
        (Some(above), Some(stem)) => above.join(as_path(&[stem, b".py"].concat())),
        _ => file.to_owned(),
    }
}

/// The directories in which a module was found.
fn holders(module: &FoundModule) -> Vec<&[u8]> {
    let parent = |path: &[u8]| path.iter().rposition(|&byte| byte == b'/');
    let above = |path: &'_ [u8]| parent(path).filter(|&end| end > 0);
    match (module.loader.is_empty(), module.locations.first()) {
        (true, _) => module.locations.iter().filter_map(|path| path.get(..above(path)?)).collect(),
        (false, Some(own)) => above(own).and_then(|end| own.get(..end)).into_iter().collect(),
        (false, None) => above(&module.origin).and_then(|end| module.origin.get(..end)).into_iter().collect(),
    }
}

/// Whether our answer for a directory is what Python found there.
fn is_as_found(answer: &Answer, module: &FoundModule, holder: &[u8]) -> bool {
    match usize::try_from(answer.kind) {
        Err(_) => module.loader.is_empty(),
        Ok(kind) => {
            LOADERS.get(kind).is_some_and(|loader| *loader == module.loader)
                && module.origin == [holder, b"/", &answer.file].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_code_belongs_to_its_source() {
        let of = |path: &str| source_of(Path::new(path)).into_os_string().into_string().unwrap_or_default();
        assert_eq!(of("/a/__pycache__/m.cpython-311.pyc"), "/a/m.py");
        assert_eq!(of("/a/__pycache__/m.cpython-311.opt-1.pyc"), "/a/m.py");
        assert_eq!(of("/a/m.pyc"), "/a/m.pyc");
        assert_eq!(of("/a/m.so"), "/a/m.so");
    }
}
