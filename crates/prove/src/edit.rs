//! The requested change of an output: another search for libraries, or bound references.
//!
//! The proof checks an output against it, so it is defined here, below every planner.

use std::collections::BTreeSet;

/// References to a file's own definitions that are bound in the output: relative relocations instead of look-ups by name.
///
/// Without any symbol here, references may be bound that no other object can take over: to local symbols; with glibc also
/// to hidden ones, and all of an object with `DT_SYMBOLIC`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindEdit {
    /// Dynamic symbols, by index, that no object before this one defines in the programs for which the output is made.
    /// The proof cannot know this; whoever makes the edit must.
    pub not_interposed: BTreeSet<u32>,
    /// References to `__cxa_pure_virtual` may lead to a jump in the file itself, whose operand is one of these words.
    pub pure_virtual: bool,
    /// The output may relocate itself by a stub that `DT_INIT` leads to (docs/pack.md).
    pub stub: bool,
    /// Segments may be aligned to less, where no section needs more and the machine has pages of 4 KiB only.
    pub lower_alignment: bool,
}

/// The new search for libraries of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchEdit {
    /// All `DT_NEEDED` of the new file, in order.
    pub needed: Vec<Vec<u8>>,
    /// `DT_RPATH` or `DT_RUNPATH` of the new file; the other one is removed. None for neither.
    pub path: Option<SearchPath>,
    /// `DT_AUDIT` of the new file; none keeps it unchanged.
    pub audit: Option<Vec<u8>>,
    /// Notes with a `PT_NOTE` of their own, as the bytes of a note section (gABI, "Note Section", aligned to 4), with
    /// the section's name.
    pub loaded_note: Option<LoadedNote>,
}

/// A list of directories, with its position in the search order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// Its tag.
    pub kind: PathKind,
    /// Colon-separated directories, as stored in the file.
    pub text: Vec<u8>,
}

/// The tag of a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// `DT_RPATH`: searched before `LD_LIBRARY_PATH`, and inherited by all objects that this one loads.
    Rpath,
    /// `DT_RUNPATH`: searched after `LD_LIBRARY_PATH`, for the object's own requests only.
    Runpath,
}

/// Notes in a loaded segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedNote {
    /// Name of the section, such as `.note.nixos.ldcache`.
    pub section: String,
    /// The section's bytes.
    pub bytes: Vec<u8>,
}
