//! Paths relative to the program's own directory.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use coldstart_loader::{Closure, FoundBy};

/// Index of the program in every closure.
pub(crate) const PROGRAM: usize = 0;

/// Which objects of a closure were found through `$ORIGIN`, starting from the program, so that they move along with
/// the tree.
#[derive(Debug)]
pub(crate) struct Tree {
    /// The program's directory without symbolic links: the value of `$ORIGIN`.
    directory: Vec<u8>,
    moves_along: Vec<bool>,
}

impl Tree {
    /// Determines it from how each object was found. `program` has no symbolic links. Nothing moves along if the
    /// bound program will be in another directory (`stays` is false).
    pub(crate) fn of(closure: &Closure, program: &Path, stays: bool) -> Self {
        let directory = program.parent().unwrap_or(Path::new("/")).as_os_str().as_bytes().to_vec();
        let mut moves_along = vec![false; closure.objects.len()];
        // A requester comes before its objects, except for the interpreter, which is found by an absolute path.
        for index in 0..closure.objects.len() {
            let moves = stays && (index == PROGRAM || found_from_origin(closure, index, &directory, &moves_along));
            if let Some(slot) = moves_along.get_mut(index) {
                *slot = moves;
            }
        }
        Self { directory, moves_along }
    }

    /// Whether an object moves along with the program.
    pub(crate) fn moves_along(&self, object: usize) -> bool {
        self.moves_along.get(object).copied().unwrap_or(false)
    }

    /// The part of a path after the program's directory, with its slash.
    pub(crate) fn behind<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let directory = self.directory.strip_suffix(b"/").unwrap_or(&self.directory);
        path.strip_prefix(directory).filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// A path as stored in the program: with `$ORIGIN` for an object that moves along.
    pub(crate) fn text(&self, object: usize, path: &[u8]) -> Vec<u8> {
        match self.behind(path).filter(|_| self.moves_along(object)) {
            Some(rest) => [b"$ORIGIN", rest].concat(),
            None => path.to_vec(),
        }
    }
}

fn found_from_origin(closure: &Closure, index: usize, directory: &[u8], moves_along: &[bool]) -> bool {
    let Some(object) = closure.objects.get(index) else { return false };
    let path = object.path.as_os_str().as_bytes();
    let moves = |of: usize| moves_along.get(of).copied().unwrap_or(false);
    let origin = |of: usize| {
        let path = closure.objects.get(of).map(|object| object.path.as_os_str().as_bytes()).unwrap_or_default();
        if of == PROGRAM { directory.to_vec() } else { directory_of(path).to_vec() }
    };
    let (of, list) = match object.found_by {
        FoundBy::Rpath { of } => (of, closure.objects.get(of).and_then(|of| of.facts.effective_rpath())),
        FoundBy::Runpath { of } => (of, closure.objects.get(of).and_then(|of| of.facts.runpath.as_deref())),
        FoundBy::Path => {
            let request = closure.requests.iter().find(|request| request.object == Some(index));
            let by_origin = request.is_some_and(|request| behind_origin(&request.needed).is_some());
            return by_origin && request.is_some_and(|request| moves(request.requester));
        }
        _ => return false,
    };
    let mut elements = list.unwrap_or_default().split(|byte| *byte == b':').filter_map(behind_origin);
    moves(of)
        && elements.any(|rest| {
            let rest = trimmed(rest);
            path.strip_prefix([origin(of).as_slice(), rest].concat().as_slice())
                .is_some_and(|rest| rest.starts_with(b"/"))
        })
}

/// The part after `$ORIGIN` at the beginning of a text.
pub(crate) fn behind_origin(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"${ORIGIN}").or_else(|| text.strip_prefix(b"$ORIGIN"))?;
    (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
}

/// Whether a text contains `$ORIGIN`.
pub(crate) fn has_origin(text: &[u8]) -> bool {
    let has = |token: &[u8]| text.windows(token.len()).any(|window| window == token);
    has(b"$ORIGIN") || has(b"${ORIGIN}")
}

/// Whether a text contains one of the loader's tokens: `$ORIGIN`, `$LIB`, `$PLATFORM`.
pub(crate) fn has_token(text: &[u8]) -> bool {
    let tokens: [&[u8]; 4] = [b"$LIB", b"${LIB}", b"$PLATFORM", b"${PLATFORM}"];
    has_origin(text) || tokens.iter().any(|token| text.windows(token.len()).any(|window| window == *token))
}

/// The part before the last slash.
pub(crate) fn directory_of(path: &[u8]) -> &[u8] {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    path.get(..slash.max(1)).unwrap_or_default()
}

fn trimmed(mut text: &[u8]) -> &[u8] {
    while let Some(shorter) = text.strip_suffix(b"/") {
        text = shorter;
    }
    text
}

/// The relative path from one directory to another, both absolute and without symbolic links or dots: "../lib", or ""
/// for the same.
pub(crate) fn way(from: &Path, to: &Path) -> PathBuf {
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    from.map(|_| Component::ParentDir).chain(to).collect()
}

/// A path with its dots resolved lexically; correct without symbolic links.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            component => result.push(component),
        }
    }
    result
}

/// Bytes of a path.
pub(crate) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// Bytes as a path.
pub(crate) fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A text with `$ORIGIN` replaced by the program's directory.
pub(crate) fn expanded(text: &str, program: &Path) -> PathBuf {
    match behind_origin(text.as_bytes()) {
        Some(rest) => {
            let directory = program.parent().unwrap_or(Path::new("/"));
            path(&[bytes(directory), rest].concat()).to_owned()
        }
        None => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{behind_origin, way, without_dots};

    #[test]
    fn ways_and_dots() {
        assert_eq!(way(Path::new("/app/bin/.farm"), Path::new("/app/bin")), Path::new(".."));
        assert_eq!(way(Path::new("/app/bin"), Path::new("/app/lib/x")), Path::new("../lib/x"));
        assert_eq!(way(Path::new("/app"), Path::new("/app")), Path::new(""));
        assert_eq!(without_dots(Path::new("/app/bin/.././lib")), Path::new("/app/lib"));
        assert_eq!(behind_origin(b"$ORIGIN/../lib"), Some(b"/../lib".as_slice()));
        assert_eq!(behind_origin(b"${ORIGIN}"), Some(b"".as_slice()));
        assert_eq!(behind_origin(b"$ORIGINAL"), None);
    }
}
