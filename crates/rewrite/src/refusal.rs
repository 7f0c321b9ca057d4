//! Why a file is not rewritten: the reason, its location, and a hint.

use coldstart_elf::{ElfError, FileOffset, PositionError, Vaddr};

use crate::changed::Change;
use crate::libc_floor::LibcFloor;
use crate::way_back::WayBack;

/// A reason not to rewrite a file. It is a result, not an error: the file is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A table of the file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] ElfError),
    /// Only shared objects and position-independent programs are relocated as a whole.
    #[error("it is {0}; only shared libraries and position-independent programs have relative relocations")]
    NotDynamic(&'static str),
    /// No dynamic table.
    #[error("no dynamic table: a static program, or a file without its loaded bytes")]
    NoDynamicTable,
    /// `pure-virtual`: code for this architecture is not known.
    #[error("only the code of x86-64 is known")]
    JumpsUnknown,
    /// `pure-virtual`: no place for ten bytes of code.
    #[error("no ten unused bytes between two functions, of which the unwind tables tell")]
    NoUnusedCode,
    /// `lower-alignment`: an architecture with larger pages.
    #[error("its segments may be loaded in pages of more than 4 KiB")]
    LargerPages,
    /// `stub`: no code for this architecture.
    #[error("there is no stub for its architecture")]
    NoStub,
    /// `stub`: the object is used before its initialisers run.
    #[error("it cannot relocate itself: {0}")]
    NeededEarly(&'static str),
    /// `stub`: no place for the code.
    #[error("no room for the stub behind a segment of code")]
    NoCodeRoom,
    /// An architecture with unknown or untested relocations.
    #[error("RELR is untested on architecture {0}")]
    Machine(String),
    /// Not loaded by a loader.
    #[error("it is {0}, which is not loaded by a loader")]
    NotLoaded(&'static str),
    /// An architecture whose rewritten files we have not run.
    #[error("architecture {0} is untested")]
    UntriedMachine(String),
    /// No room for one more program header.
    #[error("no room after the program headers for one more")]
    NoHeaderRoom,
    /// The program applies its relocations itself.
    #[error("it relocates itself ({0}), with code that may not support DT_RELR")]
    RelocatesItself(&'static str),
    /// The required loader does not support RELR.
    #[error("the loader of {floor} does not support DT_RELR; {first} is the first that does")]
    LoaderTooOld {
        /// The oldest required C library.
        floor: LibcFloor,
        /// The first version with support.
        first: LibcFloor,
    },
    /// No version of this file's C library can be assumed.
    #[error("it is built for {library}, which supports DT_RELR only since {first}")]
    LibcUnknown {
        /// `musl` or `Android's bionic`.
        library: &'static str,
        /// The first version with support.
        first: LibcFloor,
    },
    /// Without section headers, other data between the tables is unknown.
    #[error("no section headers: other users of the bytes around its tables are unknown")]
    NoSections,
    /// Section headers that cannot be read.
    #[error("its section headers are damaged: {0}")]
    SectionsDamaged(String),
    /// Section headers that are inconsistent.
    #[error("its section headers contradict {0}")]
    SectionsLie(String),
    /// Packed by elfhack or relrhack: injected code applies the relocations.
    #[error("already packed by {0}, whose injected code depends on the layout")]
    PackedByOther(&'static str),
    /// Android's packed tables are present.
    #[error("it has Android's packed relocations in addition to the others")]
    AndroidPacked,
    /// Prelinked files contain addresses of other libraries.
    #[error("it was prelinked ({0}); undo that with `prelink --undo`")]
    Prelinked(&'static str),
    /// Relocations change code.
    #[error("relocations change read-only memory (DT_TEXTREL)")]
    TextRelocations,
    /// A relative relocation of a read-only word.
    #[error(
        "entry {entry} of {table} (file offset {offset}) relocates the word at {address}, outside every writable segment"
    )]
    NotWritable {
        /// Number of the entry, from 0.
        entry: usize,
        /// Name of the table.
        table: &'static str,
        /// File offset of the entry.
        offset: FileOffset,
        /// The word.
        address: Vaddr,
    },
    /// Two relocations change the same bytes, and RELR would change their order.
    #[error("two relocations change the word at {address}; packing one would change their order")]
    Overlapping {
        /// The word.
        address: Vaddr,
    },
    /// A duplicate tag.
    #[error("duplicate {0} in the dynamic table")]
    RepeatedTag(String),
    /// Both kinds of tables.
    #[error("it has relocations both with and without addends (DT_REL and DT_RELA)")]
    MixedForms,
    /// The relocation tables cannot be replaced separately.
    #[error("{table} at {address} is not exactly one section{hint}")]
    TableIsNoSection {
        /// Name of the table.
        table: &'static str,
        /// Its address.
        address: Vaddr,
        /// The probable cause.
        hint: &'static str,
    },
    /// An unknown dynamic tag points into tables that would move.
    #[error("the dynamic tag {tag} points to {address}, among the tables that would move")]
    UnknownPointer {
        /// Name or number of the tag.
        tag: String,
        /// The address it points to.
        address: Vaddr,
    },
    /// The program has a pointer to a table that would move.
    #[error("the word at {word} points to {address}, among the tables that would move")]
    PointedTo {
        /// The word that is relocated.
        word: Vaddr,
        /// The address it points to.
        address: Vaddr,
    },
    /// A symbol has an address in tables that would move.
    #[error("the dynamic symbol `{name}` is at {address}, among the tables that would move")]
    SymbolInTables {
        /// Its name.
        name: String,
        /// Its address.
        address: Vaddr,
    },
    /// The dynamic table has too few spare entries.
    #[error(
        "the dynamic table has {found} of {needed} required spare entries and cannot grow, because the data after it cannot move"
    )]
    NoDynamicSlot {
        /// Entries that are needed.
        needed: usize,
        /// Entries that could be freed without changing the object.
        found: usize,
    },
    /// Bytes outside sections: a payload that the program may locate by file offset.
    #[error(
        "{size} byte{} from file offset {offset} belong{} to no section; the program may access them by file offset",
        if *.size == 1 { "" } else { "s" },
        if *.size == 1 { "s" } else { "" }
    )]
    Payload {
        /// Their offset.
        offset: FileOffset,
        /// Their number.
        size: u64,
    },
    /// Segments that overlap, or are not in order.
    #[error("{0}")]
    Layout(String),
    /// Too many versions for one more.
    #[error("no free version index for GLIBC_ABI_DT_RELR")]
    NoVersionNumber,
    /// There is no note of ours.
    #[error("no note of an edit by coldstart")]
    NotOurs,
    /// The note has no undo data.
    #[error("{}", no_way_back(*.0))]
    NoWayBack(WayBack),
    /// The note's format has no identity.
    #[error(
        "the note in it, of an early version of coldstart, does not identify the file, so that nothing shows whether it was \
         changed since"
    )]
    Unrecorded,
    /// The file is not the one that we wrote.
    #[error("changed after coldstart wrote it: {0}")]
    ChangedSince(Change),
    /// Data appended to the file would have to move, but must not.
    #[error("the appended bytes contain {what} and would move from file offset {} to {}", .from.0, .to.0)]
    PayloadMoves {
        /// The data with offsets from the start of the file.
        what: &'static str,
        /// Its offset.
        from: FileOffset,
        /// Its new offset.
        to: FileOffset,
    },
    /// The note is damaged or contradicts the file.
    #[error("its note cannot undo the edit: {0}")]
    CannotUndo(String),
}

