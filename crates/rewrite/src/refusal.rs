//! Why a file is not rewritten: what is in the way, where, and what would help.

use coldstart_elf::{ElfError, FileOffset, PositionError, Vaddr};

use crate::identity::Change;
use crate::libc_floor::LibcFloor;
use crate::note::WayBack;

/// A reason not to rewrite a file. It is a result, not an error: the file is as good as before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A table of the file cannot be read.
    #[error("{0}")]
    Unreadable(#[from] ElfError),
    /// Only shared objects and position-independent programs are relocated as a whole.
    #[error("it is {0}; only shared libraries and position-independent programs have relative relocations")]
    NotDynamic(&'static str),
    /// No dynamic table.
    #[error("it has no dynamic table: a static program, or a file without its loaded bytes")]
    NoDynamicTable,
    /// A machine whose relocations we do not know, or have not tried.
    #[error("RELR for the machine {0} has not been tried")]
    Machine(String),
    /// Not what a loader loads.
    #[error("it is {0}, which no loader loads")]
    NotLoaded(&'static str),
    /// A machine whose files we have not rewritten and run.
    #[error("files for the machine {0} have not been tried")]
    UntriedMachine(String),
    /// One more program header has no room.
    #[error("it needs one more program header, and nothing behind the table of them can give way")]
    NoHeaderRoom,
    /// The program applies its relocations by code of its own.
    #[error("it relocates itself ({0}), by code that may not know DT_RELR")]
    RelocatesItself(&'static str),
    /// The loader that must read it does not know RELR.
    #[error("the loader of {floor} does not apply DT_RELR; {first} is the first that does")]
    LoaderTooOld {
        /// The oldest C library asked for.
        floor: LibcFloor,
        /// The first version that would do.
        first: LibcFloor,
    },
    /// The C library of this file has no version that can be assumed.
    #[error("it is made for {library}, whose loader applies DT_RELR only since {first}")]
    LibcUnknown {
        /// `musl` or `Android's bionic`.
        library: &'static str,
        /// The first version that would do.
        first: LibcFloor,
    },
    /// Without section headers nobody can tell what else is between the tables.
    #[error("it has no section headers, so that nothing tells what else uses the bytes around its tables")]
    NoSections,
    /// Section headers that cannot be true.
    #[error("its section headers contradict {0}")]
    SectionsLie(String),
    /// Packed by elfhack or relrhack: relocations are applied by injected code.
    #[error("it was packed by {0} already, whose injected code relies on the layout")]
    PackedByOther(&'static str),
    /// Android's packed tables are in the way.
    #[error("it has packed relocations in Android's own form beside the others")]
    AndroidPacked,
    /// Prelinked files hold addresses of other libraries.
    #[error("it was prelinked ({0}); `prelink --undo` takes that back")]
    Prelinked(&'static str),
    /// Relocations change code.
    #[error("relocations change read-only memory (DT_TEXTREL)")]
    TextRelocations,
    /// A relative relocation of a word that cannot be written.
    #[error(
        "entry {entry} of {table} (file offset {offset}) relocates the word at {address}, which is in no writable segment"
    )]
    NotWritable {
        /// Number of the entry, from 0.
        entry: usize,
        /// Name of the table.
        table: &'static str,
        /// Where the entry stands.
        offset: FileOffset,
        /// The word.
        address: Vaddr,
    },
    /// Two relocations change the same bytes, and RELR would change their order.
    #[error("two relocations change the word at {address}, and packing one would change their order")]
    Overlapping {
        /// The word.
        address: Vaddr,
    },
    /// A tag that may stand once only stands twice.
    #[error("{0} stands more than once in the dynamic table")]
    RepeatedTag(String),
    /// Both kinds of tables.
    #[error("it has relocations both with and without addends (DT_REL and DT_RELA)")]
    MixedForms,
    /// The relocations are divided in a way that no table of ours can replace.
    #[error("{table} at {address} is not one section of its own{hint}")]
    TableIsNoSection {
        /// Name of the table.
        table: &'static str,
        /// Its address.
        address: Vaddr,
        /// What may have caused it.
        hint: &'static str,
    },
    /// A dynamic tag that we do not know points into what would move.
    #[error("the dynamic tag {tag} points to {address}, among the tables that would move")]
    UnknownPointer {
        /// Name or number of the tag.
        tag: String,
        /// Where it points.
        address: Vaddr,
    },
    /// The program has a pointer to a table that would move.
    #[error("the word at {word} points to {address}, among the tables that would move")]
    PointedTo {
        /// The word that is relocated.
        word: Vaddr,
        /// Where it points.
        address: Vaddr,
    },
    /// A symbol names a place that would move.
    #[error("the dynamic symbol `{name}` names {address}, among the tables that would move")]
    SymbolInTables {
        /// Its name.
        name: String,
        /// Its address.
        address: Vaddr,
    },
    /// The dynamic table has too few entries to spare.
    #[error("the dynamic table has {found} of {needed} entries to spare, and cannot grow: what follows it cannot move")]
    NoDynamicSlot {
        /// Entries that are needed.
        needed: usize,
        /// Entries that could be freed without changing what the object means.
        found: usize,
    },
    /// Bytes that no section covers: a payload that the program may look for by its place in the file.
    #[error(
        "{size} byte{} from file offset {offset} belong{} to no section; the program may look there by the place",
        if *.size == 1 { "" } else { "s" },
        if *.size == 1 { "s" } else { "" }
    )]
    Payload {
        /// Where they begin.
        offset: FileOffset,
        /// How many.
        size: u64,
    },
    /// Segments that overlap, or are not in order.
    #[error("{0}")]
    Layout(String),
    /// Too many versions for one more.
    #[error("its version table has no number left for GLIBC_ABI_DT_RELR")]
    NoVersionNumber,
    /// There is no note of ours to take back.
    #[error("it holds no note of an edit by coldstart")]
    NotOurs,
    /// The note does not hold what restores the original.
    #[error("{}", no_way_back(*.0))]
    NoWayBack(WayBack),
    /// The note is of a form that does not identify the file.
    #[error(
        "the note in it, of an early version of coldstart, does not identify the file, so that nothing shows whether it was \
         changed since"
    )]
    Unrecorded,
    /// The file is not the one that we wrote.
    #[error("it was changed after coldstart had written it: {0}")]
    ChangedSince(Change),
    /// What was appended to the file must not move, and would have to.
    #[error("the appended bytes hold {what}, and would move from file offset {} to {}", .from.0, .to.0)]
    PayloadMoves {
        /// What counts from the start of the file.
        what: &'static str,
        /// Where they begin.
        from: FileOffset,
        /// Where they would begin.
        to: FileOffset,
    },
    /// The note is damaged or contradicts the file.
    #[error("the note in it cannot take the edit back: {0}")]
    CannotUndo(String),
}

