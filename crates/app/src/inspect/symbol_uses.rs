//! Which libraries of a program nothing refers to.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use coldstart_elf::ElfFile;
use coldstart_inspect::{Inspection, Offers, Unused, Wants};
use coldstart_loader::{Closure, FoundBy, Identity, LoadedObject};
use coldstart_sys::file_view::FileView;

use super::closure::name_in;

/// Which objects refer to a symbol of which others. The answers are remembered, since many programs load the same libraries.
#[derive(Debug, Default)]
pub struct SymbolUses {
    /// By the user and the library.
    known: Mutex<HashMap<(Identity, Identity), bool>>,
}

impl SymbolUses {
    /// The libraries of a program that none of its objects refers to by any symbol. `map` opens a path of the closure, which may be one
    /// below another root; `inspect` gives what is in an object, by its number.
    pub fn unused(
        &self,
        closure: &Closure,
        map: impl Fn(&Path) -> Option<FileView>,
        inspect: impl Fn(usize) -> Option<Inspection>,
    ) -> Vec<Unused> {
        let mut unused = Vec::new();
        for (library, object) in closure.objects.iter().enumerate() {
            let requests = closure.requests.iter().filter(|request| request.object == Some(library));
            let mut requesters: Vec<usize> =
                requests.filter(|request| !request.preload).map(|request| request.requester).collect();
            requesters.dedup();
            // Preloaded objects and the loader are not counted as unused.
            if requesters.is_empty() || object.preloaded || is_loader(closure, object) {
                continue;
            }
            // First the objects that need it: one of them nearly always uses it. Others may use it without DT_NEEDED.
            let others = (0..closure.objects.len()).filter(|other| *other != library && !requesters.contains(other));
            let mut users = requesters.iter().copied().chain(others).filter_map(|user| closure.objects.get(user));
            if users.any(|user| self.refers(user, object, &map)) {
                continue;
            }
            let inspection = inspect(library);
            let parts = inspection.as_ref().map(|inspection| &inspection.parts);
            unused.push(Unused {
                library: name_in(closure, library),
                needed_by: requesters.iter().map(|requester| name_in(closure, *requester)).collect(),
                private_pages: parts.map_or(0, |parts| parts.relocations.dirtied_pages.pages),
                seeks: parts.map_or(0, |parts| parts.loader_reads.seeks),
            });
        }
        unused
    }

    /// Whether an object refers to a symbol that a library defines. Unknown counts as yes.
    fn refers(&self, user: &LoadedObject, library: &LoadedObject, map: impl Fn(&Path) -> Option<FileView>) -> bool {
        let pair = (user.identity, library.identity);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(refers) = known().get(&pair) {
            return *refers;
        }
        let look = || {
            let (user, library) = (map(&user.path)?, map(&library.path)?);
            let (uses, offers) = (ElfFile::parse(user.bytes()).ok()?, ElfFile::parse(library.bytes()).ok()?);
            let refers = Offers::of(&offers)?.any(&Wants::of(&uses).ok()?);
            // What was cut off of a file meanwhile has no symbols.
            (!user.shrank() && !library.shrank()).then_some(refers)
        };
        let refers = look().unwrap_or(true);
        known().insert(pair, refers);
        refers
    }
}

fn is_loader(closure: &Closure, object: &LoadedObject) -> bool {
    object.found_by == FoundBy::Interpreter
        || closure.objects.first().is_some_and(|program| {
            let interpreter = program.facts.interpreter.as_deref().unwrap_or_default();
            let name = interpreter.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            !name.is_empty() && object.name_asked.ends_with(name)
        })
}
