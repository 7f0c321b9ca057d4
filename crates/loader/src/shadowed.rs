//! Which answers came from being first: a name that was loaded already is not searched, although the requester's own
//! search would have led to another file.
//!
//! In a store with one directory per package that is how two versions of a library meet: whoever asks first decides for all.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::glibc::Glibc;
use crate::musl::Musl;
use crate::{Closure, Environment, FileSystem, FoundBy, Identity, Known, Rules};

/// A request that was answered by an object that was there, while a search would have found another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// Index of the object that asked.
    pub requester: usize,
    /// The name that was asked for, after expansion.
    pub name: Vec<u8>,
    /// Index of the object that answered.
    pub object: usize,
    /// The file that the requester's own search leads to.
    pub other: PathBuf,
    /// By which rule.
    pub found_by: FoundBy,
    /// Which file that is; always another than that of `object`.
    pub identity: Identity,
}

/// Requests of a finished closure that would have found another file, had nobody asked for the name before. Each pair of
/// requester and name once, in the order of the requests; preloaded names and paths are left out.
///
/// This costs up to a whole search for each request, so it is no part of [`resolve`](crate::resolve()).
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
