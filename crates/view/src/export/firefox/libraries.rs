//! Objects as libraries of a profile, with build ids and function names.
//!
//! The profiler counts addresses from a library's first byte in memory, a trace from address 0 of the file: they
//! differ in programs that are linked to a fixed address.

use std::collections::HashMap;
use std::sync::Arc;

use coldstart_profile::trace::{CodeAddress, FileId, TracedObject};
use fxprof_processed_profile::debugid::DebugId;
use fxprof_processed_profile::{
    CategoryHandle, Frame, FrameFlags, FrameInfo, LibraryHandle, LibraryInfo, Profile, Symbol, SymbolTable,
};

use super::super::names::Names;

/// Bytes of a build id that make the identity by which symbol servers know a library.
const IDENTITY: usize = 16;

/// A trace's objects in the profile.
pub(super) struct Libraries(HashMap<FileId, Library>);

struct Library {
    handle: LibraryHandle,
    /// Address of the first byte in memory, without load bias.
    first: u64,
}

impl Libraries {
    pub(super) fn new(names: &Names<'_>, profile: &mut Profile) -> Self {
        let add = |object: &TracedObject| {
            let first = object.segments.first().map_or(0, |segment| segment.address & !0xfff);
            let handle = profile.add_lib(information(object, first, names));
            (object.file, Library { handle, first })
        };
        Self(names.trace.objects.iter().map(add).collect())
    }

    /// An instruction as a frame: by its place in a library, or by name where it is in none.
    pub(super) fn frame(&self, code: CodeAddress, names: &Names<'_>, profile: &mut Profile) -> FrameInfo {
        let place = self.0.get(&code.file).and_then(|library| {
            let address = u32::try_from(code.address.checked_sub(library.first)?).ok()?;
            Some(Frame::RelativeAddressFromInstructionPointer(library.handle, address))
        });
        let frame = place.unwrap_or_else(|| Frame::Label(profile.intern_string(&names.code(code))));
        FrameInfo { frame, category_pair: CategoryHandle::OTHER.into(), flags: FrameFlags::empty() }
    }
}

fn information(object: &TracedObject, first: u64, names: &Names<'_>) -> LibraryInfo {
    let (path, name) = (names.path(Some(object.file)).into_owned(), names.file_name(Some(object.file)).into_owned());
    let symbols = object.symbols.iter().filter(|symbol| symbol.is_function).filter_map(|symbol| {
        let address = u32::try_from(symbol.address.checked_sub(first)?).ok()?;
        let size = (symbol.size > 0).then(|| u32::try_from(symbol.size).unwrap_or(u32::MAX));
        Some(Symbol { address, size, name: symbol.name.clone() })
    });
    LibraryInfo {
        debug_name: name.clone(),
        debug_path: path.clone(),
        name,
        path,
        debug_id: object.build_id.as_deref().and_then(identity).unwrap_or_default(),
        code_id: object.build_id.clone(),
        arch: None,
        symbol_table: Some(Arc::new(SymbolTable::new(symbols.collect()))),
    }
}

/// The identity that breakpad makes of a build id: its first 16 bytes, filled up with zeros, as a GUID.
fn identity(build_id: &str) -> Option<DebugId> {
    let mut bytes = [0; IDENTITY];
    for (byte, digits) in bytes.iter_mut().zip(build_id.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    DebugId::from_guid_age(&bytes, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn a_build_id_is_an_identity() {
        let breakpad = |id| identity(id).map(|id| id.breakpad().to_string());
        assert_eq!(
            breakpad("b88bd01237a8bfa5e4dafbdd3ea67fe3bd5ec47d").as_deref(),
            Some("12D08BB8A837A5BFE4DAFBDD3EA67FE30")
        );
        assert_eq!(breakpad("c0ffee").as_deref(), Some("00EEFFC00000000000000000000000000"));
        assert_eq!(breakpad("not hexadecimal"), None);
    }
}
