//! Describes the ELF objects that a start used: segments, sections, symbols, relocations, functions.
//!
//! Files are opened after the run (for breakpoints: while the program is stopped) and mapped with a guard, so a file
//! that shrinks or vanishes causes an error and not a crash. What a newcomer would not guess: nearly all of the data
//! comes from tables that stripped files keep, because the loader or the unwinder needs them; section headers and
//! symbols only improve the names.

mod access;
mod access_aarch64;
mod code;
mod coverage;
mod debug_names;
mod decode;
mod describe;
mod error;
mod file;
mod frames;
mod functions;
mod inner_starts;
mod linker_names;
mod made_up_sections;
mod names;
mod relocation_runs;
mod relocation_targets;
mod sections;
mod touched;

pub use access::Access;
pub use coverage::Coverage;
pub use describe::describe;
pub use error::ObjectError;
pub use file::ObjectFile;
pub use functions::{Dropped, FunctionStart, FunctionStarts, StartSource, WantedPages, function_starts};
pub use linker_names::{LinkerNames, LinkerSymbol, SectionPlace, linker_names};
pub use touched::TouchedPages;
