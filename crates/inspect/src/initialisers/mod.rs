//! Functions that run before `main`, or when a library is loaded, in the order in which they run.
//!
//! Each of them is usually in another part of the file than the one before, because linkers keep the order of the object
//! files for the table and place functions for other reasons. On a cold start every jump can be a wait for the disk. GNU
//! ld wrote `.ctors` so that it runs from the end of the file to its beginning, against the direction of readahead.
//!
//! The order is glibc's: `elf/dl-init.c` for what the loader runs, `csu/libc-start.c` for the program's own.

mod function;
mod tables;
mod totals;

use serde::Serialize;

use crate::names::NameSource;
use crate::object::Object;

pub use totals::InitialiserTotals;

/// All functions that a start runs before `main`, or that loading a library runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Initialisers {
    /// The functions in the order in which they run.
    pub functions: Vec<Initialiser>,
    /// What all of them come to.
    pub totals: InitialiserTotals,
    /// Entries of `DT_PREINIT_ARRAY` that glibc never runs, because the object is a library.
    pub ignored_preinit_entries: u64,
    /// Entries of the tables that hold 0 or -1 and name no function.
    pub empty_entries: u64,
    /// What cannot be read, a sentence each.
    pub problems: Vec<String>,
}

/// How a function comes to run before `main`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InitialiserKind {
    /// An entry of `DT_PREINIT_ARRAY`: a program's, before the initialisers of all libraries.
    PreinitArray,
    /// `DT_INIT`, or `_init` of a static program.
    Init,
    /// An entry of `.ctors`, run from inside the function that `DT_INIT` names (gcc `crtstuff.c`,
    /// `__do_global_ctors_aux`).
    Ctors,
    /// An entry of `DT_INIT_ARRAY`.
    InitArray,
}

/// Where a function's size comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SizeSource {
    /// Its symbol.
    Symbol,
    /// The unwind tables, which files that are stripped still have.
    UnwindTable,
}

/// A function that runs before `main`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Initialiser {
    /// How it comes to run.
    pub kind: InitialiserKind,
    /// Address of the word that points to it, before the load bias; none for [`InitialiserKind::Init`], whose address
    /// stands in the dynamic table itself.
    pub slot_address: Option<u64>,
    /// Address of its code, before the load bias. None when another object defines it. Where the pointer is chosen at run
    /// time (`IRELATIVE`), this is the function that chooses. On 64-bit PowerPC of the first ABI pointers lead to
    /// descriptors; this is what the descriptor holds, as far as it can be told.
    pub address: Option<u64>,
    /// Its name as people write it; none when no table has it.
    pub name: Option<String>,
    /// Its name as the symbol table has it.
    pub mangled_name: Option<String>,
    /// Which table its name comes from.
    pub name_is_from: Option<NameSource>,
    /// Its size in bytes, as far as it is known.
    pub bytes: Option<u64>,
    /// Where its size comes from; none when the size is not known.
    pub bytes_are_from: Option<SizeSource>,
    /// Where its code begins in the file.
    pub file_offset: Option<u64>,
    /// The 4 KiB page of the file in which its code begins, from 0.
    pub page: Option<u64>,
}

/// Finds the functions that run before `main`, in the order in which they run.
///
/// In a library, calls go through symbols that another object may replace; the file's own definition is taken then.
/// `.ctors` is found by its section, so that a file without section headers shows none of its entries.
pub fn initialisers(object: &Object<'_>) -> Initialisers {
    let found = tables::find(object);
    let mut describe = function::Describe::new(object);
    let functions: Vec<Initialiser> = found.entries.iter().map(|entry| describe.entry(entry)).collect();
    Initialisers {
        totals: totals::of(&functions),
        functions,
        ignored_preinit_entries: found.ignored_preinit_entries,
        empty_entries: found.empty_entries,
        problems: found.problems,
    }
}
