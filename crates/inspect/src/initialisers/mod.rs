//! Functions that run before `main`, or when a library is loaded, in execution order.
//!
//! Each of them is usually far from the previous one in the file: linkers keep the table in the order of the object
//! files and place functions by other criteria. On a cold start every jump may wait for the disk. GNU ld wrote
//! `.ctors` so that it runs from the end of the file to its beginning, against the direction of readahead.
//!
//! The order is glibc's: `elf/dl-init.c` for what the loader runs, `csu/libc-start.c` for the program's own.

mod function;
mod tables;
mod totals;

use serde::Serialize;

use crate::names::NameSource;
use crate::object::Object;

pub use totals::InitialiserTotals;

/// The functions that a start or the loading of a library runs before `main`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Initialisers {
    /// The functions in execution order.
    pub functions: Vec<Initialiser>,
    /// The totals.
    pub totals: InitialiserTotals,
    /// Entries of `DT_PREINIT_ARRAY` that glibc never runs, because the object is a library.
    pub ignored_preinit_entries: u64,
    /// Table entries of 0 or -1, which refer to no function.
    pub empty_entries: u64,
    /// Tables that cannot be read, a sentence each.
    pub problems: Vec<String>,
}

/// How a function is invoked before `main`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialiserKind {
    /// An entry of `DT_PREINIT_ARRAY`: a program's, before the initialisers of all libraries.
    PreinitArray,
    /// `DT_INIT`, or `_init` of a static program.
    Init,
    /// An entry of `.ctors`, run by the function of `DT_INIT` (gcc `crtstuff.c`, `__do_global_ctors_aux`).
    Ctors,
    /// An entry of `DT_INIT_ARRAY`.
    InitArray,
}

impl InitialiserKind {
    /// All kinds, in the order in which a start runs them.
    pub const ALL: [Self; 4] = [Self::PreinitArray, Self::Init, Self::Ctors, Self::InitArray];
}

/// The source of a function's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeSource {
    /// Its symbol.
    Symbol,
    /// The unwind tables, which stripped files still have.
    UnwindTable,
}

/// A function that runs before `main`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Initialiser {
    /// How it is invoked.
    pub kind: InitialiserKind,
    /// Address of the word that points to it, before the load bias; none for [`InitialiserKind::Init`], whose address
    /// is in the dynamic table itself.
    pub slot_address: Option<u64>,
    /// Address of its code, before the load bias. None if another object defines it. For `IRELATIVE`, the resolver
    /// function. On 64-bit PowerPC of the first ABI, pointers refer to descriptors; this is the address in the
    /// descriptor, if known.
    pub address: Option<u64>,
    /// Its demangled name; none if no table has it.
    pub name: Option<String>,
    /// Its mangled name.
    pub mangled_name: Option<String>,
    /// The source of its name.
    pub name_is_from: Option<NameSource>,
    /// Its size in bytes, if known.
    pub bytes: Option<u64>,
    /// The source of its size; none if the size is unknown.
    pub bytes_are_from: Option<SizeSource>,
    /// File offset of its code.
    pub file_offset: Option<u64>,
    /// The 4 KiB page of that offset, from 0.
    pub page: Option<u64>,
}

/// Finds the functions that run before `main`, in execution order.
///
/// In a library, calls go through symbols that other objects may interpose; the file's own definition is assumed.
/// `.ctors` is found by its section, so its entries are missing in a file without section headers.
pub fn initialisers(object: &Object<'_>) -> Initialisers {
    let found = tables::find(object);
    let mut describe = function::Describe::new(object);
    let functions: Vec<Initialiser> = found.entries.iter().map(|entry| describe.entry(entry)).collect();
    Initialisers {
        totals: InitialiserTotals::of(&functions),
        functions,
        ignored_preinit_entries: found.ignored_preinit_entries,
        empty_entries: found.empty_entries,
        problems: found.problems,
    }
}
