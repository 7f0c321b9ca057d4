//! The work of each verb: what it does with the libraries, and how it shows the result.

mod inspect;
mod launching;
mod measure;
mod pagecache;
mod prefetch;
mod speedup;

use crate::args::Verb;
use crate::error::CliError;
use crate::exit::Exit;

pub(crate) use inspect::hint as inspect_hint;
pub(crate) use prefetch::{launcher_form, run_launcher};

/// Does what was asked.
pub(crate) fn run(verb: &Verb) -> Result<Exit, CliError> {
    match verb {
        Verb::Inspect(args) => inspect::run(args),
        Verb::Measure(args) => measure::run(args),
        Verb::Pagecache(args) => pagecache::run(args),
        Verb::Prefetch(args) => prefetch::run(args),
        Verb::Speedup(args) => speedup::run(args),
    }
}
