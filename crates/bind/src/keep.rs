//! Libraries that must be opened by their own path, because they look for others beside themselves.
//!
//! glibc takes a library's `$ORIGIN` from the path by which it was opened, links not followed: opened through a link in
//! another directory, a library looks beside the link (`_dl_map_object_from_fd`, `l_origin`). The same path is what `dladdr`
//! tells. GStreamer 1.22 looks for its plug-ins by it, and opened through a link finds none. Others fall back to the directory they
//! were built for (ALSA 1.2) or follow the link themselves (NSS); which of them a library is, its imports do not tell.

use std::path::PathBuf;

use coldstart_loader::{Closure, FileSystem};
use serde::Serialize;

use crate::hoist::{Answer, Hoisted, utf8};
use crate::origin::{self, Tree, bytes, directory_of, has_origin};
use crate::{Details, Refusal};

/// Why a library keeps its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepReason {
    /// It imports `dlopen` or `dlmopen`, and its own search path has `$ORIGIN`.
    OpensByOrigin,
    /// A name that it needs has `$ORIGIN`.
    NeedsByOrigin,
    /// It imports `dladdr`, `dlinfo` or the like, and can ask for the path by which it was opened.
    AsksOwnPath,
    /// The options say so.
    Asked,
}

/// Own names, up to the version, of libraries that can ask for their path and lose nothing by a link's, as their sources
/// tell: libcrypto opens itself once more, by that path, so that nobody unloads it (crypto/init.c); libnspr4 answers others
/// (prlink.c, `PR_GetLibraryFilePathname`), who keep their path themselves; NSS looks beside the link and, finding nothing,
/// where it leads (lib/freebl/genload.c, `loader_GetOriginalPathname`). Nearly every program has one of them.
const LOSE_NOTHING: [&[u8]; 6] =
    [b"libcrypto.so", b"libnspr4.so", b"libnss3.so", b"libnssutil3.so", b"libsmime3.so", b"libssl3.so"];

/// A library that keeps its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The name that is asked for.
    pub(crate) name: String,
    /// Index of the object.
    pub(crate) object: usize,
    pub(crate) reason: KeepReason,
}

/// Which of the hoisted libraries keep their path.
pub(crate) fn kept(closure: &Closure, hoisted: &[Hoisted], details: &[Details], asked: &[String]) -> Vec<Kept> {
    let searched = hoisted.iter().filter(|name| matches!(name.answer, Answer::Found(_)));
    let kept = searched.filter_map(|name| {
        let facts = &closure.objects.get(name.object)?.facts;
        let own_path = facts.runpath.as_deref().or(facts.rpath.as_deref()).unwrap_or_default();
        let details = details.get(name.object);
        let opens = details.is_some_and(|details| details.imports_dlopen);
        let asks = details.is_some_and(|details| details.asks_own_path);
        let soname = facts.soname.as_deref().unwrap_or_default();
        let reason = if facts.needed.iter().any(|needed| has_origin(needed)) {
            KeepReason::NeedsByOrigin
        } else if opens && has_origin(own_path) {
            KeepReason::OpensByOrigin
        } else if asks && !loses_nothing(soname) {
            KeepReason::AsksOwnPath
        } else if asked.iter().any(|asked| *asked == name.text || asked.as_bytes() == soname) {
            KeepReason::Asked
        } else {
            return None;
        };
        Some(Kept { name: name.text.clone(), object: name.object, reason })
    });
    kept.collect()
}

fn loses_nothing(soname: &[u8]) -> bool {
    let is = |name: &&[u8]| soname.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."));
    LOSE_NOTHING.iter().any(is)
}

/// The directories in which libraries that keep their path are found, as texts for the search path, each once.
///
/// # Errors
/// For a directory that cannot stand on a search path.
pub(crate) fn directories(
    hoisted: &[Hoisted],
    kept: &[Kept],
    tree: &Tree,
    files: &impl FileSystem,
) -> Result<Vec<String>, Refusal> {
    let mut directories: Vec<String> = Vec::new();
    let mut real_directories: Vec<PathBuf> = Vec::new();
    for library in kept {
        let Some(found) = hoisted.iter().find(|name| name.text == library.name).and_then(Hoisted::found) else {
            continue;
        };
        let path = bytes(found);
        // The cache may have a library under a name that its file does not have; no directory finds it then.
        if path.rsplit(|byte| *byte == b'/').next() != Some(library.name.as_bytes()) {
            continue;
        }
        let directory = without_level(directory_of(path));
        let real = files.canonical(origin::path(directory)).unwrap_or_else(|| origin::path(directory).to_owned());
        if real_directories.contains(&real) {
            continue;
        }
        real_directories.push(real);
        let text = utf8(tree.text(library.object, directory))?;
        if text.contains(':') || (text.contains('$') && !text.starts_with("$ORIGIN")) {
            return Err(Refusal::PathText(text, "a colon or `$`"));
        }
        directories.push(text);
    }
    Ok(directories)
}

/// The directory that is searched, for one of its level subdirectories.
fn without_level(directory: &[u8]) -> &[u8] {
    let above = directory_of(directory);
    if above.ends_with(b"/glibc-hwcaps") { directory_of(above) } else { directory }
}
