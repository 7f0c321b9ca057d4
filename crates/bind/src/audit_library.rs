//! The auditing library of a bound program as a file: planned, compared with what was written, removed.
//!
//! A newcomer might not guess why this is stricter than for the libraries that a program needs: an upgrade replaces those,
//! and the loader follows. Nothing but `bind` writes this one, and glibc runs its code in the program before all other code.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_elf::{ByteOrder, Class, Encoding};
use coldstart_loader::ObjectFacts;
use coldstart_sys::named_file::read_regular;
use serde::{Deserialize, Serialize};

use crate::audit::{self, Architecture, Table};
use crate::{Binding, Caution, Change, Refusal};

/// The largest file that is read to compare it, in bytes; a table takes some hundred for each library.
const LARGEST: u64 = 256 << 20;
/// Write permission of the group and of all others, and the sticky bit (`inode(7)`).
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// An auditing library that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLibrary {
    /// Where: an absolute path.
    pub path: PathBuf,
    /// What it answers.
    pub table: Table,
    /// The whole file.
    pub bytes: Vec<u8>,
}

/// What the note says of an auditing library; its path is [`Binding::audit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundAuditLibrary {
    /// Size in bytes.
    pub size: u64,
    /// BLAKE3 of its content, in hexadecimal digits.
    pub blake3: String,
}

/// What became of an auditing library that was to go.
#[derive(Debug)]
pub enum AuditLibraryRemoved {
    /// It is gone.
    Removed,
    /// It was not there.
    WasGone,
    /// It stays: it is not, or cannot be shown to be, the file that was written for this program.
    Kept(Change),
    /// The system refused.
    Failed(io::Error),
}

/// Who may write to a file besides the owner of the program and root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// Every user.
    Others,
    /// Its group, which may not write to the program.
    Group,
    /// Its owner, who does not own the program.
    Owner,
}

impl AuditLibrary {
    /// Builds the library for a program of these facts.
    pub(crate) fn plan(path: PathBuf, table: Table, program: &ObjectFacts) -> Result<Self, Refusal> {
        let no_library = Refusal::NoAuditArchitecture { machine: program.machine };
        let architecture = encoding(program).and_then(Architecture::of).ok_or(no_library)?;
        let built = audit::build(architecture, &table);
        let bytes = built.map_err(|error| Refusal::AuditTable(error.to_string()))?;
        Ok(Self { path, table, bytes })
    }

    /// What the note says of it.
    pub(crate) fn bound(&self) -> BoundAuditLibrary {
        BoundAuditLibrary::of(&self.bytes)
    }
}

impl BoundAuditLibrary {
    fn of(bytes: &[u8]) -> Self {
        Self { size: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() }
    }
}

/// What has changed about the auditing library of `program` since it was bound; none when it is as it was written, or the
/// program has none. The path of `program` has no symbolic links.
pub fn audit_library_change(binding: &Binding, program: &Path) -> Option<Change> {
    let path = binding.audit_library_path(program)?;
    let bytes = match content(&path) {
        Ok(bytes) => bytes,
        Err(error) => return Some(Change::AuditLibraryGone { path, reason: error.to_string() }),
    };
    match &binding.audit_library {
        None => Some(Change::AuditLibraryUnrecorded { path }),
        Some(recorded) if *recorded == BoundAuditLibrary::of(&bytes) => None,
        Some(_) => Some(Change::AuditLibraryReplaced { path, by_coldstart: audit::read(&bytes).is_ok() }),
    }
}

/// Whether users who cannot write to the program can write to its auditing library, or replace it. The path of `program`
/// has no symbolic links.
pub fn audit_library_caution(binding: &Binding, program: &Path) -> Option<Caution> {
    let library = binding.audit_library_path(program)?;
    let of_program = fs::metadata(program).ok()?;
    // Whoever may write to the directory may put another file in the library's place.
    let places = [Some(library.as_path()), library.parent()];
    places.into_iter().flatten().find_map(|place| {
        let writer = writer(&fs::metadata(place).ok()?, &of_program)?;
        Some(Caution::AuditLibraryWritable { path: place.to_owned(), by: writer })
    })
}

/// Removes the auditing library of a program that is no longer bound, if it is the very file that was written for it. The
/// path of `program` has no symbolic links. None for a program without one.
pub fn remove_audit_library(binding: &Binding, program: &Path) -> Option<(PathBuf, AuditLibraryRemoved)> {
    let path = binding.audit_library_path(program)?;
    let removed = match (path.symlink_metadata(), audit_library_change(binding, program)) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => AuditLibraryRemoved::WasGone,
        (Err(error), _) => AuditLibraryRemoved::Failed(error),
        (Ok(_), Some(change)) => AuditLibraryRemoved::Kept(change),
        // A link was put there by others, whatever it leads to.
        (Ok(metadata), None) if !metadata.is_file() => {
            AuditLibraryRemoved::Kept(Change::AuditLibraryReplaced { path: path.clone(), by_coldstart: false })
        }
        (Ok(_), None) => match fs::remove_file(&path) {
            Ok(()) => AuditLibraryRemoved::Removed,
            Err(error) => AuditLibraryRemoved::Failed(error),
        },
    };
    Some((path, removed))
}

/// The table of the library that stands there; none when there is no readable one.
pub(crate) fn table_at(path: &Path) -> Option<Table> {
    audit::read(&content(path).ok()?).ok()
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, LARGEST)
}

fn writer(place: &Metadata, program: &Metadata) -> Option<Writer> {
    // In a sticky directory, others cannot replace what is not theirs.
    let is_sticky = place.is_dir() && place.mode() & STICKY != 0;
    let writes = |bit: u32| place.mode() & bit != 0 && !is_sticky;
    if writes(OTHERS_WRITE) {
        Some(Writer::Others)
    } else if writes(GROUP_WRITES) && (program.mode() & GROUP_WRITES == 0 || place.gid() != program.gid()) {
        Some(Writer::Group)
    } else if ![0, program.uid()].contains(&place.uid()) {
        Some(Writer::Owner)
    } else {
        None
    }
}

fn encoding(program: &ObjectFacts) -> Option<Encoding> {
    let class = match program.class {
        coldstart_loader::Class::Bits32 => Class::Elf32,
        coldstart_loader::Class::Bits64 => Class::Elf64,
        coldstart_loader::Class::Neither => return None,
    };
    let byte_order = if program.little_endian { ByteOrder::Little } else { ByteOrder::Big };
    Some(Encoding { class, byte_order, machine: program.machine })
}
