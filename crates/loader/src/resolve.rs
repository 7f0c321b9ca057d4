//! The entry point: which files does this program load?

use std::path::Path;

use crate::glibc::Glibc;
use crate::musl::Musl;
use crate::{Closure, Environment, Error, FileSystem, Rules};

/// Which files `program` loads at start-up, in which order, found by which rule, and with which failed probes.
///
/// The result matches `LD_TRACE_LOADED_OBJECTS=1 program` (glibc) or `ldd program` (musl): missing libraries do not
/// end it. `program` is a path as the loader gets it, with a slash; relative ones are relative to the current
/// directory.
///
/// Not followed: auditing libraries, libraries that the program opens later with `dlopen`, and `DT_AUXILIARY` and
/// `DT_FILTER`, whose libraries glibc puts before the filtering object in lookup order (`_dl_map_object_deps` in
/// elf/dl-deps.c).
///
/// # Errors
/// If the program or its interpreter cannot be read as an object.
pub fn resolve(program: &Path, system: &impl FileSystem, environment: &Environment) -> Result<Closure, Error> {
    match environment.rules {
        Rules::Glibc => Glibc::begin(program, system, environment).map(Glibc::run),
        Rules::Musl => Musl::begin(program, system, environment).map(Musl::run),
    }
}
