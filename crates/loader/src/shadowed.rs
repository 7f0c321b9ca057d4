//! Requests that got another file than their own search would find: a name that is already loaded is not searched.
//!
//! In a store with one directory per package, this is how two versions of a library collide: the first requester
//! decides for all.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::glibc::Glibc;
use crate::musl::Musl;
use crate::{Closure, Environment, FileSystem, FoundBy, Identity, Known, Rules};

/// A request that got a loaded object although a search would have found another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// Index of the requesting object.
    pub requester: usize,
    /// The requested name, after expansion.
    pub name: Vec<u8>,
    /// Index of the object it got.
    pub object: usize,
    /// The file that the requester's own search finds.
    pub other: PathBuf,
    /// The rule of that search.
    pub found_by: FoundBy,
    /// The identity of that file; never that of `object`.
    pub identity: Identity,
}

/// Requests of a finished closure that would have found another file if the name had not been loaded before. Each
/// pair of requester and name once, in the order of requests; preloaded names and paths are left out.
///
/// This costs up to a full search per request, so it is not part of [`resolve`](crate::resolve()).
pub fn shadowed(closure: &Closure, system: &impl FileSystem, environment: &Environment) -> Vec<Shadowed> {
    let mut glibc = (environment.rules == Rules::Glibc).then(|| Glibc::again(closure, system, environment));
    let mut musl = (environment.rules == Rules::Musl).then(|| Musl::again(closure, system, environment));
    let mut seen: HashMap<(usize, &[u8]), ()> = HashMap::new();
    let mut shadowed = Vec::new();
    for request in &closure.requests {
        let by_name = matches!(request.found_by, Some(FoundBy::AlreadyLoaded(Known::Name | Known::Soname)));
        let name = request.name_asked.as_slice();
        if !by_name || request.preload || name.is_empty() || name.contains(&b'/') {
            continue;
        }
        let Some(object) = request.object else { continue };
        if seen.insert((request.requester, name), ()).is_some() {
            continue;
        }
        let found = glibc.as_mut().and_then(|glibc| glibc.would_find(request.requester, name));
        let found = found.or_else(|| musl.as_mut().and_then(|musl| musl.would_find(request.requester, name)));
        let Some((path, found_by, identity)) = found else { continue };
        if closure.objects.get(object).is_some_and(|object| object.identity != identity) {
            let other = crate::names::path(&path).to_owned();
            let requester = request.requester;
            shadowed.push(Shadowed { requester, name: name.to_vec(), object, other, found_by, identity });
        }
    }
    shadowed
}