/// Offset overflow: the file's layout is invalid.
impl From<PositionError> for Refusal {
    fn from(error: PositionError) -> Self {
        Self::Layout(error.to_string())
    }
}

impl Refusal {
    /// A stable short name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "unreadable",
            Self::NotDynamic(_) => "not-dynamic",
            Self::NoDynamicTable => "no-dynamic-table",
            Self::Machine(_) | Self::UntriedMachine(_) => "machine",
            Self::NotLoaded(_) => "not-loaded",
            Self::NoHeaderRoom => "no-header-room",
            Self::RelocatesItself(_) => "relocates-itself",
            Self::LoaderTooOld { .. } => "loader-too-old",
            Self::LibcUnknown { .. } => "libc-unknown",
            Self::NoSections => "no-sections",
            Self::SectionsDamaged(_) | Self::SectionsLie(_) => "sections-lie",
            Self::PackedByOther(_) => "packed-by-other",
            Self::AndroidPacked => "android-packed",
            Self::Prelinked(_) => "prelinked",
            Self::TextRelocations => "text-relocations",
            Self::NotWritable { .. } => "not-writable",
            Self::Overlapping { .. } => "overlapping-relocations",
            Self::RepeatedTag(_) => "repeated-tag",
            Self::MixedForms => "mixed-forms",
            Self::TableIsNoSection { .. } => "table-is-no-section",
            Self::UnknownPointer { .. } => "unknown-pointer",
            Self::PointedTo { .. } => "pointed-to",
            Self::JumpsUnknown => "machine",
            Self::NoUnusedCode => "no-unused-code",
            Self::NoStub | Self::LargerPages => "machine",
            Self::NeededEarly(_) => "needed-early",
            Self::NoCodeRoom => "no-code-room",
            Self::SymbolInTables { .. } => "symbol-in-tables",
            Self::NoDynamicSlot { .. } => "no-dynamic-slot",
            Self::Payload { .. } => "payload",
            Self::Layout(_) => "layout",
            Self::NoVersionNumber => "no-version-number",
            Self::NotOurs => "not-ours",
            Self::NoWayBack(_) => "no-way-back",
            Self::Unrecorded => "unrecorded",
            Self::ChangedSince(_) => "changed-since",
            Self::PayloadMoves { .. } => "payload-moves",
            Self::CannotUndo(_) => "cannot-undo",
        }
    }

    /// A hint, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::LoaderTooOld { first, .. } => {
                Some(format!("if all target machines have it, use `--min-libc {first}`"))
            }
            Self::LibcUnknown { first, .. } => {
                Some(format!("if all target machines have that version, use `--min-libc {first}`"))
            }
            Self::NoDynamicSlot { needed, found } if needed.checked_sub(*found) == Some(1) => {
                Some("`--drop-syment` frees one more: DT_SYMENT, which loaders ignore".to_owned())
            }
            Self::NoDynamicSlot { .. } => {
                Some("link with `-z pack-relative-relocs`, or with `-z now` so that DT_FLAGS can go".to_owned())
            }
            Self::Payload { .. } => Some(
                "rewrite the file before anything is added to it; `unpack --keep-payload` and `unbind --keep-payload` then \
                 restore it with what was added"
                    .to_owned(),
            ),
            Self::NoSections => Some("rewrite the file before its section headers are removed".to_owned()),
            Self::PackedByOther(_) => Some("start from the file before that packing".to_owned()),
            Self::TextRelocations => Some("compile it with -fPIC".to_owned()),
            Self::ChangedSince(Change::Appended { size_before, .. }) => {
                Some(format!("`truncate -s {size_before} FILE` removes the appended bytes"))
            }
            Self::PayloadMoves { from, .. } => Some(format!(
                "`truncate -s {} FILE` removes them; append them to the restored file with the tool that created them",
                from.0
            )),
            Self::NoWayBack(_) | Self::Unrecorded | Self::ChangedSince(_) | Self::CannotUndo(_) => Some(
                "use the original from `--keep-original`, or from its package or build".to_owned(),
            ),
            _ => None,
        }
    }
}

fn no_way_back(way_back: WayBack) -> &'static str {
    match way_back {
        WayBack::Kept => "its note has no undo data",
        WayBack::Declined => "it was packed with `--no-undo`, so that its note has no undo data",
        WayBack::TooLong => "the undo data would have exceeded a quarter of the saving and was left out",
    }
}
