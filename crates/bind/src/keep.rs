//! Libraries that must be opened by their own path, because they look for other files next to themselves.
//!
//! glibc takes a library's `$ORIGIN` from the path by which it was opened, without resolving links: opened through a
//! link in another directory, a library searches next to the link (`_dl_map_object_from_fd`, `l_origin`). `dladdr`
//! returns the same path. GStreamer 1.22 finds its plug-ins by it, and finds none if opened through a link. Others
//! fall back to their build-time directory (ALSA 1.2) or follow the link themselves (NSS). A library's imports do not
//! tell which kind it is.

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
    /// It imports `dlopen` or `dlmopen`, and its own search path contains `$ORIGIN`.
    OpensByOrigin,
    /// A name in its `DT_NEEDED` contains `$ORIGIN`.
    NeedsByOrigin,
    /// It imports `dladdr`, `dlinfo` or the like, and can query the path by which it was opened.
    AsksOwnPath,
    /// The options say so.
    Asked,
}

/// Sonames, without the version, of libraries that can query their path but work through a link, according to their
/// sources. libcrypto opens itself again by that path, to prevent unloading (crypto/init.c); libnspr4 returns it to
/// callers (prlink.c, `PR_GetLibraryFilePathname`), which keep their path themselves; NSS searches next to the link
/// and then next to its target (lib/freebl/genload.c, `loader_GetOriginalPathname`). Nearly every program has one of
/// them.
const LOSE_NOTHING: [&[u8]; 6] =
    [b"libcrypto.so", b"libnspr4.so", b"libnss3.so", b"libnssutil3.so", b"libsmime3.so", b"libssl3.so"];

/// A library that keeps its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The requested name.
    pub(crate) name: String,
    /// Index of the object.
    pub(crate) object: usize,
    pub(crate) reason: KeepReason,
}

/// The hoisted libraries that keep their path.
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

/// The directories of libraries that keep their path, as texts for the search path, without duplicates.
///
/// # Errors
/// For a directory that cannot be on a search path.
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
        // The cache may list a library under a name that its file does not have; no directory finds it then.
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

/// The searched directory of a level subdirectory.
fn without_level(directory: &[u8]) -> &[u8] {
    let above = directory_of(directory);
    if above.ends_with(b"/glibc-hwcaps") { directory_of(above) } else { directory }
}
