//! The dynamic loader's rules: which files a program loads, in which order, found by which rule, and with which
//! failed probes. Nothing is run or mapped.
//!
//! [`resolve()`] is a plain function over a [`FileSystem`] and an [`Environment`]. The caller opens files;
//! [`ObjectFacts::of`] reads what the loader checks.
//!
//! A newcomer would not guess that glibc remembers directories but not files: a missing directory is checked once per
//! process, an existing one is searched again for each library.
//!
//! # Example
//!
//! ```
//! use std::io;
//! use std::os::unix::fs::MetadataExt;
//! use std::path::Path;
//!
//! use coldstart_elf::ElfFile;
//! use coldstart_loader::{Disk, Environment, Identity, ObjectFacts, resolve};
//!
//! let disk = Disk::new(|path: &Path| {
//!     let (bytes, found) = (std::fs::read(path)?, std::fs::metadata(path)?);
//!     let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
//!     let facts = ObjectFacts::of(&ElfFile::parse(&bytes).map_err(invalid)?).map_err(invalid)?;
//!     Ok((Identity { device: found.dev(), inode: found.ino() }, facts))
//! });
//! let closure = resolve(&std::env::current_exe()?, &disk, &Environment::default())?;
//! for object in &closure.objects {
//!     println!("{}, by {:?}", object.path.display(), object.found_by);
//! }
//! // Without /etc/ld.so.cache, libraries outside of the default directories are not found.
//! println!("{} names are missing", closure.missing.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cache;
mod calls;
mod closure;
pub mod dlopen_notes;
mod draft;
mod environment;
mod error;
mod fault;
mod file_system;
mod found_by;
mod glance;
mod glibc;
pub mod hwcaps;
mod interposed;
mod loader_build;
mod machine;
mod musl;
mod names;
pub mod nix_note;
mod object_facts;
mod resolve;
mod search_path;
mod shadowed;
mod tokens;

pub use calls::{Call, calls};
pub use closure::{Closure, DirectoryProbe, FailedProbe, LoadedObject, Missing, ProbeFailure, Request, Stopped};
pub use environment::{Environment, Rules, Start};
pub use error::Error;
pub use fault::Fault;
pub use file_system::{Disk, FileSystem, Probe};
pub use found_by::{FoundBy, Known};
pub use glance::Glance;
pub use hwcaps::Hwcaps;
pub use interposed::{Definitions, is_filter, not_interposed};
pub use loader_build::LoaderBuild;
pub use machine::Machine;
pub use object_facts::{Class, Identity, ObjectFacts};
pub use resolve::resolve;
pub use shadowed::{Shadowed, shadowed};
pub use tokens::expand_tokens;
