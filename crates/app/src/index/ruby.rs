//! Ruby's part of an index: written before the recorded start, filled from its log.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use coldstart_index::log::Event;
use coldstart_index::ruby::{HOOK, PACK, RUBYGEMS, RubyIndex, files};
use coldstart_index::{IndexPlace, Language, LanguageIndex};
use coldstart_launch::LaunchOptions;

use super::answer::Compiler;
use super::{finish_pack, note_unknown, of_providers, remove_temporaries};
use crate::error::AppError;

/// Beside `rubygems.rb`, only while an index is made.
const HOOK_SOURCE: &str = "ruby/hook.rb";
const PACK_SCRIPT: &str = "ruby/pack.rb";
const TEXT: &str = "ruby/index.txt";
const LIST: &str = "ruby/pack.list";
const ANSWER: &str = "ruby/pack.answer";

/// Writes what a recorded start needs.
pub(super) fn prepare(place: &IndexPlace) -> Result<(), AppError> {
    place.write(files::RUBYGEMS, RUBYGEMS.as_bytes())?;
    Ok(place.write(HOOK_SOURCE, HOOK.as_bytes())?)
}

/// Writes the index from the log of the recorded start. `Ok(None)`: no supported Ruby took part in it.
///
/// # Errors
/// If Ruby does not compile, or a file cannot be written.
pub(super) fn fill(
    place: &IndexPlace,
    events: &[Event],
    options: &LaunchOptions,
    notes: &mut Vec<String>,
) -> Result<Option<LanguageIndex>, AppError> {
    let Some(index) = RubyIndex::new(events) else { return Ok(None) };
    note_unknown(index.providers.unknown.iter().cloned(), Language::Ruby, notes);
    place.write(PACK_SCRIPT, PACK.as_bytes())?;
    place.write(TEXT, &index.text())?;
    place.write(LIST, &index.list())?;
    let path = |name: &str| place.directory().join(name);
    // Without what the program's variables bring along.
    let mut arguments: Vec<OsString> = ["--disable-gems", "--disable=rubyopt"].map(OsString::from).into();
    arguments.extend([PACK_SCRIPT, TEXT, LIST, "ruby"].map(|name| path(name).into_os_string()));
    let compiler = Compiler {
        language: Language::Ruby,
        interpreter: index.executable.clone(),
        arguments,
        answer: path(ANSWER),
        oldest: "2.7 or later",
    };
    let packed = index.packed(&compiler.run(options)?);
    let pack_bytes = finish_pack(place, files::PACK, index.is_public())?;
    remove_temporaries(place, &[HOOK_SOURCE, PACK_SCRIPT, TEXT, LIST, ANSWER])?;
    let (interpreter, version) = (index.executable, index.version);
    let part = of_providers(Language::Ruby, interpreter, version, index.missing, &index.providers);
    // Ruby opens a source whose code is in the pack, and does not read it.
    let in_pack: BTreeSet<&[u8]> = packed.iter().map(|source| source.path.as_os_str().as_bytes()).collect();
    let read_ahead = part.read_ahead.into_iter().filter(|file| !in_pack.contains(&**file)).collect();
    Ok(Some(LanguageIndex { sources: packed, pack_bytes, read_ahead, ..part }))
}
