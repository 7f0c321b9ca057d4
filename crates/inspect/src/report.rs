//! The whole inspection of one object.

use coldstart_elf::{ByteOrder, Class, FileType};
use serde::Serialize;

use crate::findings::{Finding, findings};
use crate::initialisers::initialisers;
use crate::layout::layout;
use crate::loader_reads::{USUAL_READAHEAD_PAGES, loader_reads};
use crate::names::NameSource;
use crate::object::Object;
use crate::owners::owners;
use crate::parts::Parts;
use crate::relocations::relocations;
use crate::space::space;

/// What kind of object it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectKind {
    /// A library, or a program that can only be loaded as one.
    SharedObject,
    /// A position-independent program.
    PositionIndependentProgram,
    /// A program at fixed addresses, with libraries.
    FixedProgram,
    /// A program without libraries, at fixed addresses.
    StaticProgram,
    /// A position-independent program without libraries.
    StaticPositionIndependentProgram,
}

/// The identity of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ObjectFacts {
    /// Its kind.
    pub kind: ObjectKind,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// 32 or 64.
    pub bits: u8,
    /// Whether it is big-endian.
    pub is_big_endian: bool,
    /// The architecture, such as `x86-64`.
    pub machine: String,
    /// Its build id in hexadecimal.
    pub build_id: Option<String>,
    /// The source of function and variable names.
    pub names_from: NameSource,
    /// Why the section headers could not be read.
    pub section_problem: Option<String>,
}

/// The results for one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Its identity.
    pub object: ObjectFacts,
    /// All counts.
    #[serde(flatten)]
    pub parts: Parts,
    /// The findings, the most worthwhile first.
    pub findings: Vec<Finding>,
}

impl Inspection {
    /// Drops the lists that only a report on this one object shows, and keeps all counts and findings. For walks over
    /// so many files that their lists would fill memory.
    pub fn forget_lists(&mut self) {
        let parts = &mut self.parts;
        parts.initialisers.functions = Vec::new();
        parts.owners.largest_tables = Vec::new();
        parts.relocations.by_type = Vec::new();
        parts.layout.segments = Vec::new();
        parts.layout.versions.needed = Vec::new();
        parts.loader_reads.steps = Vec::new();
    }
}

/// Inspects one object. Large objects use several threads.
pub fn inspect(object: &Object<'_>) -> Inspection {
    let ((relocations, loader_reads), (owners, (initialisers, (layout, space)))) = rayon::join(
        || (relocations(object), loader_reads(object, USUAL_READAHEAD_PAGES)),
        || (owners(object), (initialisers(object), (layout(object), space(object)))),
    );
    let parts = Parts { space, relocations, owners, initialisers, layout, loader_reads };
    let findings = findings(object, &parts);
    Inspection { object: facts(object), parts, findings }
}

fn facts(object: &Object<'_>) -> ObjectFacts {
    let header = object.file.header();
    let has_libraries = object.file.interpreter().is_some();
    let kind = match (header.file_type, object.is_program(), has_libraries) {
        (FileType::Executable, _, true) => ObjectKind::FixedProgram,
        (FileType::Executable, _, false) => ObjectKind::StaticProgram,
        (_, true, true) => ObjectKind::PositionIndependentProgram,
        (_, true, false) => ObjectKind::StaticPositionIndependentProgram,
        _ => ObjectKind::SharedObject,
    };
    ObjectFacts {
        kind,
        bytes: object.file.size(),
        bits: if header.encoding.class == Class::Elf64 { 64 } else { 32 },
        is_big_endian: header.encoding.byte_order == ByteOrder::Big,
        machine: header.machine_name(),
        build_id: coldstart_elf::build_id(&object.file).map(|id| id.to_string()),
        names_from: object.names.source(),
        section_problem: object.file.section_problem().map(ToString::to_string),
    }
}
