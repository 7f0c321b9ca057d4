//! What an output was asked to change: another search for libraries.
//!
//! The proof holds an output against it, so that it stands here, below every planner.

/// What a file shall say about the libraries it needs and where they are searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchEdit {
    /// All `DT_NEEDED` of the new file, in their order.
    pub needed: Vec<Vec<u8>>,
    /// `DT_RPATH` or `DT_RUNPATH` of the new file; the other one goes. None for neither.
    pub path: Option<SearchPath>,
    /// `DT_AUDIT` of the new file; none keeps it as it is.
    pub audit: Option<Vec<u8>>,
    /// Notes that a loader shall find by a `PT_NOTE` of their own, as the bytes of a note section (gABI, "Note Section",
    /// aligned to 4), with the section's name.
    pub loaded_note: Option<LoadedNote>,
}

/// A list of directories, with its place in the loader's order of search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// By which tag.
    pub kind: PathKind,
    /// Directories with colons between them, as they shall stand in the file.
    pub text: Vec<u8>,
}

/// The tag of a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// `DT_RPATH`: before `LD_LIBRARY_PATH`, and for all that the object loads.
    Rpath,
    /// `DT_RUNPATH`: behind `LD_LIBRARY_PATH`, and for what the object itself asks for.
    Runpath,
}

/// Notes to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedNote {
    /// Name of the section, as `.note.nixos.ldcache`.
    pub section: String,
    /// The section's bytes.
    pub bytes: Vec<u8>,
}
