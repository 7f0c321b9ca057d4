//! Python's part of an index: written before the recorded start, filled from its log.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use coldstart_index::log::Event;
use coldstart_index::python::{ENCODINGS, HOOK, PACK, PythonIndex, files};
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_launch::LaunchOptions;

use super::answer::Compiler;
use super::{finish_pack, note_unknown, remove_temporaries};
use crate::error::AppError;

/// Beside `encodings`, only while a start is recorded.
const HOOK_SOURCE: &str = "python/hook.py";
const PACK_SCRIPT: &str = "python/pack.py";
const PACK_LIST: &str = "python/pack.list";
const PACK_ANSWER: &str = "python/pack.answer";

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    place.write(files::ENCODINGS, ENCODINGS.as_bytes())?;
    place.write(HOOK_SOURCE, HOOK.as_bytes())?;
    Ok(())
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no supported Python took part in it.
///
/// # Errors
/// If the interpreter does not compile, or a file cannot be written.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    options: &LaunchOptions,
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = PythonIndex::new(events) else { return Ok(None) };
    note_unknown(index.directories().unknown(), Language::Python, notes);
    // Pack and index belong together: an index that meets another pack does not use it.
    let identity = unique()?;
    // The recorded start compiled it for its own place.
    let _ = fs::remove_dir_all(place.directory().join("python/encodings/__pycache__"));
    place.write(PACK_SCRIPT, PACK.as_bytes())?;
    place.write(PACK_LIST, &index.pack_list(&identity))?;
    let answer = compile(place.directory(), &index, options)?;
    let packed = PythonIndex::packed(&answer);
    let maker = rustix::process::geteuid().as_raw();
    place.write(files::INDEX, &index.encode(&identity, &packed, maker))?;
    let pack_bytes = finish_pack(place, files::PACK, index.is_public())?;
    remove_temporaries(place, &[HOOK_SOURCE, PACK_SCRIPT, PACK_LIST, PACK_ANSWER])?;
    let modules = index.module_count();
    let sources: Vec<_> = index.sources().cloned().collect();
    let sources = packed.iter().filter_map(|code| sources.get(code.number).cloned()).collect();
    Ok(Some(LanguageIndex {
        language: Language::Python,
        interpreter: index.executable().to_owned(),
        version: index.version(),
        modules,
        missing: index.missing_count(),
        guards: index.directories().guards().to_vec(),
        sources,
        pack_bytes,
        read_ahead: Vec::new(),
    }))
}

/// Random letters, which no other pack has.
fn unique() -> Result<String, AppError> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut random| io::Read::read_exact(&mut random, &mut bytes))
        .context("cannot read random numbers")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Lets the recorded interpreter compile hook and modules. Returns what it printed.
fn compile(directory: &Path, index: &PythonIndex, options: &LaunchOptions) -> Result<String, AppError> {
    let path = |name: &str| directory.join(name).into_os_string();
    // Isolated: none of the program's own modules, variables or `.pth` files.
    let mut arguments: Vec<OsString> = ["-I", "-S", "-B"].map(OsString::from).into();
    let degree = usize::try_from(index.optimize()).unwrap_or(0).min(2);
    arguments.extend(std::iter::repeat_n(OsString::from("-O"), degree));
    arguments.extend([PACK_SCRIPT, PACK_LIST, files::PACK, HOOK_SOURCE, files::HOOK, files::ENCODINGS].map(path));
    let compiler = Compiler {
        language: Language::Python,
        interpreter: index.executable().to_owned(),
        arguments,
        answer: directory.join(PACK_ANSWER),
        oldest: "3.9 or later",
    };
    compiler.run(options)
}