/// Places that cannot be: what the file says of itself is then no layout.
impl From<PositionError> for Refusal {
    fn from(error: PositionError) -> Self {
        Self::Layout(error.to_string())
    }
}

impl Refusal {
    /// A short name for scripts, which never changes.
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
            Self::SectionsLie(_) => "sections-lie",
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

    /// What would help, where something would.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::LoaderTooOld { first, .. } => {
                Some(format!("if all machines it will run on have it, say `--min-libc {first}`"))
            }
            Self::LibcUnknown { first, .. } => {
                Some(format!("if all machines it will run on have that version, say `--min-libc {first}`"))
            }
            Self::NoDynamicSlot { needed, found } if needed.checked_sub(*found) == Some(1) => {
                Some("`--drop-syment` frees one more: DT_SYMENT, which says what every loader knows".to_owned())
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
            Self::PackedByOther(_) => Some("start from the file as it was before that".to_owned()),
            Self::TextRelocations => Some("compile it with -fPIC".to_owned()),
            Self::ChangedSince(Change::Appended { size_before, .. }) => {
                Some(format!("`truncate -s {size_before} FILE` takes the appended bytes away"))
            }
            Self::PayloadMoves { from, .. } => Some(format!(
                "`truncate -s {} FILE` takes them away; append them to the restored file by the tool that made them",
                from.0
            )),
            Self::NoWayBack(_) | Self::Unrecorded | Self::ChangedSince(_) | Self::CannotUndo(_) => Some(
                "take the original from where `--keep-original` has kept it, or from its package or build".to_owned(),
            ),
            _ => None,
        }
    }
}

fn no_way_back(way_back: WayBack) -> &'static str {
    match way_back {
        WayBack::Kept => "the note in it does not hold what restores the original",
        WayBack::Declined => {
            "it was packed with `--no-undo`, so that the note in it does not hold what restores the original"
        }
        WayBack::TooLong => {
            "what restores the original would have taken more than a quarter of what packing saved, and was left out"
        }
    }
}
