//! The auditing library of a bound program as a file: planned, compared with the written one, removed.
//!
//! A newcomer might not guess why this is stricter than for needed libraries: upgrades replace those, and the loader
//! follows. Only `bind` writes this one, and glibc runs its code in the program before all other code.

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

/// The largest file to read for a comparison, in bytes; a table takes a few hundred per library.
const LARGEST: u64 = 256 << 20;
/// Write permission of the group and of all others, and the sticky bit (`inode(7)`).
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// A planned auditing library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLibrary {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its table.
    pub table: Table,
    /// The whole file.
    pub bytes: Vec<u8>,
}

/// An auditing library as described in the note; its path is [`Binding::audit`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundAuditLibrary {
    /// Size in bytes.
    pub size: u64,
    /// BLAKE3 of its content, in hexadecimal digits.
    pub blake3: String,
}

/// The result of removing an auditing library.
#[derive(Debug)]
pub enum AuditLibraryRemoved {
    /// It was removed.
    Removed,
    /// It did not exist.
    WasGone,
    /// It was kept: it is not, or cannot be shown to be, the file written for this program.
    Kept(Change),
    /// A system error.
    Failed(io::Error),
}

/// Who can write to a file besides the owner of the program and root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Writer {
    /// All users.
    Others,
    /// Its group, which cannot write to the program.
    Group,
    /// Its owner, who does not own the program.
    Owner,
}

impl AuditLibrary {
    /// Builds the library for a program with these facts.
    pub(crate) fn plan(path: PathBuf, table: Table, program: &ObjectFacts) -> Result<Self, Refusal> {
        let no_library = Refusal::NoAuditArchitecture { machine: program.machine };
        let architecture = encoding(program).and_then(Architecture::of).ok_or(no_library)?;
        let built = audit::build(architecture, &table);
        let bytes = built.map_err(|error| Refusal::AuditTable(error.to_string()))?;
        Ok(Self { path, table, bytes })
    }

    /// Its description for the note.
    pub(crate) fn bound(&self) -> BoundAuditLibrary {
        BoundAuditLibrary::of(&self.bytes)
    }
}

impl BoundAuditLibrary {
    fn of(bytes: &[u8]) -> Self {
        Self { size: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() }
    }
}

/// Changes to the auditing library of `program` since it was bound; none if it is unchanged or the program has none.
/// The path of `program` has no symbolic links.
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

/// Whether users without write access to the program can write to its auditing library or replace it. The path of
/// `program` has no symbolic links.
pub fn audit_library_caution(binding: &Binding, program: &Path) -> Option<Caution> {
    let library = binding.audit_library_path(program)?;
    let of_program = fs::metadata(program).ok()?;
    // Write access to the directory allows replacing the library.
    let places = [Some(library.as_path()), library.parent()];
    places.into_iter().flatten().find_map(|place| {
        let writer = writer(&fs::metadata(place).ok()?, &of_program)?;
        Some(Caution::AuditLibraryWritable { path: place.to_owned(), by: writer })
    })
}

/// Removes the auditing library of an unbound program, if it is exactly the file written for it. The path of
/// `program` has no symbolic links. None for a program without one.
pub fn remove_audit_library(binding: &Binding, program: &Path) -> Option<(PathBuf, AuditLibraryRemoved)> {
    let path = binding.audit_library_path(program)?;
    let removed = match (path.symlink_metadata(), audit_library_change(binding, program)) {
        (Err(error), _) if error.kind() == io::ErrorKind::NotFound => AuditLibraryRemoved::WasGone,
        (Err(error), _) => AuditLibraryRemoved::Failed(error),
        (Ok(_), Some(change)) => AuditLibraryRemoved::Kept(change),
        // A link was made by others, whatever its target.
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

/// The table of the library at `path`; none without a readable one.
pub(crate) fn table_at(path: &Path) -> Option<Table> {
    audit::read(&content(path).ok()?).ok()
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    read_regular(path, LARGEST)
}

fn writer(place: &Metadata, program: &Metadata) -> Option<Writer> {
    // In a sticky directory, users can only replace their own files.
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
